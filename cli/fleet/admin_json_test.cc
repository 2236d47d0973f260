#include "cli/fleet/admin_json.h"

#include <nlohmann/json.hpp>

#include "cli/fleet/testing/admin_samples.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using nlohmann::json;

// The names that docs/json.md promises.
void ExpectFields(const json& object, std::initializer_list<const char*> fields) {
  for (const char* field : fields) EXPECT_TRUE(object.contains(field)) << field;
}

TEST(AdminJsonTest, Hosts) {
  const json parsed = json::parse(HostsJson({SampleHost("host-1", "nas1")}));
  EXPECT_EQ(parsed["schema"], "onefold.hosts.v1");
  const json& host = parsed["hosts"][0];
  ExpectFields(host, {"host_id", "display_name", "state", "drained", "version", "labels", "volumes",
                      "last_seen_at", "certificate_expires_at", "advice"});
  EXPECT_EQ(host["state"], "connected");
  EXPECT_EQ(host["labels"]["site"], "berlin");
  EXPECT_EQ(host["last_seen_at"], "2001-09-09T01:46:10Z");
  EXPECT_TRUE(host["certificate_expires_at"].is_null());
  const json& volume = host["volumes"][0];
  ExpectFields(volume, {"uuid", "label", "mount_paths", "allowed_roots", "size_bytes", "used_bytes",
                        "trouble", "duplicate_uuid"});
  EXPECT_EQ(volume["uuid"], "01010101-0101-0101-0101-010101010101");
  EXPECT_TRUE(volume["trouble"].is_null());
}

TEST(AdminJsonTest, Runs) {
  v1::Run run = SampleRun("run-1", v1::RUN_STATE_RUNNING);
  v1::RunProblem& problem = *run.mutable_status()->add_problems();
  problem.set_path("/srv/\xff");
  problem.set_reason("read error");
  run.mutable_status()->set_problem_count(7);
  const json parsed = json::parse(RunsJson({run}, {"nas2 says no"}));
  EXPECT_EQ(parsed["schema"], "onefold.runs.v1");
  EXPECT_EQ(parsed["refused"], json({"nas2 says no"}));
  const json& read = parsed["runs"][0];
  ExpectFields(read,
               {"run_id", "volume_uuid", "volume_name", "host_id", "policy", "state", "dry_run",
                "waits_for", "created_at", "started_at", "ended_at", "expected_bytes", "status"});
  EXPECT_EQ(read["state"], "running");
  EXPECT_TRUE(read["policy"].is_null());
  const json& status = read["status"];
  ExpectFields(status, {"phase", "phase_fraction", "message", "throttled_by", "elapsed_seconds",
                        "figures", "problems", "problems_total"});
  EXPECT_EQ(status["phase_fraction"], 0.43);
  EXPECT_EQ(status["problems_total"], 7);
  EXPECT_EQ(status["problems"][0]["path"], "/srv/\xef\xbf\xbd");
  EXPECT_EQ(status["problems"][0]["path_bytes"], "2f7372762fff");
  const json& figures = status["figures"];
  ExpectFields(figures,
               {"extents_total", "extents_scanned", "bytes_scanned", "file_bytes_read",
                "dedupe_requests", "bytes_shared", "bytes_freed", "bytes_written", "bytes_pinned",
                "pinned_by", "metadata_bytes_grown", "skipped", "bytes_expected"});
  EXPECT_EQ(figures["bytes_freed"], 1 << 20);
  // What is not known is never 0.
  EXPECT_TRUE(figures["bytes_shared"].is_null());
}

TEST(AdminJsonTest, ARunThatNobodyHasBegun) {
  const json run = json::parse(RunStateJson(SampleRun("run-1", v1::RUN_STATE_WAITING)))["run"];
  EXPECT_TRUE(run["status"].is_null());
  EXPECT_TRUE(run["host_id"].is_null());
  EXPECT_TRUE(run["started_at"].is_null());
}

TEST(AdminJsonTest, PoliciesTokensUsersErrors) {
  v1::Policy policy;
  policy.set_name("nightly");
  policy.set_yaml("name: nightly\n");
  const json policies = json::parse(PoliciesJson({policy}));
  EXPECT_EQ(policies["schema"], "onefold.policies.v1");
  ExpectFields(policies["policies"][0], {"name", "yaml", "volume_count", "next_due_at"});
  EXPECT_EQ(json::parse(PolicyJson(policy, true))["deleted"], true);

  v1::ApplyPoliciesResponse changes;
  changes.add_changes()->set_kind(v1::ApplyPoliciesResponse::Change::KIND_CHANGED);
  const json changed = json::parse(PolicyChangesJson(changes, false));
  EXPECT_EQ(changed["applied"], false);
  ExpectFields(changed["changes"][0], {"name", "kind", "diff", "selected_volumes"});
  EXPECT_EQ(changed["changes"][0]["kind"], "changed");

  v1::CreateJoinTokenResponse token;
  token.set_token("of1-x");
  const json joined = json::parse(JoinTokenJson(token, ""));
  EXPECT_EQ(joined["token"], "of1-x");
  EXPECT_TRUE(joined["join"].is_null());

  const json user = json::parse(UserJson("alice", v1::USER_ROLE_ADMIN, "a.pem", "", "", {}));
  ExpectFields(user, {"name", "role", "bundle", "coordinator", "sign_in", "expires_at"});

  const json error = json::parse(ErrorJson(absl::NotFoundError("no \xff")));
  EXPECT_EQ(error["schema"], "onefold.error.v1");
  EXPECT_EQ(error["code"], "NOT_FOUND");
}

// One line of ASCII: nothing in it steers a terminal or forges a second object.
TEST(AdminJsonTest, IsOneLineOfAscii) {
  const std::string text = HostsJson({SampleHost("host-1", "n\n\x1b[2J\u202e")});
  for (const char c : text) EXPECT_TRUE(c >= ' ' && c < 0x7f);
}

}  // namespace
}  // namespace onefold
