#include "worker/daemon/host_inventory.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/testing/fake_facts.h"
#include "worker/testing/fake_paths.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HostInventoryTest : public ::testing::Test {
 protected:
  HostInventory Take(const std::string& mountinfo, const std::vector<std::string>& allow = {}) {
    const MountTable mounts = MountTable::Parse(mountinfo);
    FakePathSource paths(mounts);
    for (const std::string& gone : gone_) paths.Remove(gone);
    return TakeInventory(mounts, allow, paths, facts_);
  }

  FakeFactsSource facts_;
  std::vector<std::string> gone_;
};

constexpr char kRoot[] = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
constexpr char kSrv[] = "23 20 0:40 / /srv rw - btrfs /dev/sdb rw\n";

TEST_F(HostInventoryTest, EachFilesystemIsToldOnceWhereverItIsMounted) {
  facts_.known["/srv"] = {.label = "pool", .size_bytes = 1000, .used_bytes = 10};
  const HostInventory host =
      Take(std::string(kRoot) + "22 20 0:40 /share /view ro - btrfs /dev/sdb rw\n" + kSrv +
           "26 20 0:41 / /data rw - btrfs /dev/sdc rw\n");
  ASSERT_THAT(host.volumes, SizeIs(2));
  EXPECT_EQ(host.volumes[0].volume_uuid(), ToBytes(FakePathSource::Uuid(40)));
  EXPECT_THAT(host.volumes[0].mount_paths(), ElementsAre("/srv", "/view"));
  EXPECT_EQ(host.volumes[0].label(), "pool");
  EXPECT_EQ(host.volumes[0].size_bytes(), 1000);
  EXPECT_EQ(host.volumes[0].used_bytes(), 10);
  EXPECT_EQ(host.volumes[0].trouble(), "");
  EXPECT_THAT(host.volumes[0].allowed_roots(), IsEmpty());
}

TEST_F(HostInventoryTest, WhatIsAllowedIsToldWithItsVolume) {
  const HostInventory host = Take(std::string(kRoot) + kSrv, {"/srv/a", "/srv/a/b", "/srv/c"});
  EXPECT_THAT(host.volumes[0].allowed_roots(), ElementsAre("/srv/a", "/srv/c"));
  EXPECT_THAT(host.problems, IsEmpty());
}

// The administrator should learn of a misspelt path from the log, not from space that stays used.
TEST_F(HostInventoryTest, AllowedPathsThatAreNoneAreProblems) {
  gone_ = {"/srv/typo"};
  const HostInventory host = Take(std::string(kRoot) + kSrv, {"/srv/typo", "/etc"});
  EXPECT_THAT(host.problems, ElementsAre(HasSubstr("/srv/typo"), HasSubstr("ext4")));
}

TEST_F(HostInventoryTest, ReadOnlyIsTrouble) {
  const HostInventory host =
      Take(std::string(kRoot) + "23 20 0:40 / /srv ro - btrfs /dev/sdb rw\n", {"/srv"});
  EXPECT_THAT(host.volumes[0].trouble(), HasSubstr("read-only"));
  EXPECT_THAT(host.volumes[0].allowed_roots(), IsEmpty());
}

TEST_F(HostInventoryTest, AnAllowedPathOnAReadOnlyMountIsTrouble) {
  const HostInventory host =
      Take(std::string(kRoot) + kSrv + "24 20 0:40 /a /view ro - btrfs /dev/sdb rw\n", {"/view"});
  EXPECT_THAT(host.volumes[0].trouble(), HasSubstr("read-only mount"));
}

// A copied disk: what is said about one filesystem would be done to the other.
TEST_F(HostInventoryTest, TwoFilesystemsWithOneUuidAreTrouble) {
  const HostInventory host =
      Take(std::string(kRoot) + kSrv + "24 20 1:40 / /copy rw - btrfs /dev/sdc rw\n");
  ASSERT_THAT(host.volumes, SizeIs(1));
  EXPECT_TRUE(host.volumes[0].duplicate_uuid());
  EXPECT_THAT(host.volumes[0].trouble(), HasSubstr("/copy"));
}

TEST_F(HostInventoryTest, HiddenMountsAndOddNames) {
  const HostInventory host = Take(std::string(kRoot) + kSrv +
                                  "30 23 0:41 / /srv/x rw - btrfs /dev/sdd rw\n"
                                  "31 30 0:42 / /srv/x rw - btrfs /dev/sde rw\n"
                                  "32 20 0:43 / /m\\377 rw - btrfs /dev/sdf rw\n");
  std::vector<std::string> paths;
  for (const v1::MountedVolume& volume : host.volumes) paths.push_back(volume.mount_paths(0));
  EXPECT_THAT(paths, ElementsAre("/srv", "/srv/x", "/m\\xff"));
}

}  // namespace
}  // namespace onefold
