#include "worker/daemon/run_target.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/testing/fake_paths.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kMounts[] =
    "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "23 20 0:40 / /srv rw - btrfs /dev/sdb rw\n"
    "24 20 0:41 / /data rw - btrfs /dev/sdc rw\n"
    "25 20 0:42 / /copied rw - btrfs /dev/sdd rw\n"
    "26 20 1:42 / /copy rw - btrfs /dev/sde rw\n";

class RunTargetTest : public ::testing::Test {
 protected:
  RunTargetTest() {
    order_.set_run_id("r");
    order_.set_volume_uuid(ToBytes(FakePathSource::Uuid(40)));
    order_.set_action(v1::RunOrder::ACTION_RUN);
  }
  absl::StatusOr<RunTarget> Find() { return FindRunTarget(order_, limits_, mounts_, paths_); }
  std::vector<std::string> Roots() {
    const absl::StatusOr<RunTarget> found = Find();
    EXPECT_THAT(found, IsOk());
    std::vector<std::string> roots;
    if (found.ok()) {
      for (const ScopeRoot& root : found->target.roots) roots.push_back(root.path);
    }
    return roots;
  }

  const MountTable mounts_ = MountTable::Parse(kMounts);
  FakePathSource paths_{mounts_};
  HostLimits limits_{.allow = {"/srv/share", "/data"}};
  v1::RunOrder order_;
};

TEST_F(RunTargetTest, WithoutRootsAllThatIsAllowedIsMeant) {
  EXPECT_THAT(Roots(), ElementsAre("/srv/share"));
  EXPECT_EQ(Find()->target.uuid, FakePathSource::Uuid(40));
}

TEST_F(RunTargetTest, RootsNarrow) {
  order_.mutable_scope()->add_roots("/srv/share/films");
  order_.mutable_scope()->add_roots("./share/music");
  order_.mutable_scope()->add_roots("/data/x");  // of another volume
  EXPECT_THAT(Roots(), ElementsAre("/srv/share/films", "/srv/share/music"));
}

// Whoever takes over the coordinator must gain nothing on the hosts.
TEST_F(RunTargetTest, RootsNeverWiden) {
  for (const char* root : {"/srv/other", "/", "/srv/share2", "/data", "/copy"}) {
    order_.mutable_scope()->clear_roots();
    order_.mutable_scope()->add_roots(root);
    EXPECT_THAT(Find(), HasCode(absl::StatusCode::kFailedPrecondition)) << root;
  }
  limits_.allow.clear();
  EXPECT_THAT(Find(), HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_F(RunTargetTest, AHostThatAllowsNothingSaysWhatToType) {
  limits_.allow = {};
  order_.mutable_scope()->add_roots("/srv");
  const auto found = Find();
  EXPECT_THAT(found, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("`allow`"));
}

TEST_F(RunTargetTest, OrdersThatAreWrong) {
  const auto wrong = [&](auto change) {
    const v1::RunOrder before = order_;
    change(order_);
    EXPECT_THAT(Find(), HasCode(absl::StatusCode::kInvalidArgument));
    order_ = before;
  };
  wrong([](v1::RunOrder& order) { order.set_volume_uuid("short"); });
  wrong([](v1::RunOrder& order) { order.mutable_scope()->add_roots("srv"); });
  wrong([](v1::RunOrder& order) { order.mutable_scope()->add_roots(""); });
  wrong([](v1::RunOrder& order) { order.mutable_scope()->add_roots(std::string("/a\0b", 4)); });
  wrong([](v1::RunOrder& order) { order.mutable_scope()->add_roots(std::string(70000, '/')); });
  wrong([](v1::RunOrder& order) { order.mutable_scope()->add_excludes("["); });
  wrong([](v1::RunOrder& order) { order.mutable_scope()->set_min_file_bytes(-1); });
  wrong([](v1::RunOrder& order) {
    for (int i = 0; i < 2000; ++i) order.mutable_scope()->add_roots("/srv");
  });
}

// The worker may have been restarted before the disk was plugged in.
TEST_F(RunTargetTest, AVolumeThatIsNotMountedMayComeBack) {
  order_.set_volume_uuid(ToBytes(FakePathSource::Uuid(99)));
  EXPECT_THAT(Find(), HasCode(absl::StatusCode::kUnavailable));
}

TEST_F(RunTargetTest, OfTwoCopiesNoneIsTouched) {
  limits_.allow = {"/copied", "/copy"};
  order_.set_volume_uuid(ToBytes(FakePathSource::Uuid(42)));
  EXPECT_THAT(Find(), HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_F(RunTargetTest, OwnStateAndOptions) {
  limits_.own_directories = {"/srv/share/state"};
  limits_.thread_count_max = 2;
  order_.mutable_throttle()->set_thread_count(8);
  order_.mutable_scope()->set_match_extents_only(true);
  const auto found = Find();
  ASSERT_THAT(found, IsOk());
  EXPECT_TRUE(found->excludes.Match("state", "/srv/share/state", true).has_value());
  EXPECT_EQ(found->options.thread_count, 2);
  EXPECT_FALSE(found->options.match_inside);
  order_.mutable_throttle()->set_thread_count(0);
  EXPECT_EQ(Find()->options.thread_count, 2);
}

TEST_F(RunTargetTest, WhatIsAskedForButAbsentIsAProblem) {
  paths_.Remove("/srv/share/gone");
  order_.mutable_scope()->add_roots("/srv/share/gone");
  order_.mutable_scope()->add_roots("/srv/share/a");
  const auto found = Find();
  ASSERT_THAT(found, IsOk());
  ASSERT_EQ(found->problems.size(), 1u);
  EXPECT_EQ(found->problems[0].path, "/srv/share/gone");
}

}  // namespace
}  // namespace onefold
