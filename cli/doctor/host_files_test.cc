#include "cli/doctor/host_files.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HostFilesTest : public ::testing::Test {
 protected:
  HostFilesTest() {
    std::string pattern = ::testing::TempDir() + "/host_filesXXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  ~HostFilesTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::string root_;
};

TEST_F(HostFilesTest, OptionsOfTheFilesystemAreOfItsMount) {
  const char* const mounts =
      "36 25 0:31 / /srv rw,relatime shared:1 - btrfs /dev/sda rw,autodefrag,subvol=/\n"
      "37 25 0:32 / /home rw,relatime - btrfs /dev/sdb rw,subvol=/autodefrag\n";
  EXPECT_TRUE(HasFilesystemOption(mounts, 36, "autodefrag"));
  EXPECT_FALSE(HasFilesystemOption(mounts, 37, "autodefrag"));
  EXPECT_FALSE(HasFilesystemOption(mounts, 38, "autodefrag"));
}

TEST_F(HostFilesTest, VolumeTellsItsSpaceAndChecksums) {
  const std::string folder = "/sys/fs/btrfs/u/";
  Write(folder + "checksum", "xxhash64 (xxhash64-generic)\n");
  for (const char* kind : {"data", "metadata", "system"}) {
    const std::string at = absl::StrCat(folder, "allocation/", kind, "/");
    Write(at + "total_bytes", "1000\n");
    Write(at + "bytes_used", "400\n");
    Write(at + "disk_total", "2000\n");
  }
  VolumeChecks volume;
  ReadVolumeFiles(root_, "u", 10000, volume);
  EXPECT_EQ(volume.checksum, "xxhash64");
  EXPECT_EQ(volume.data_free_bytes, 600);
  EXPECT_EQ(volume.metadata_free_bytes, 600);
  EXPECT_EQ(volume.unallocated_bytes, 4000);
  EXPECT_EQ(volume.quotas, false);

  Write(folder + "qgroups/0_5/limit_flags", "0\n");
  ReadVolumeFiles(root_, "u", 10000, volume);
  EXPECT_EQ(volume.quotas, true);
}

TEST_F(HostFilesTest, WhatIsNotToldIsNotKnown) {
  VolumeChecks volume;
  ReadVolumeFiles(root_, "u", 10000, volume);
  EXPECT_EQ(volume.quotas, std::nullopt);
  Write("/sys/fs/btrfs/u/allocation/metadata/total_bytes", "much\n");
  ReadVolumeFiles(root_, "u", 10000, volume);
  EXPECT_EQ(volume.metadata_free_bytes, std::nullopt);
  EXPECT_EQ(volume.unallocated_bytes, std::nullopt);
}

TEST_F(HostFilesTest, OtherDedupersRunOrWillRun) {
  EXPECT_THAT(OtherDedupers(root_), IsEmpty());
  Write("/proc/12/comm", "bees\n");
  Write("/proc/13/comm", "honeybees\n");
  Write("/proc/self/comm", "duperemove\n");
  Write("/etc/systemd/system/timers.target.wants/duperemove.timer", "");
  Write("/etc/systemd/system/other/beesd@x.service", "");
  EXPECT_THAT(OtherDedupers(root_), ElementsAre("bees (process 12)", "duperemove.timer"));
}

}  // namespace
}  // namespace onefold
