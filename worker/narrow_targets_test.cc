#include "worker/narrow_targets.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/resolve_targets.h"
#include "worker/testing/fake_paths.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// /srv is a filesystem, seen again at /mnt/again; something of it is bound into /mnt/again/share;
// / and /home are two subvolumes of another one.
constexpr char kMounts[] =
    "20 1 0:30 /@ / rw - btrfs /dev/sda2 rw\n"
    "22 20 0:30 /@home /home rw - btrfs /dev/sda2 rw\n"
    "23 20 0:40 / /srv rw - btrfs /dev/sdb rw\n"
    "25 20 0:40 / /mnt/again rw - btrfs /dev/sdb rw\n"
    "27 25 0:40 /secret /mnt/again/share/bound rw - btrfs /dev/sdb rw\n";

class NarrowTargetsTest : public ::testing::Test {
 protected:
  // Roots of what is left when `asked` meets `allowed`.
  std::vector<std::string> Narrow(const std::vector<std::string>& allowed,
                                  const std::vector<std::string>& asked,
                                  const std::vector<std::string>& patterns = {}) {
    ExcludeList none;
    auto excludes = ExcludeList::Parse(patterns);
    EXPECT_THAT(excludes, IsOk());
    excludes_ = *std::move(excludes);
    const auto granted = ResolveTargets(allowed, mounts_, source_, none).targets;
    const auto wanted = ResolveTargets(asked, mounts_, source_, excludes_).targets;
    std::vector<std::string> roots;
    for (const VolumeTarget& target : NarrowTargets(granted, wanted, mounts_, excludes_)) {
      for (const ScopeRoot& root : target.roots) roots.push_back(root.path);
    }
    return roots;
  }

  const MountTable mounts_ = MountTable::Parse(kMounts);
  FakePathSource source_{mounts_};
  ExcludeList excludes_;
};

TEST_F(NarrowTargetsTest, WhatLiesWithinBothIsLeft) {
  EXPECT_THAT(Narrow({"/srv/data"}, {"/srv/data/films"}), ElementsAre("/srv/data/films"));
  EXPECT_THAT(Narrow({"/srv/data"}, {"/srv"}), ElementsAre("/srv/data"));
  EXPECT_THAT(Narrow({"/srv/data"}, {"/srv/data"}), ElementsAre("/srv/data"));
  EXPECT_THAT(Narrow({"/srv/a", "/srv/b"}, {"/srv"}), UnorderedElementsAre("/srv/a", "/srv/b"));
}

// A coordinator that was taken over must not reach what the host did not allow.
TEST_F(NarrowTargetsTest, AnOrderNeverWidens) {
  EXPECT_THAT(Narrow({"/srv/data"}, {"/srv/database"}), IsEmpty());
  EXPECT_THAT(Narrow({"/srv/data"}, {"/etc", "/home", "/srv/other"}), IsEmpty());
  EXPECT_THAT(Narrow({"/srv/data"}, {"/"}), IsEmpty());
  EXPECT_THAT(Narrow({}, {"/srv"}), IsEmpty());
}

TEST_F(NarrowTargetsTest, NamesDoNotMatter) {
  EXPECT_THAT(Narrow({"/srv/data"}, {"/mnt/again/data/x"}), ElementsAre("/mnt/again/data/x"));
  EXPECT_THAT(Narrow({"/srv/data"}, {"/mnt/again"}), ElementsAre("/srv/data"));
  source_.Link("/srv/data/link", "/srv/secret");
  EXPECT_THAT(Narrow({"/srv/data"}, {"/srv/data/link"}), IsEmpty());
}

// The name that was asked for has a mount below it that the allowed name has not.
TEST_F(NarrowTargetsTest, MountsBelowAnotherNameAreNotAllowedWithIt) {
  EXPECT_THAT(Narrow({"/srv/share"}, {"/mnt/again/share"}), ElementsAre("/mnt/again/share"));
  EXPECT_THAT(Narrow({"/srv/share"}, {"/mnt/again/share/bound"}), IsEmpty());
}

// Whoever allows / allows its subvolumes that are mounted below it, as `onefold dedupe /` does.
TEST_F(NarrowTargetsTest, SubvolumesMountedBelowAreAllowedWithIt) {
  EXPECT_THAT(Narrow({"/"}, {"/home/eva"}), ElementsAre("/home/eva"));
  EXPECT_THAT(Narrow({"/"}, {"/"}), ElementsAre("/", "/home"));
}

TEST_F(NarrowTargetsTest, ExcludesHoldForWhatWasNarrowed) {
  EXPECT_THAT(Narrow({"/srv/cache/data"}, {"/srv"}, {"cache"}), IsEmpty());
  EXPECT_THAT(Narrow({"/srv/cache/data"}, {"/srv"}, {"/mnt/again/cache"}), IsEmpty());
  EXPECT_THAT(Narrow({"/srv/data"}, {"/srv"}, {"data/tmp", "/mnt/again/data/x"}),
              ElementsAre("/srv/data"));
  EXPECT_TRUE(excludes_.Match("tmp", "/srv/data/tmp", true).has_value());
  EXPECT_TRUE(excludes_.Match("x", "/srv/data/x", true).has_value());
  EXPECT_FALSE(excludes_.Match("y", "/srv/data/y", true).has_value());
}

}  // namespace
}  // namespace onefold
