#include "cli/dedupe_arguments.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;

TEST(MakeJobTest, WithPathsOnlyWhatIsTypedCounts) {
  DedupeArguments arguments;
  arguments.paths = {"/srv", "data"};
  arguments.min_file_bytes = 4096;
  const DedupeJob job = MakeJob(arguments, nullptr, "/home/eva");
  EXPECT_THAT(job.paths, ElementsAre("/srv", "/home/eva/data"));
  EXPECT_EQ(job.min_file_bytes, 4096);
  EXPECT_EQ(job.max_file_bytes, 0);
  EXPECT_FALSE(job.match_extents_only);
}

// A timer that runs `onefold dedupe` must not lose the excludes of the run it repeats.
TEST(MakeJobTest, AReplayKeepsWhatIsNotTyped) {
  DedupeJob stored;
  stored.paths = {"/srv"};
  stored.exclude_patterns = {"*.iso"};
  stored.max_file_bytes = 1 << 20;
  stored.skip_readonly_subvolumes = true;
  stored.max_time = absl::Hours(4);
  DedupeArguments arguments;
  arguments.max_time = absl::Hours(1);
  arguments.skip_readonly_subvolumes = false;
  const DedupeJob job = MakeJob(arguments, &stored, "/");
  EXPECT_THAT(job.paths, ElementsAre("/srv"));
  EXPECT_THAT(job.exclude_patterns, ElementsAre("*.iso"));
  EXPECT_EQ(job.max_file_bytes, 1 << 20);
  EXPECT_FALSE(job.skip_readonly_subvolumes);
  EXPECT_EQ(job.max_time, absl::Hours(1));
}

// What nobody typed is shown, and a hostile name does not reach the terminal.
TEST(JobTextTest, HasEverythingThatIsRepeated) {
  DedupeJob job;
  job.paths = {"/srv", "/ho\nme"};
  EXPECT_EQ(JobText(job), "/srv /ho\\nme");
  job.exclude_patterns = {"*.iso", "tmp/"};
  job.min_file_bytes = 65536;
  job.skip_readonly_subvolumes = true;
  job.match_extents_only = true;
  job.max_time = absl::Hours(4);
  EXPECT_EQ(JobText(job),
            "/srv /ho\\nme without *.iso tmp/, files of 64.0 KiB or more, no read-only subvolumes, "
            "--match=extents, for 4 h 0 min at most");
}

TEST(AbsolutePathTest, OnlyWhatIsSafeIsSimplified) {
  EXPECT_EQ(AbsolutePath(".", "/home/eva"), "/home/eva");
  EXPECT_EQ(AbsolutePath("a//b/./c/", "/"), "/a/b/c");
  EXPECT_EQ(AbsolutePath("/link/../a", "/x"), "/link/../a");
  EXPECT_EQ(AbsolutePath("/", "/x"), "/");
  EXPECT_EQ(AbsolutePath("..", "/x"), "/x/..");
}

TEST(DefaultStateDirectoryTest, FollowsTheSpecificationOfXdg) {
  EXPECT_EQ(DefaultStateDirectory(true, "/x", "/root"), "/var/lib/onefold");
  EXPECT_EQ(DefaultStateDirectory(false, "/x/state", "/home/eva"), "/x/state/onefold");
  EXPECT_EQ(DefaultStateDirectory(false, "relative", "/home/eva"),
            "/home/eva/.local/state/onefold");
  EXPECT_EQ(DefaultStateDirectory(false, "", ""), "");
}

}  // namespace
}  // namespace onefold
