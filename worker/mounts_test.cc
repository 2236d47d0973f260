#include "worker/mounts.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

// A NAS: / and /home are subvolumes of one btrfs, /srv is another filesystem with a read-only view.
constexpr char kNas[] =
    "20 1 0:30 /@ / rw,noatime shared:1 - btrfs /dev/sda2 rw,space_cache=v2,subvol=/@\n"
    "21 20 0:5 / /proc rw - proc proc rw\n"
    "22 20 0:30 /@home /home rw shared:2 master:3 - btrfs /dev/sda2 rw,subvol=/@home\n"
    "23 20 0:40 / /srv rw - btrfs /dev/sdb rw\n"
    "24 23 0:40 /share /srv/view ro - btrfs /dev/sdb rw\n"
    "25 20 8:1 / /mnt/usb\\040stick rw - ext4 /dev/sdc1 ro,errors=remount-ro\n"
    "26 21 0:6 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n";

std::vector<std::string> Points(const std::vector<const Mount*>& mounts) {
  std::vector<std::string> points;
  for (const Mount* mount : mounts) points.push_back(mount->point);
  return points;
}

std::string PointOf(const MountTable& table, absl::string_view path) {
  const Mount* mount = table.MountOf(path);
  return mount == nullptr ? "none" : mount->point;
}

TEST(MountsTest, ReadsTheFieldsOfALine) {
  const MountTable table = MountTable::Parse(kNas);
  ASSERT_EQ(table.mounts().size(), 7u);
  const Mount& home = table.mounts()[2];
  EXPECT_EQ(home.id, 22);
  EXPECT_EQ(home.parent, 20);
  EXPECT_EQ(home.device, "0:30");
  EXPECT_EQ(home.root, "/@home");
  EXPECT_EQ(home.point, "/home");
  EXPECT_EQ(home.type, "btrfs");
  EXPECT_FALSE(home.read_only);
}

TEST(MountsTest, NamesWithBlanksComeBack) {
  const MountTable table =
      MountTable::Parse("1 0 0:1 / /a\\040b\\011c\\012d\\134e\\04 rw - ext4 x rw\n");
  ASSERT_EQ(table.mounts().size(), 1u);
  EXPECT_EQ(table.mounts()[0].point, "/a b\tc\nd\\e\\04");
}

// Either of the two makes every dedupe fail.
TEST(MountsTest, ReadOnlyIsTheMountOrTheFilesystem) {
  const MountTable table = MountTable::Parse(kNas);
  EXPECT_TRUE(table.mounts()[4].read_only);
  EXPECT_TRUE(table.mounts()[5].read_only);
}

TEST(MountsTest, WhatIsNoMountinfoIsLeftOut) {
  EXPECT_THAT(MountTable::Parse("").mounts(), IsEmpty());
  EXPECT_THAT(MountTable::Parse("nonsense\n1 2 3\n- - - - - - - -\n"
                                "x 1 0:1 / /a rw - ext4 x rw\n1 0 0:1 / a rw - ext4 x rw\n"
                                "1 0 0:1 / /a rw ext4 x rw\n1 0 0:1 / /a rw -\n")
                  .mounts(),
              IsEmpty());
  EXPECT_EQ(MountTable::Parse("").MountOf("/"), nullptr);
}

TEST(MountsTest, APathIsOnTheInnermostMount) {
  const MountTable table = MountTable::Parse(kNas);
  EXPECT_EQ(PointOf(table, "/home/eva"), "/home");
  EXPECT_EQ(PointOf(table, "/homework"), "/");
  EXPECT_EQ(PointOf(table, "/srv/view/a"), "/srv/view");
  EXPECT_EQ(PointOf(table, "/"), "/");
}

// /a/b was mounted first and can no longer be reached.
TEST(MountsTest, AMountOverAnotherHidesWhatIsBelow) {
  const MountTable table = MountTable::Parse(
      "1 0 0:1 / / rw - ext4 x rw\n"
      "2 1 0:2 / /a/b rw - btrfs x rw\n"
      "3 1 0:3 / /a rw - btrfs x rw\n"
      "4 3 0:4 / /a rw - xfs x rw\n");
  EXPECT_EQ(table.MountOf("/a/b")->id, 4);
  EXPECT_EQ(table.MountOf("/a")->id, 4);
  EXPECT_THAT(Points(table.MountsBelow("/")), ElementsAre("/a"));
}

TEST(MountsTest, ATableThatIsNoTreeEnds) {
  const MountTable table = MountTable::Parse(
      "1 1 0:1 / / rw - ext4 x rw\n"
      "2 3 0:2 / / rw - ext4 x rw\n"
      "3 2 0:3 / / rw - ext4 x rw\n");
  EXPECT_EQ(table.MountOf("/a")->id, 1);
}

TEST(MountsTest, MountsBelowLeavesOutThePathItself) {
  const MountTable table = MountTable::Parse(kNas);
  EXPECT_THAT(Points(table.MountsBelow("/")),
              ElementsAre("/proc", "/home", "/srv", "/srv/view", "/mnt/usb stick",
                          "/proc/sys/fs/binfmt_misc"));
  EXPECT_THAT(Points(table.MountsBelow("/srv")), ElementsAre("/srv/view"));
  EXPECT_THAT(Points(table.MountsBelow("/srv/view")), IsEmpty());
}

// However it is reached, a directory has one place within its filesystem.
TEST(MountsTest, PathInFilesystem) {
  const MountTable table = MountTable::Parse(kNas);
  EXPECT_THAT(table.PathInFilesystem("/home/eva"), Optional(std::string("/@home/eva")));
  EXPECT_THAT(table.PathInFilesystem("/etc"), Optional(std::string("/@/etc")));
  EXPECT_THAT(table.PathInFilesystem("/srv/view/a"), Optional(std::string("/share/a")));
  EXPECT_THAT(table.PathInFilesystem("/srv/share/a"), Optional(std::string("/share/a")));
  EXPECT_THAT(table.PathInFilesystem("/srv"), Optional(std::string("/")));
}

TEST(MountsTest, PathsToFindsEveryWay) {
  const MountTable table = MountTable::Parse(kNas);
  EXPECT_THAT(table.PathsTo("0:40", "/share/a", false), ElementsAre("/srv/share/a", "/srv/view/a"));
  EXPECT_THAT(table.PathsTo("0:40", "/share/a", true), ElementsAre("/srv/share/a"));
  EXPECT_THAT(table.PathsTo("0:30", "/@home", true), ElementsAre("/home"));
  EXPECT_THAT(table.PathsTo("0:30", "/@other", true), IsEmpty());
}

TEST(MountsTest, ReadsTheSystemsOwnTable) {
  const auto table = MountTable::Read();
  ASSERT_THAT(table, IsOk());
  EXPECT_NE(table->MountOf("/proc"), nullptr);
}

}  // namespace
}  // namespace onefold
