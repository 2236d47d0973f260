#include "worker/subvolumes.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/testing/fake_volume.h"

namespace onefold {
namespace {

class SubvolumesTest : public ::testing::Test {
 protected:
  // What a run that begins now would call the set.
  uint64_t DigestNow() {
    Subvolumes subvolumes(volume_);
    EXPECT_THAT(subvolumes.Load(), IsOk());
    return subvolumes.SetDigest();
  }

  FakeVolume volume_;
};

TEST_F(SubvolumesTest, FlagsAreThoseOfTheRootItem) {
  volume_.AddSubvolume(300, {.name = "plain"});
  volume_.AddSubvolume(301, {.name = "snap", .read_only = true, .snapshot_of = 300});
  Subvolumes subvolumes(volume_);
  ASSERT_THAT(subvolumes.Load(), IsOk());
  EXPECT_FALSE(subvolumes.Find(300).read_only);
  EXPECT_FALSE(subvolumes.Find(300).has_parent_uuid);
  EXPECT_TRUE(subvolumes.Find(301).read_only);
  EXPECT_TRUE(subvolumes.Find(301).has_parent_uuid);
  EXPECT_GT(subvolumes.Find(kFsTree).references, 0u);
}

TEST_F(SubvolumesTest, UnknownAndDeletedOnesHaveNoReferences) {
  volume_.AddSubvolume(300, {.name = "dying"});
  volume_.BeginDeletingSubvolume(300);
  Subvolumes subvolumes(volume_);
  ASSERT_THAT(subvolumes.Load(), IsOk());
  EXPECT_EQ(subvolumes.Find(300).references, 0u);
  EXPECT_EQ(subvolumes.Find(999).references, 0u);
}

// Unknown, it would count as being deleted, and its files as gone.
TEST_F(SubvolumesTest, SnapshotTakenDuringTheRunIsFound) {
  Subvolumes subvolumes(volume_);
  ASSERT_THAT(subvolumes.Load(), IsOk());
  volume_.AddSubvolume(300, {.name = "snap", .read_only = true, .snapshot_of = kFsTree});
  EXPECT_EQ(subvolumes.Find(300).references, 1u);
  EXPECT_TRUE(subvolumes.Find(300).read_only);
}

TEST_F(SubvolumesTest, EachIsLookedUpOnce) {
  Subvolumes subvolumes(volume_);
  ASSERT_THAT(subvolumes.Load(), IsOk());
  volume_.AddSubvolume(300, {.name = "new"});
  for (int i = 0; i < 10; ++i) subvolumes.Find(300);
  EXPECT_EQ(volume_.searches(kRootTree), 2);
}

// The digest decides whether pinned extents are looked at again.
TEST_F(SubvolumesTest, DigestChangesWithTheSet) {
  const uint64_t alone = DigestNow();
  EXPECT_EQ(DigestNow(), alone);
  volume_.AddSubvolume(300, {.name = "a"});
  const uint64_t with_one = DigestNow();
  EXPECT_NE(with_one, alone);
  volume_.AddSubvolume(301, {.name = "b", .read_only = true});
  const uint64_t with_two = DigestNow();
  EXPECT_NE(with_two, with_one);
  volume_.BeginDeletingSubvolume(301);
  EXPECT_NE(DigestNow(), with_two);
  volume_.DeleteSubvolume(301);
  EXPECT_EQ(DigestNow(), with_one);
  volume_.DeleteSubvolume(300);
  EXPECT_EQ(DigestNow(), alone);
}

// Of what was merely asked for (a subvolume that is gone), nothing may go into the digest, or the
// next run, which does not ask, finds another set and looks at everything pinned again, for ever.
TEST_F(SubvolumesTest, AskingForWhatIsGoneChangesNoDigest) {
  Subvolumes subvolumes(volume_);
  ASSERT_THAT(subvolumes.Load(), IsOk());
  subvolumes.Find(999);
  EXPECT_EQ(subvolumes.SetDigest(), DigestNow());
}

TEST_F(SubvolumesTest, ErrorsComeBack) {
  volume_.FailSearch(kRootTree, absl::PermissionDeniedError("no CAP_SYS_ADMIN"));
  Subvolumes subvolumes(volume_);
  EXPECT_THAT(subvolumes.Load(), HasCode(absl::StatusCode::kPermissionDenied));
}

}  // namespace
}  // namespace onefold
