#include "coordinator/fleet/fleet_books.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/testing/status_matchers.h"
#include "coordinator/state_keys.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr VolumeUuid kUuid = {{0xa0, 0xa1}};

class FleetBooksTest : public ::testing::Test {
 protected:
  absl::StatusOr<Books> Load() {
    warnings_.clear();
    return LoadBooks(state_, absl::UTCTimeZone(), absl::Hours(1), warnings_);
  }
  void Put(const std::string& key, const std::string& value) {
    index::RowBatch batch;
    batch.Put(key, value);
    ASSERT_THAT(state_.Write(batch), IsOk());
  }
  static Changes Everything() {
    Changes changes;
    Host host = {.id = "h1", .name = "nas"};
    host.labels["site"] = "a";
    host.volumes.push_back({.uuid = kUuid, .mounted = {}});
    host.volumes[0].mounted.set_label("data");
    host.last_seen = absl::FromUnixSeconds(5);
    changes.hosts.hosts["h1"] = host;
    changes.hosts.claims[kUuid] =
        Claim{.host_id = "h1", .former_host_id = "", .since = absl::FromUnixSeconds(6)};
    changes.hosts.durable = true;
    const auto policies = ParsePolicies("{name: p, select: all}", absl::UTCTimeZone());
    changes.policies["p"] = std::make_shared<const Policy>(policies->front());
    changes.answered[{"p", kUuid}] = absl::FromUnixSeconds(7);
    FleetRun& run = changes.runs[3];
    run.number = 3;
    run.volume = kUuid;
    run.record.set_run_id("r");
    run.record.set_volume_uuid(ToBytes(kUuid));
    run.record.set_rules_yaml(CanonicalYaml(policies->front()));
    run.set_state(v1::RUN_STATE_WAITING);
    changes.totals.emplace().set_freed_bytes(8);
    return changes;
  }

  index::MemoryStore state_;
  std::vector<std::string> warnings_;
};

TEST_F(FleetBooksTest, EverythingComesBack) {
  ASSERT_THAT(state_.Write(ToRows(Everything())), IsOk());
  const auto books = Load();
  ASSERT_THAT(books, IsOk());
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_EQ(books->hosts.Find("h1")->labels.at("site"), "a");
  EXPECT_EQ(books->hosts.FindVolume(kUuid)->volume->Name(), "data");
  EXPECT_EQ(books->answered.at({"p", kUuid}), absl::FromUnixSeconds(7));
  EXPECT_EQ(books->runs.Find("r")->rules, books->policies.at("p"));
  EXPECT_EQ(books->runs.next_number(), 4);
  EXPECT_EQ(books->totals.freed_bytes(), 8);
  EXPECT_TRUE(ToRows(Changes()).empty());
}

// What is on disk outlives the program: a number that moves makes it unreadable.
TEST_F(FleetBooksTest, ValuesAreFrozen) {
  ASSERT_THAT(state_.Write(ToRows(Everything())), IsOk());
  const auto hex = [&](const std::string& key) {
    return absl::BytesToHexString(state_.rows().at(key));
  };
  const std::string uuid = absl::BytesToHexString(ToBytes(kUuid));
  EXPECT_EQ(hex(index::FleetHostKey("h1")),
            "0a036e6173"
            "12090a0473697465120161"
            "1a18"
            "0a10" +
                uuid +
                "120464617461"
                "3005");
  EXPECT_EQ(hex(index::FleetClaimKey(kUuid)), "0a0268311806");
  EXPECT_EQ(hex(index::FleetDueKey("p", kUuid)), "0807");
  EXPECT_EQ(hex(index::FleetRunKey(3)),
            "0a0172"
            "1210" +
                uuid + "3214" + absl::BytesToHexString("name: p\nselect: all\n") + "3801");
  EXPECT_EQ(hex(std::string(index::kFleetTotalsKey)), "1008");
}

TEST_F(FleetBooksTest, DamageIsToldNotGuessed) {
  Put(index::FleetHostKey("h1"), "\xff\xff");
  EXPECT_THAT(Load(), HasCode(absl::StatusCode::kDataLoss));
}

// A program that was put back must not refuse to start for what it does not understand.
TEST_F(FleetBooksTest, PolicyOfANewerProgramIsLeftOut) {
  storage::v1::PolicyRecord record;
  record.set_yaml("name: p\nselect: all\nfuture: yes\n");
  Put(index::FleetPolicyKey("p"), record.SerializeAsString());
  const auto books = Load();
  ASSERT_THAT(books, IsOk());
  EXPECT_THAT(books->policies, IsEmpty());
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("policy p is left out: line 3")));
}

}  // namespace
}  // namespace onefold::fleet
