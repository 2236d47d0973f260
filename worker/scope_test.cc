#include "worker/scope.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/btrfs_encoding.h"
#include "worker/parallel.h"
#include "worker/testing/scoped_volume.h"

namespace onefold {
namespace {

using Verdict = Scope::Verdict;

class ScopeTest : public ::testing::Test {
 protected:
  FakeVolume& volume() { return on_.volume; }

  void SetRoots(std::vector<ScopeRoot> roots) { on_.roots = std::move(roots); }
  uint64_t Dir(const std::string& name, uint64_t parent = kTopDirectory,
               uint64_t subvolume = kFsTree) {
    return volume().AddDirectory(name, {.subvolume = subvolume, .parent = parent});
  }
  InodeId File(const std::string& name, uint64_t parent = kTopDirectory,
               uint64_t subvolume = kFsTree) {
    return volume().AddFile(name, {.subvolume = subvolume, .parent = parent});
  }

  // The names of `file`, as whoever asks the scope has read them.
  std::vector<InodeLink> Links(const InodeId& file) {
    std::vector<InodeLink> links;
    EXPECT_TRUE(volume()
                    .Search({.tree = file.subvolume,
                             .first = {file.inode, kInodeRef, 0},
                             .last = {file.inode, kInodeRef, UINT64_MAX}},
                            [&](const TreeItem& item) {
                              ParseInodeRef(item.body, item.key.offset, links);
                              return true;
                            })
                    .ok());
    return links;
  }
  Verdict Check(const InodeId& file) { return on_.scope.Check(file, Links(file)).verdict; }
  std::string PathOf(const InodeId& file) { return on_.scope.PathOf(file, Links(file)); }

  ScopedVolume on_;
};

TEST_F(ScopeTest, EverythingBelowTheTopIsInside) {
  const InodeId deep = File("f", Dir("c", Dir("b", Dir("a"))));
  EXPECT_EQ(Check(deep), Verdict::kInside);
  EXPECT_EQ(PathOf(deep), "/srv/a/b/c/f");
  EXPECT_EQ(PathOf(File("top")), "/srv/top");
}

// Handles know no paths: this is the only fence around what was not asked for.
TEST_F(ScopeTest, WhatLiesBesideARootIsOutside) {
  const uint64_t inside = Dir("data");
  const uint64_t beside = Dir("data2");
  SetRoots({{.path = "/mnt/data", .subvolume_id = kFsTree, .inode = inside}});
  EXPECT_EQ(Check(File("f", Dir("x", inside))), Verdict::kInside);
  EXPECT_EQ(Check(File("f", beside)), Verdict::kOutside);
  EXPECT_EQ(Check(File("f")), Verdict::kOutside);
}

TEST_F(ScopeTest, AFileCanBeARoot) {
  const uint64_t dir = Dir("data");
  const InodeId named = File("named", dir);
  SetRoots({{.path = "/mnt/data/named", .subvolume_id = kFsTree, .inode = named.inode}});
  EXPECT_EQ(Check(named), Verdict::kInside);
  EXPECT_EQ(PathOf(named), "/mnt/data/named");
  EXPECT_EQ(Check(File("other", dir)), Verdict::kOutside);
}

TEST_F(ScopeTest, RootIsTheWholeComputer) {
  SetRoots({{.path = "/", .subvolume_id = kFsTree, .inode = kTopDirectory}});
  const InodeId file = File("f", Dir("etc"));
  EXPECT_EQ(Check(file), Verdict::kInside);
  EXPECT_EQ(PathOf(file), "/etc/f");
  EXPECT_EQ(PathOf(File("g")), "/g");
}

TEST_F(ScopeTest, NestedSubvolumesAreInside) {
  const uint64_t dir = Dir("volumes");
  volume().AddSubvolume(300, {.directory = dir, .name = "one"});
  const uint64_t in_one = Dir("deeper", kTopDirectory, 300);
  volume().AddSubvolume(301, {.parent = 300, .directory = in_one, .name = "two"});
  const InodeId file = File("f", kTopDirectory, 301);
  EXPECT_EQ(Check(file), Verdict::kInside);
  EXPECT_EQ(PathOf(file), "/srv/volumes/one/deeper/two/f");
  EXPECT_TRUE(on_.scope.Reaches(301));
}

// The subvolume above its root is not asked for, nor are its other children.
TEST_F(ScopeTest, SubvolumesAboveAndBesideARootAreOutside) {
  volume().AddSubvolume(300, {.name = "home"});
  volume().AddSubvolume(301, {.name = "var"});
  SetRoots({{.path = "/home", .subvolume_id = 300, .inode = kTopDirectory}});
  EXPECT_EQ(Check(File("f", kTopDirectory, 300)), Verdict::kInside);
  EXPECT_EQ(Check(File("f", kTopDirectory, 301)), Verdict::kOutside);
  EXPECT_EQ(Check(File("f")), Verdict::kOutside);
  EXPECT_FALSE(on_.scope.Reaches(301));
  EXPECT_FALSE(on_.scope.Reaches(kFsTree));
}

// Inode numbers are equal in a snapshot and its origin; only the subvolume tells them apart.
TEST_F(ScopeTest, SnapshotIsNoCopyOfItsOriginsVerdict) {
  const uint64_t data = Dir("data");
  const InodeId file = File("f", data);
  const uint64_t snapshots = Dir("snapshots");
  volume().AddSubvolume(300, {.directory = snapshots, .name = "monday", .snapshot_of = kFsTree});
  const InodeId copy{300, file.inode};
  SetRoots({{.path = "/srv/data", .subvolume_id = kFsTree, .inode = data}});
  EXPECT_EQ(Check(file), Verdict::kInside);
  EXPECT_EQ(Check(copy), Verdict::kOutside);
  SetRoots({{.path = "/srv/snapshots", .subvolume_id = kFsTree, .inode = snapshots}});
  Scope other(volume(), on_.roots, on_.excludes);
  EXPECT_EQ(other.Check(copy, Links(copy)).verdict, Verdict::kInside);
  EXPECT_EQ(other.PathOf(copy, Links(copy)), "/srv/snapshots/monday/data/f");
  EXPECT_EQ(other.Check(file, Links(file)).verdict, Verdict::kOutside);
}

TEST_F(ScopeTest, SnapshotCanBeARoot) {
  const InodeId file = File("f");
  volume().AddSubvolume(300, {.name = "snap", .read_only = true, .snapshot_of = kFsTree});
  SetRoots({{.path = "/srv/snap", .subvolume_id = 300, .inode = kTopDirectory}});
  EXPECT_EQ(Check({300, file.inode}), Verdict::kInside);
  EXPECT_EQ(Check(file), Verdict::kOutside);
}

// A subvolume that is being deleted hangs nowhere any more.
TEST_F(ScopeTest, SubvolumeWithoutAParentIsOutside) {
  volume().AddSubvolume(300, {.name = "old"});
  const InodeId file = File("f", kTopDirectory, 300);
  volume().BeginDeletingSubvolume(300);
  EXPECT_EQ(Check(file), Verdict::kOutside);
  EXPECT_FALSE(on_.scope.Reaches(300));
}

// ---- Hard links

TEST_F(ScopeTest, OneNameInsideIsEnough) {
  const uint64_t inside = Dir("in");
  const InodeId file = File("f", Dir("out"));
  volume().Link(file, inside, "g");
  SetRoots({{.path = "/mnt/in", .subvolume_id = kFsTree, .inode = inside}});
  EXPECT_EQ(Check(file), Verdict::kInside);
  EXPECT_EQ(PathOf(file), "/mnt/in/g");
}

TEST_F(ScopeTest, AFileWithoutNamesIsInsideAWholeSubvolumeOnly) {
  const uint64_t dir = Dir("data");
  const InodeId file = File("f", dir);
  volume().Unlink(file);
  SetRoots({{.path = "/mnt/data", .subvolume_id = kFsTree, .inode = dir}});
  EXPECT_EQ(Check(file), Verdict::kOutside);
}

// An excluded link does not exclude another one.
TEST_F(ScopeTest, OneExcludedNameDoesNotExcludeTheOther) {
  on_.Exclude({"*.iso"});
  const InodeId file = File("a.iso");
  volume().Link(file, Dir("d"), "b.bin");
  EXPECT_EQ(Check(file), Verdict::kInside);
  const InodeId both = File("c.iso");
  volume().Link(both, kTopDirectory, "d.iso");
  EXPECT_EQ(Check(both), Verdict::kExcluded);
}

// An example that names an excluded path makes people think that excludes do not work.
TEST_F(ScopeTest, PathForPeopleIsNotTheExcludedName) {
  on_.Exclude({"*.iso"});
  const InodeId file = File("a.iso");
  volume().Link(file, kTopDirectory, "b.bin");
  EXPECT_EQ(PathOf(file), "/srv/b.bin");
}

TEST_F(ScopeTest, FileWithoutAPathIsCalledByItsNumbers) {
  const InodeId file = File("f");
  volume().Unlink(file);
  EXPECT_EQ(PathOf(file), absl::StrCat("inode ", file.inode, " of subvolume 5"));
}

// ---- Excludes

TEST_F(ScopeTest, WhatAnExcludedDirectoryHoldsIsExcluded) {
  on_.Exclude({"@eaDir/"});
  const uint64_t excluded = Dir("@eaDir", Dir("photos"));
  const InodeId file = File("f", Dir("deeper", excluded));
  EXPECT_EQ(Check(file), Verdict::kExcluded);
  EXPECT_EQ(Check(File("@eaDir")), Verdict::kInside);  // a file of that name
}

TEST_F(ScopeTest, ExcludedSubvolumeIsExcludedWithAllBelow) {
  on_.Exclude({".snapshots"});
  const uint64_t dir = Dir(".snapshots");
  volume().AddSubvolume(300, {.directory = dir, .name = "1"});
  EXPECT_EQ(Check(File("f", kTopDirectory, 300)), Verdict::kExcluded);
}

TEST_F(ScopeTest, TheFirstPatternThatExcludesIsNamed) {
  on_.Exclude({"*.tmp", "cache/", "*.iso"});
  const InodeId file = File("x.iso");
  const InodeId cached = File("x.iso", Dir("cache"));
  EXPECT_EQ(on_.scope.Check(file, Links(file)).pattern, 2u);
  EXPECT_EQ(on_.scope.Check(cached, Links(cached)).pattern, 1u);
}

TEST_F(ScopeTest, ExcludedRootHoldsNothing) {
  on_.Exclude({"/srv"});
  EXPECT_EQ(Check(File("f")), Verdict::kExcluded);
  EXPECT_EQ(Check(File("f", Dir("d"))), Verdict::kExcluded);
}

// Named on the command line and excluded by its absolute path: the exclude is the later thought.
TEST_F(ScopeTest, ExcludedFileThatIsARootStaysAlone) {
  const InodeId file = File("disk.img");
  SetRoots({{.path = "/srv/disk.img", .subvolume_id = kFsTree, .inode = file.inode}});
  on_.Exclude({"/srv/disk.img"});
  EXPECT_EQ(Check(file), Verdict::kExcluded);
}

// A bare name says something about what is found below a root, not about the root itself.
TEST_F(ScopeTest, RootWithTheNameOfAPatternIsSearched) {
  const uint64_t root = Dir("cache");
  SetRoots({{.path = "/srv/cache", .subvolume_id = kFsTree, .inode = root}});
  on_.Exclude({"cache"});
  EXPECT_EQ(Check(File("f", root)), Verdict::kInside);
  EXPECT_EQ(Check(File("f", Dir("cache", root))), Verdict::kExcluded);
}

// A root below an excluded directory was given by name.
TEST_F(ScopeTest, RootInsideAnExcludedDirectoryIsSearched) {
  const uint64_t excluded = Dir("cache");
  const uint64_t root = Dir("wanted", excluded);
  SetRoots({{.path = "/srv", .subvolume_id = kFsTree, .inode = kTopDirectory},
            {.path = "/srv/cache/wanted", .subvolume_id = kFsTree, .inode = root}});
  on_.Exclude({"cache"});
  EXPECT_EQ(Check(File("f", root)), Verdict::kInside);
  EXPECT_EQ(Check(File("f", excluded)), Verdict::kExcluded);
}

TEST_F(ScopeTest, PatternsWithASlashAreRelativeToTheRoot) {
  const uint64_t root = Dir("data");
  SetRoots({{.path = "/mnt/data", .subvolume_id = kFsTree, .inode = root}});
  on_.Exclude({"a/b"});
  const uint64_t a = Dir("a", root);
  EXPECT_EQ(Check(File("f", Dir("b", a))), Verdict::kExcluded);
  EXPECT_EQ(Check(File("f", Dir("b", Dir("a", Dir("x", root))))), Verdict::kInside);
}

// Names are bytes; a pattern for one must not hit another that merely looks like it.
TEST_F(ScopeTest, NamesAreBytes) {
  on_.Exclude({"\xff*"});
  EXPECT_EQ(Check(File(std::string("\xff\n\x1b[2J", 6))), Verdict::kExcluded);
  EXPECT_EQ(Check(File("\xc3\xbf")), Verdict::kInside);
}

// ---- Damaged trees, deep trees

// A loop in a damaged tree must end, and with "not ours".
TEST_F(ScopeTest, DirectoriesInALoopAreOutside) {
  const uint64_t root = Dir("root");
  SetRoots({{.path = "/mnt/root", .subvolume_id = kFsTree, .inode = root}});
  const uint64_t a = Dir("a");
  const uint64_t b = Dir("b", a);
  volume().EraseItem(kFsTree, {a, kInodeRef, kTopDirectory});
  volume().PutItem(kFsTree, {a, kInodeRef, b}, EncodeInodeRef({{2, "a"}}));
  EXPECT_EQ(Check(File("f", b)), Verdict::kOutside);
}

TEST_F(ScopeTest, SubvolumesInALoopAreOutside) {
  volume().AddSubvolume(300, {.parent = 301, .name = "a"});
  volume().AddSubvolume(301, {.parent = 300, .name = "b"});
  EXPECT_EQ(Check(File("f", kTopDirectory, 300)), Verdict::kOutside);
  EXPECT_FALSE(on_.scope.Reaches(301));
}

TEST_F(ScopeTest, DirectoryThatIsItsOwnParentIsOutside) {
  const uint64_t root = Dir("root");
  SetRoots({{.path = "/mnt/root", .subvolume_id = kFsTree, .inode = root}});
  const uint64_t a = Dir("a");
  volume().EraseItem(kFsTree, {a, kInodeRef, kTopDirectory});
  volume().PutItem(kFsTree, {a, kInodeRef, a}, EncodeInodeRef({{2, "a"}}));
  EXPECT_EQ(Check(File("f", a)), Verdict::kOutside);
}

// Paths longer than PATH_MAX are no paths to open, but files all the same.
TEST_F(ScopeTest, DeepDirectoriesAreInside) {
  uint64_t dir = kTopDirectory;
  for (int i = 0; i < 100; ++i) dir = Dir(std::string(250, static_cast<char>('a' + i % 26)), dir);
  const InodeId file = File("f", dir);
  EXPECT_EQ(Check(file), Verdict::kInside);
  EXPECT_EQ(PathOf(file).size(), 4 + 100 * 251 + 2u);
}

TEST_F(ScopeTest, DirectoryWhoseNameIsGoneIsOutside) {
  const uint64_t root = Dir("root");
  SetRoots({{.path = "/mnt/root", .subvolume_id = kFsTree, .inode = root}});
  const uint64_t a = Dir("a", root);
  volume().EraseItem(kFsTree, {a, kInodeRef, root});
  EXPECT_EQ(Check(File("f", a)), Verdict::kOutside);
}

// A directory with a very long list of siblings keeps its name in an INODE_EXTREF item.
TEST_F(ScopeTest, DirectoryIsFoundByItsExtref) {
  const uint64_t root = Dir("root");
  SetRoots({{.path = "/mnt/root", .subvolume_id = kFsTree, .inode = root}});
  const uint64_t a = Dir("a", root);
  volume().EraseItem(kFsTree, {a, kInodeRef, root});
  volume().PutItem(kFsTree, {a, kInodeExtref, 12345}, EncodeInodeExtref(root, 2, "a"));
  const InodeId file = File("f", a);
  EXPECT_EQ(Check(file), Verdict::kInside);
  EXPECT_EQ(PathOf(file), "/mnt/root/a/f");
}

// Called outside, a file would be settled for good; and the verdict must not be remembered.
TEST_F(ScopeTest, UnreadableDirectoriesAreNotCalledOutside) {
  const uint64_t root = Dir("root");
  SetRoots({{.path = "/mnt/root", .subvolume_id = kFsTree, .inode = root}});
  const InodeId file = File("f", Dir("a", root));
  const std::vector<InodeLink> links = Links(file);
  volume().FailSearch(kFsTree, absl::UnavailableError("no memory for a moment"));
  const Scope::Answer answer = on_.scope.Check(file, links);
  EXPECT_EQ(answer.verdict, Verdict::kOutside);
  EXPECT_EQ(answer.error.code(), absl::StatusCode::kUnavailable);
  volume().FailSearch(kFsTree, absl::OkStatus());
  EXPECT_EQ(Check(file), Verdict::kInside);
}

// What is known to be inside by one name needs no other.
TEST_F(ScopeTest, UnreadableDirectoryOfAnotherNameDoesNotMatter) {
  const uint64_t root = Dir("root");
  SetRoots({{.path = "/mnt/root", .subvolume_id = kFsTree, .inode = root}});
  const uint64_t known = Dir("known", root);
  ASSERT_EQ(Check(File("g", known)), Verdict::kInside);
  const InodeId file = File("f", Dir("other", root));
  volume().Link(file, known, "h");
  const std::vector<InodeLink> links = Links(file);
  volume().FailSearch(kFsTree, absl::DataLossError("bad leaf"));
  const Scope::Answer answer = on_.scope.Check(file, links);
  EXPECT_EQ(answer.verdict, Verdict::kInside);
  EXPECT_TRUE(answer.error.ok());
}

// ---- Cost

// A million files in one directory cost one walk upwards.
TEST_F(ScopeTest, DirectoriesAreLookedUpOnce) {
  const uint64_t root = Dir("root");
  SetRoots({{.path = "/mnt/root", .subvolume_id = kFsTree, .inode = root}});
  const uint64_t dir = Dir("b", Dir("a", root));
  const InodeId file = File("f", dir);
  const std::vector<InodeLink> links = Links(file);
  on_.scope.Check(file, links);
  const int64_t before = volume().searches(kFsTree);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(on_.scope.Check(file, links).verdict, Verdict::kInside);
  }
  EXPECT_EQ(volume().searches(kFsTree), before);
}

// More directories than are remembered.
TEST_F(ScopeTest, ForgottenDirectoriesAreLookedUpAgain) {
  on_.Exclude({"no"});
  std::vector<InodeId> files;
  for (int i = 0; i < 17000; ++i) {
    const uint64_t dir = volume().AddDirectory(i % 2 == 0 ? "yes" : "no", {.inode = 1000 + 2u * i});
    files.push_back({kFsTree, dir});
  }
  for (const size_t i : {0, 1, 16998, 16999, 0, 1}) {
    for (size_t j = 0; j < files.size(); j += i == 1 ? 1 : 5000) {
      const InodeLink link{.parent = files[j].inode, .name = "f"};
      const Verdict verdict = on_.scope.Check({kFsTree, 1}, {link}).verdict;
      ASSERT_EQ(verdict, j % 2 == 0 ? Verdict::kInside : Verdict::kExcluded) << j;
    }
  }
}

// Settling threads ask at the same time.
TEST_F(ScopeTest, ThreadsMayAskTogether) {
  on_.Exclude({"*.tmp"});
  uint64_t dir = kTopDirectory;
  for (int i = 0; i < 20; ++i) dir = Dir("d", dir);
  std::vector<InodeId> files;
  for (int i = 0; i < 40; ++i) files.push_back(File(i % 2 == 0 ? "f" : "f.tmp", dir));
  std::vector<Verdict> verdicts(files.size());
  ForEachInParallel(files.size(), 8, [&](int, size_t i) {
    const InodeLink link{.parent = dir, .name = i % 2 == 0 ? "f" : "f.tmp"};
    verdicts[i] = on_.scope.Check(files[i], {link}).verdict;
  });
  for (size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(verdicts[i], i % 2 == 0 ? Verdict::kInside : Verdict::kExcluded);
  }
}

}  // namespace
}  // namespace onefold
