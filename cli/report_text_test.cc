#include "cli/report_text.h"

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMiB = 1024 * 1024;

RunSummary Summary() {
  RunSummary summary;
  summary.report.elapsed = absl::Seconds(12);
  VolumeReport volume;
  volume.uuid = "f00d";
  volume.mount = "/srv";
  volume.counters.bytes_freed = 900 * kMiB;
  volume.counters.bytes_shared = 1200 * kMiB;
  volume.counters.bytes_pinned = 41 * kMiB;
  volume.counters.pinned_by = {{"metadata", 11 * kMiB}, {"snapshot", 30 * kMiB}};
  volume.counters.skipped = {{"no_checksums", 1204}};
  volume.counters.extents_scanned = 27396;
  volume.counters.bytes_scanned = 2400 * kMiB;
  volume.counters.file_bytes_read = 180 * kMiB;
  volume.excluded_bytes = {{"*.iso", 12 * kMiB}, {"*.tmp", 0}};
  summary.report.volumes = {volume};
  return summary;
}

TEST(SummaryTextTest, TellsWhatPeopleWantToKnow) {
  EXPECT_EQ(
      SummaryText(Summary(), Verbosity::kNormal),
      "Freed 900.0 MiB in 12 s.\n"
      "/srv\n"
      "  freed       900.0 MiB on disk\n"
      "  shared      1.17 GiB of files\n"
      "  pinned      41.0 MiB have a copy, or part of one, but giving them up would free nothing "
      "now:\n"
      "                30.0 MiB: a snapshot or subvolume outside the given paths still uses them\n"
      "                11.0 MiB: sharing them would take more metadata than it frees\n"
      "  skipped     1,204 extents:\n"
      "                1,204: without checksums (nodatacow, or preallocated and not yet "
      "written)\n"
      "  excluded    12.0 MiB of candidates by *.iso\n"
      "  excluded    0 B of candidates by *.tmp\n"
      "  scanned     27,396 extents (everything), 2.34 GiB\n"
      "  read        180.0 MiB of file data\n");
}

// Of a walk, what was shared is known and what that freed is not.
TEST(SummaryTextTest, AWalkSaysWhatItShared) {
  RunSummary summary = Summary();
  summary.report.volumes[0].walked = true;
  summary.report.volumes[0].counters.bytes_freed.reset();
  EXPECT_THAT(SummaryText(summary, Verbosity::kNormal),
              HasSubstr("Shared 1.17 GiB of files (what that freed is not known) in 12 s."));
  summary.report.dry_run = true;
  summary.report.volumes[0].counters.bytes_shareable = 921 * kMiB;
  EXPECT_THAT(SummaryText(summary, Verbosity::kNormal),
              AllOf(HasSubstr("a run would share about 921.0 MiB of files"),
                    HasSubstr("would share about 921.0 MiB"), Not(HasSubstr("  would free"))));
}

TEST(SummaryTextTest, UnknownIsNotZero) {
  RunSummary summary = Summary();
  summary.report.volumes[0].counters.bytes_freed.reset();
  EXPECT_THAT(SummaryText(summary, Verbosity::kNormal), HasSubstr("not known"));
  EXPECT_THAT(SummaryText(summary, Verbosity::kQuiet), HasSubstr("freed an unknown amount"));
}

TEST(SummaryTextTest, NothingToDoIsSaidInWords) {
  RunSummary summary;
  EXPECT_EQ(SummaryText(summary, Verbosity::kNormal), "Nothing was freed in 0.0 s.\n");
}

TEST(SummaryTextTest, HowTheRunEnded) {
  RunSummary summary = Summary();
  summary.report.outcome = RunOutcome::kTimeLimit;
  EXPECT_THAT(SummaryText(summary, Verbosity::kNormal),
              HasSubstr("Time limit reached. Freed 900.0 MiB in 12 s; the next run goes on"));
  summary.report.outcome = RunOutcome::kInterrupted;
  EXPECT_THAT(SummaryText(summary, Verbosity::kNormal), HasSubstr("Interrupted. Freed"));
}

// People did not dare to run what a dry run had shown them (cases.md 134).
TEST(SummaryTextTest, ADryRunShowsExamplesAndTakesTheFearAway) {
  RunSummary summary = Summary();
  summary.report.dry_run = true;
  VolumeReport& volume = summary.report.volumes[0];
  volume.counters.bytes_freed = 0;
  volume.counters.bytes_freeable = 921 * kMiB;
  volume.examples = {{"/srv/a\x1b[2J", "/srv/b", 12 * kMiB}};
  EXPECT_THAT(SummaryText(summary, Verbosity::kNormal),
              AllOf(HasSubstr("Dry run: a run would free about 921.0 MiB. Nothing was changed."),
                    HasSubstr("12.0 MiB: /srv/b\n"), HasSubstr("as in /srv/a\\x1b[2J\n"),
                    HasSubstr("kernel itself has compared every byte; no file is replaced"),
                    Not(HasSubstr("Freed"))));
}

TEST(SummaryTextTest, QuietIsOneLine) {
  RunSummary summary = Summary();
  summary.report.problems = {{"missing", "/typo", "there is no such path"}};
  summary.report.outcome = RunOutcome::kIncomplete;
  EXPECT_EQ(SummaryText(summary, Verbosity::kQuiet),
            "onefold: incomplete, freed 900.0 MiB, pinned 41.0 MiB, 1 problem, 12 s\n");
}

TEST(SummaryTextTest, LifetimeSaysWhenItIsALowerBound) {
  RunSummary summary = Summary();
  summary.lifetime = LifetimeFreed{2000 * kMiB, true};
  EXPECT_THAT(SummaryText(summary, Verbosity::kNormal),
              HasSubstr("All runs with this state directory freed at least 1.95 GiB."));
}

TEST(ProblemTextTest, EachWithPathAndWhatToDo) {
  RunSummary summary = Summary();
  summary.report.problems = {{"missing", "/ty\npo", "is its disk mounted?"}};
  summary.report.volumes[0].problems = {{"read error", "/srv/a", ""}};
  summary.report.volumes[0].problems_total = 1;
  EXPECT_EQ(ProblemText(summary, Verbosity::kQuiet),
            "onefold: /ty\\npo: missing: is its disk mounted?\n"
            "onefold: /srv/a: read error\n");
  EXPECT_EQ(ProblemText(Summary(), Verbosity::kNormal), "");
}

TEST(ProblemTextTest, ThousandsAreCounted) {
  RunSummary summary = Summary();
  VolumeReport& volume = summary.report.volumes[0];
  for (int i = 0; i < 5000; ++i) AddProblem(volume, {"read error", "/srv/a", ""});
  const std::string text = ProblemText(summary, Verbosity::kNormal);
  EXPECT_THAT(text, HasSubstr("onefold: and 4,980 problems more\n"));
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  EXPECT_EQ(lines.size(), 21u);
}

TEST(ExitCodeTest, FollowsTheOutcome) {
  EXPECT_EQ(ExitCode(RunOutcome::kCompleted, 0), 0);
  EXPECT_EQ(ExitCode(RunOutcome::kTimeLimit, 0), 0);
  EXPECT_EQ(ExitCode(RunOutcome::kRefused, 0), 1);
  EXPECT_EQ(ExitCode(RunOutcome::kIncomplete, 0), 2);
  EXPECT_EQ(ExitCode(RunOutcome::kInterrupted, 2), 130);
  EXPECT_EQ(ExitCode(RunOutcome::kInterrupted, 15), 143);
}

// A timer must raise an alarm for a root that is gone, also when the time limit ended the run.
TEST(FinalOutcomeTest, ProblemsMakeARunIncomplete) {
  RunReport report;
  EXPECT_EQ(FinalOutcome(RunOutcome::kCompleted, report), RunOutcome::kCompleted);
  report.problems = {{"missing", "/typo", ""}};
  EXPECT_EQ(FinalOutcome(RunOutcome::kCompleted, report), RunOutcome::kIncomplete);
  EXPECT_EQ(FinalOutcome(RunOutcome::kTimeLimit, report), RunOutcome::kIncomplete);
  EXPECT_EQ(FinalOutcome(RunOutcome::kInterrupted, report), RunOutcome::kInterrupted);

  RunReport short_of_metadata;
  short_of_metadata.volumes.emplace_back().stopped_because = "metadata is short";
  EXPECT_EQ(FinalOutcome(RunOutcome::kCompleted, short_of_metadata), RunOutcome::kIncomplete);
  short_of_metadata.dry_run = true;  // it looked at everything
  EXPECT_EQ(FinalOutcome(RunOutcome::kCompleted, short_of_metadata), RunOutcome::kCompleted);
}

}  // namespace
}  // namespace onefold
