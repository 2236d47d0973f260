#include "worker/resolve_targets.h"

#include "common/path.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/testing/fake_paths.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// / and /home are subvolumes of the filesystem 0:30; /srv is 0:40, also seen read-only at /view
// (its directory share) and whole at /mnt/again; /data is ext4.
constexpr char kMounts[] =
    "20 1 0:30 /@ / rw - btrfs /dev/sda2 rw\n"
    "21 20 0:5 / /proc rw - proc proc rw\n"
    "22 20 0:30 /@home /home rw - btrfs /dev/sda2 rw\n"
    "23 20 0:40 / /srv rw - btrfs /dev/sdb rw\n"
    "24 20 0:40 /share /view ro - btrfs /dev/sdb rw\n"
    "25 20 0:40 / /mnt/again rw - btrfs /dev/sdb rw\n"
    "26 20 8:1 / /data rw - ext4 /dev/sdc1 rw\n"
    "27 23 0:40 /other /srv/share/bound rw - btrfs /dev/sdb rw\n"
    "28 20 0:50 / /old ro - btrfs /dev/sdd ro\n";

class ResolveTargetsTest : public ::testing::Test {
 protected:
  ResolvedTargets Resolve(const std::vector<std::string>& paths,
                          const std::vector<std::string>& patterns = {}) {
    auto excludes = ExcludeList::Parse(patterns);
    EXPECT_THAT(excludes, IsOk());
    excludes_ = *std::move(excludes);
    return ResolveTargets(paths, mounts_, source_, excludes_);
  }

  static std::vector<std::string> Roots(const ResolvedTargets& resolved, size_t target = 0) {
    std::vector<std::string> paths;
    if (target < resolved.targets.size()) {
      for (const ScopeRoot& root : resolved.targets[target].roots) paths.push_back(root.path);
    }
    return paths;
  }

  static std::vector<std::string> Reasons(const ResolvedTargets& resolved) {
    std::vector<std::string> reasons;
    for (const TargetProblem& problem : resolved.problems) {
      reasons.push_back(problem.problem.reason);
    }
    return reasons;
  }

  bool Excludes(const std::string& root, const std::string& below, bool is_directory = false) {
    return excludes_.Match(below, JoinPath(root, below), is_directory).has_value();
  }

  const MountTable mounts_ = MountTable::Parse(kMounts);
  FakePathSource source_{mounts_};
  ExcludeList excludes_;
};

TEST_F(ResolveTargetsTest, OnePath) {
  const ResolvedTargets resolved = Resolve({"/srv/share/films"});
  ASSERT_EQ(resolved.targets.size(), 1u);
  EXPECT_EQ(resolved.targets[0].uuid, FakePathSource::Uuid(40));
  EXPECT_EQ(resolved.targets[0].mount_path, "/srv");
  EXPECT_THAT(Roots(resolved), ElementsAre("/srv/share/films"));
  EXPECT_EQ(resolved.targets[0].roots[0].subvolume_id, 5u);
  EXPECT_NE(resolved.targets[0].roots[0].inode, 0u);
  EXPECT_THAT(resolved.problems, IsEmpty());
}

// Twice the same data as two roots would be counted, and worked on, twice.
TEST_F(ResolveTargetsTest, NamesOfOnePlaceAreFolded) {
  EXPECT_THAT(Roots(Resolve({"/srv/a", "/srv/a"})), ElementsAre("/srv/a"));
  EXPECT_THAT(Roots(Resolve({"/srv/a/b", "/srv/a", "/srv/ab"})), ElementsAre("/srv/a", "/srv/ab"));
  EXPECT_THAT(Roots(Resolve({"/mnt/again/a", "/srv"})), ElementsAre("/srv"));
  source_.Link("/link", "/srv/a");
  EXPECT_THAT(Roots(Resolve({"/link", "/srv/a"})), ElementsAre("/srv/a"));
}

TEST_F(ResolveTargetsTest, EachFilesystemIsOneTarget) {
  const ResolvedTargets resolved = Resolve({"/srv/a", "/etc", "/srv/b"});
  ASSERT_EQ(resolved.targets.size(), 2u);
  EXPECT_THAT(Roots(resolved, 0), ElementsAre("/srv/a", "/srv/b"));
  EXPECT_THAT(Roots(resolved, 1), ElementsAre("/etc"));
}

TEST_F(ResolveTargetsTest, TheRootOfTheSystemTakesItsOtherSubvolumesAlong) {
  const ResolvedTargets resolved = Resolve({"/"});
  ASSERT_EQ(resolved.targets.size(), 1u);
  EXPECT_THAT(Roots(resolved), ElementsAre("/", "/home"));
  // /proc /srv /view /mnt/again /data /srv/share/bound /old
  EXPECT_EQ(resolved.foreign_mounts, 7);
  EXPECT_THAT(resolved.problems, IsEmpty());
}

TEST_F(ResolveTargetsTest, AMountWithinWhatIsGivenAnywayAddsNothing) {
  EXPECT_THAT(Roots(Resolve({"/srv"})), ElementsAre("/srv"));
  EXPECT_THAT(Roots(Resolve({"/srv/share"})), ElementsAre("/srv/share", "/srv/share/bound"));
  EXPECT_EQ(Resolve({"/srv/share"}).foreign_mounts, 0);
}

TEST_F(ResolveTargetsTest, AnExcludedMountIsNoRoot) {
  EXPECT_THAT(Roots(Resolve({"/"}, {"home"})), ElementsAre("/"));
  EXPECT_THAT(Roots(Resolve({"/"}, {"/home"})), ElementsAre("/"));
  EXPECT_THAT(Roots(Resolve({"/srv/share"}, {"bound/"})), ElementsAre("/srv/share"));
}

// One misspelt path must not stop the others, nor be forgotten.
TEST_F(ResolveTargetsTest, WhatCannotBeWorkedOnIsNamedAndTheRestGoesOn) {
  source_.Remove("/srv/typo");
  const ResolvedTargets resolved = Resolve({"/srv/typo", "/data/x", "/proc", "/srv/a"});
  EXPECT_THAT(Roots(resolved), ElementsAre("/srv/a"));
  EXPECT_THAT(Reasons(resolved),
              ElementsAre("missing", "unsupported filesystem", "unsupported filesystem"));
  EXPECT_EQ(resolved.problems[0].problem.path, "/srv/typo");
  EXPECT_THAT(resolved.problems[1].problem.detail, HasSubstr("ext4"));
  EXPECT_THAT(resolved.problems[2].problem.detail, HasSubstr("proc"));
}

TEST_F(ResolveTargetsTest, AReadOnlyMountIsAProblemWithAWayOut) {
  const ResolvedTargets resolved = Resolve({"/view/a", "/old"});
  EXPECT_THAT(resolved.targets, IsEmpty());
  ASSERT_THAT(Reasons(resolved), ElementsAre("read-only mount", "read-only mount"));
  EXPECT_THAT(resolved.problems[0].problem.detail, HasSubstr("give /srv/share/a instead"));
  EXPECT_EQ(resolved.problems[0].uuid, FakePathSource::Uuid(40));
  EXPECT_THAT(resolved.problems[1].problem.detail, HasSubstr("remount,rw /old"));
}

TEST_F(ResolveTargetsTest, AReadOnlyViewOfWhatIsGivenWritableIsNone) {
  const ResolvedTargets resolved = Resolve({"/view", "/srv"});
  EXPECT_THAT(Roots(resolved), ElementsAre("/srv"));
  EXPECT_THAT(resolved.problems, IsEmpty());
}

TEST_F(ResolveTargetsTest, AFileMayBeGiven) {
  source_.MakeFile("/srv/a.img");
  EXPECT_THAT(Roots(Resolve({"/srv/a.img", "/srv/b"})), ElementsAre("/srv/a.img", "/srv/b"));
}

TEST_F(ResolveTargetsTest, AnExcludedPathIsNoProblem) {
  const ResolvedTargets resolved = Resolve({"/srv/a", "/srv/b/c"}, {"/srv/b"});
  EXPECT_THAT(Roots(resolved), ElementsAre("/srv/a"));
  EXPECT_THAT(resolved.excluded_paths, ElementsAre("/srv/b/c"));
  EXPECT_THAT(resolved.problems, IsEmpty());
  EXPECT_THAT(Resolve({"/mnt/again/b"}, {"/srv/b"}).targets, IsEmpty());
  // Names speak of what lies below the given paths.
  EXPECT_THAT(Roots(Resolve({"/srv/b"}, {"b", "srv"})), ElementsAre("/srv/b"));
}

TEST_F(ResolveTargetsTest, PatternsHoldUnderTheNameThatWasGiven) {
  source_.Link("/link", "/srv/a");
  Resolve({"/link"}, {"/link/tmp", "x/y"});
  EXPECT_TRUE(Excludes("/srv/a", "tmp", true));
  EXPECT_FALSE(Excludes("/srv/a", "b/tmp", true));
  EXPECT_TRUE(Excludes("/srv/a", "x/y"));
}

TEST_F(ResolveTargetsTest, PatternsHoldUnderTheNameOfAnotherMount) {
  Resolve({"/srv", "/mnt/again/b"}, {"/mnt/again/b/*.tmp", "/view/c", "d/e"});
  EXPECT_TRUE(Excludes("/srv", "b/1.tmp"));
  EXPECT_TRUE(Excludes("/srv", "share/c"));
  EXPECT_FALSE(Excludes("/srv", "c"));
  EXPECT_TRUE(Excludes("/srv", "b/d/e"));
  EXPECT_TRUE(Excludes("/srv", "d/e"));
  EXPECT_FALSE(Excludes("/srv", "x/d/e"));
}

TEST_F(ResolveTargetsTest, PatternsCountFromTheGivenPathAcrossMounts) {
  Resolve({"/"}, {"home/eva/tmp"});
  EXPECT_TRUE(Excludes("/home", "eva/tmp"));
  EXPECT_FALSE(Excludes("/home", "home/eva/tmp"));
}

TEST_F(ResolveTargetsTest, APatternThatNamesASymlinkExcludesWhatItPointsTo) {
  source_.Link("/srv/current", "/srv/v5");
  Resolve({"/srv"}, {"/srv/current"});
  EXPECT_TRUE(Excludes("/srv", "v5", true));
}

// A misspelt pattern protects nothing; somebody should be told before the run.
TEST_F(ResolveTargetsTest, AnAbsolutePatternThatNamesNothingIsAWarning) {
  source_.Remove("/srv/typo");
  EXPECT_THAT(Resolve({"/srv"}, {"/srv/typo", "/srv/typo*", "typo"}).warnings,
              ElementsAre(HasSubstr("/srv/typo: there is no such path")));
}

TEST_F(ResolveTargetsTest, TheStateDirectoryIsExcludedWhereverItIsReached) {
  const ResolvedTargets resolved = Resolve({"/srv/share", "/etc"});
  ExcludeStateDirectory("/mnt/again/share/[state]", resolved.targets, mounts_, excludes_);
  EXPECT_EQ(excludes_.size(), 1u);
  EXPECT_TRUE(Excludes("/srv/share", "[state]", true));
  EXPECT_FALSE(Excludes("/srv/share", "s", true));
}

TEST_F(ResolveTargetsTest, AStateDirectoryElsewhereCostsNothing) {
  const ResolvedTargets resolved = Resolve({"/srv"});
  ExcludeStateDirectory("/var/lib/onefold", resolved.targets, mounts_, excludes_);
  EXPECT_TRUE(excludes_.empty());
}

TEST_F(ResolveTargetsTest, APartOfTheStateDirectoryIsNotWorkedOn) {
  const ResolvedTargets resolved = Resolve({"/var/lib/onefold/index"});
  ExcludeStateDirectory("/var/lib/onefold", resolved.targets, mounts_, excludes_);
  EXPECT_TRUE(excludes_.Match("", "/var/lib/onefold/index", true).has_value());
}

}  // namespace
}  // namespace onefold
