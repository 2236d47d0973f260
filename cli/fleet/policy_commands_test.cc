#include "cli/fleet/policy_commands.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/fleet/testing/verb_fixture.h"
#include "common/testing/temp_dir.h"

namespace onefold {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PolicyCommandsTest : public VerbTest {
 protected:
  PolicyCommandsTest() { std::ofstream(file_) << "name: nightly\n"; }

  static v1::ApplyPoliciesResponse Changed(v1::ApplyPoliciesResponse::Change::Kind kind) {
    v1::ApplyPoliciesResponse response;
    auto& change = *response.add_changes();
    change.set_name("nightly");
    change.set_kind(kind);
    change.set_diff("+name: nightly\n");
    change.add_selected_volumes("nas1: data");
    return response;
  }
  void AnswerCreated() {
    client_.apply_policies.Answer(Changed(v1::ApplyPoliciesResponse::Change::KIND_CREATED));
  }
  size_t AppliedCount() const {
    size_t count = 0;
    for (const auto& request : client_.apply_policies.requests) count += request.dry_run() ? 0 : 1;
    return count;
  }

  TempDir folder_;
  const std::string file_ = folder_.path() + "/policy.yaml";
};

// Nobody can be asked: nothing happens without --yes, and the exit code says so.
TEST_F(PolicyCommandsTest, ApplyNeedsYesWhereNobodyCanBeAsked) {
  AnswerCreated();
  EXPECT_EQ(Run(ApplyPolicyVerb(), {file_}), 1);
  EXPECT_THAT(console_.out, HasSubstr("+name: nightly"));
  EXPECT_THAT(console_.out, HasSubstr("nas1: data"));
  EXPECT_THAT(console_.err, HasSubstr("--yes"));
  EXPECT_EQ(AppliedCount(), 0u);
  EXPECT_EQ(Run(ApplyPolicyVerb(), {file_, "--yes"}), 0);
  EXPECT_EQ(AppliedCount(), 1u);
  EXPECT_EQ(client_.apply_policies.requests.back().yaml(), "name: nightly\n");
}

TEST_F(PolicyCommandsTest, ApplyAsksOnATerminal) {
  AnswerCreated();
  console_.terminal = true;
  EXPECT_EQ(Run(ApplyPolicyVerb(), {file_}), 1);
  EXPECT_EQ(console_.asked, "Apply this?\n");
  EXPECT_EQ(AppliedCount(), 0u);
  console_.answer = true;
  EXPECT_EQ(Run(ApplyPolicyVerb(), {file_}), 0);
  EXPECT_EQ(AppliedCount(), 1u);
}

TEST_F(PolicyCommandsTest, ApplySaysWhenSomebodyWasFaster) {
  AnswerCreated();
  client_.apply_policies.Answer(Changed(v1::ApplyPoliciesResponse::Change::KIND_CHANGED));
  console_.terminal = true;
  console_.answer = true;
  EXPECT_EQ(Run(ApplyPolicyVerb(), {file_}), 0);
  EXPECT_THAT(console_.err, HasSubstr("somebody else"));
}

TEST_F(PolicyCommandsTest, ApplyDryRun) {
  AnswerCreated();
  EXPECT_EQ(Run(ApplyPolicyVerb(), {file_, "--dry-run", "--json"}), 0);
  EXPECT_EQ(json::parse(console_.out)["applied"], false);
  EXPECT_EQ(Run(ApplyPolicyVerb(), {file_, "--dry-run", "--yes"}), 1);
  EXPECT_EQ(AppliedCount(), 0u);
}

TEST_F(PolicyCommandsTest, ApplyWhatIsThereAlready) {
  client_.apply_policies.Answer(Changed(v1::ApplyPoliciesResponse::Change::KIND_UNCHANGED));
  EXPECT_EQ(Run(ApplyPolicyVerb(), {file_}), 0);
  EXPECT_EQ(AppliedCount(), 0u);
}

TEST_F(PolicyCommandsTest, ApplyChecksTheFile) {
  EXPECT_EQ(Run(ApplyPolicyVerb(), {folder_.path() + "/absent"}), 1);
  EXPECT_THAT(console_.err, HasSubstr("absent: No such file"));
  std::ofstream(file_) << "\xff";
  EXPECT_EQ(Run(ApplyPolicyVerb(), {file_, "--yes"}), 1);
  EXPECT_THAT(console_.err, HasSubstr("UTF-8"));
  std::ofstream(file_) << std::string((1 << 20) + 1, 'a');
  EXPECT_EQ(Run(ApplyPolicyVerb(), {file_, "--yes"}), 1);
  EXPECT_THAT(console_.err, HasSubstr("1 MiB"));
  EXPECT_EQ(Run(ApplyPolicyVerb(), {folder_.path()}), 1);
  EXPECT_THAT(client_.apply_policies.requests, IsEmpty());
}

TEST_F(PolicyCommandsTest, TheCoordinatorsReasonIsShown) {
  client_.apply_policies.Fail(absl::InvalidArgumentError("line 2: unknown key 'selct'"));
  EXPECT_EQ(Run(ApplyPolicyVerb(), {file_, "--yes", "--json"}), 1);
  EXPECT_THAT(console_.err, HasSubstr("line 2: unknown key 'selct'"));
  EXPECT_EQ(json::parse(console_.out)["code"], "INVALID_ARGUMENT");
}

TEST_F(PolicyCommandsTest, ListShowDelete) {
  v1::ListPoliciesResponse response;
  v1::Policy& policy = *response.add_policies();
  policy.set_name("nightly");
  policy.set_yaml("name: nightly\nselect: \x1b[2J\n");
  policy.set_volume_count(1200);
  policy.mutable_next_due_time()->set_seconds(kSampleSeconds + 7200);
  client_.list_policies.Answer(response);
  EXPECT_EQ(Run(ListPoliciesVerb(), {}), 0);
  EXPECT_THAT(console_.out, HasSubstr("nightly  1,200    in 2 h 0 min"));
  EXPECT_EQ(Run(ShowPolicyVerb(), {"nightly"}), 0);
  EXPECT_EQ(console_.out, "name: nightly\nselect: \\x1b[2J\n");
  EXPECT_EQ(Run(ShowPolicyVerb(), {"weekly"}), 1);
  EXPECT_EQ(Run(DeletePolicyVerb(), {"nightly"}), 1);
  EXPECT_EQ(Run(DeletePolicyVerb(), {"nightly", "--dry-run"}), 0);
  EXPECT_THAT(client_.delete_policy.requests, IsEmpty());
  EXPECT_EQ(Run(DeletePolicyVerb(), {"nightly", "--yes"}), 0);
  EXPECT_THAT(client_.delete_policy.requests, SizeIs(1));
}

}  // namespace
}  // namespace onefold
