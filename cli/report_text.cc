#include "cli/report_text.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/quantity.h"
#include "common/escape.h"

namespace onefold {
namespace {

constexpr size_t kProblemsShownMax = 20;
constexpr size_t kExamplesShownMax = 10;

struct Phrase {
  absl::string_view name;
  const char* text;
};

// Holders of pinned extents, as in the report, in words of people who own a NAS.
constexpr Phrase kHolders[] = {
    {"snapshot", "a snapshot or subvolume outside the given paths still uses them"},
    {"outside_files", "files outside the given paths still use them"},
    {"unmatched_blocks", "a part of them exists only once"},
    {"tail",
     "the last, partly filled block of a file has no copy, and writing it anew would not pay"},
    {"metadata", "sharing them would take more metadata than it frees"},
    {"excluded", "excluded files, or files outside the size limits, still use them"},
    {"immutable", "immutable or append-only files use them (lsattr shows an i or a)"},
    {"readonly_subvolume", "read-only subvolumes use them, and --skip-readonly-subvolumes is on"},
    {"deleted", "deleted files that are still open, or subvolumes being deleted, use them"},
    {"swapfile", "an active swap file uses them"},
    {"too_many_references", "they are used in more places than a run looks at"},
    {"refused", "the kernel refused to share them"},
};

// Reasons for skipped extents.
constexpr Phrase kReasons[] = {
    {"no_checksums", "without checksums (nodatacow, or preallocated and not yet written)"},
    {"partial_checksums", "with checksums of a part only (preallocated and partly written)"},
    {"changed", "changed meanwhile; the next run looks again"},
    {"busy", "busy, for example being sent; the next run tries again"},
    {"no memory", "the kernel was short of memory; the next run tries again"},
    {"differs", "with equal checksums, but different after all"},
    {"no progress", "the kernel shared nothing, without a reason"},
};

template <size_t kSize>
std::string InWords(const Phrase (&phrases)[kSize], absl::string_view name) {
  for (const Phrase& phrase : phrases) {
    if (phrase.name == name) return phrase.text;
  }
  return absl::StrReplaceAll(Escape(name), {{"_", " "}});
}

// Largest first.
std::vector<std::pair<std::string, int64_t>> Sorted(const std::map<std::string, int64_t>& map) {
  std::vector<std::pair<std::string, int64_t>> entries;
  for (const auto& entry : map) {
    if (entry.second != 0) entries.push_back(entry);
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return entries;
}

std::string BytesOrUnknown(const std::optional<int64_t>& bytes) {
  return bytes.has_value() ? BytesText(*bytes) : "an unknown amount";
}

// "  name        text"
void AddRow(std::string& out, absl::string_view name, absl::string_view text) {
  constexpr size_t kNameWidth = 12;
  absl::StrAppend(&out, "  ", name,
                  std::string(kNameWidth - std::min(name.size(), kNameWidth), ' '), text, "\n");
}

void AddSubRow(std::string& out, absl::string_view text) {
  absl::StrAppend(&out, std::string(16, ' '), text, "\n");
}

std::string Headline(const RunSummary& summary) {
  const RunReport& report = summary.report;
  const RunCounters totals = Totals(report);
  const std::string elapsed = DurationText(report.elapsed);
  if (report.dry_run) {
    const std::string amount =
        totals.bytes_freeable.has_value()
            ? absl::StrCat("a run would free about ", BytesText(*totals.bytes_freeable))
        : totals.bytes_shareable.has_value()
            ? absl::StrCat("a run would share about ", BytesText(*totals.bytes_shareable),
                           " of files; what that frees is not known")
            : "what a run would free is not known";
    const char* until = report.outcome == RunOutcome::kInterrupted ? " (interrupted)"
                        : report.outcome == RunOutcome::kTimeLimit ? " (time limit reached)"
                                                                   : "";
    return absl::StrCat("Dry run", until, ": ", amount, ". Nothing was changed. ", elapsed, ".");
  }
  std::string freed;
  if (!totals.bytes_freed.has_value() && totals.bytes_shared.has_value()) {
    freed = absl::StrCat("Shared ", BytesText(*totals.bytes_shared),
                         " of files (what that freed is not known)");
  } else if (!totals.bytes_freed.has_value()) {
    freed = "How much was freed is not known";
  } else if (*totals.bytes_freed == 0) {
    freed = "Nothing was freed";
  } else {
    freed = absl::StrCat("Freed ", BytesText(*totals.bytes_freed));
  }
  switch (report.outcome) {
    case RunOutcome::kInterrupted:
      return absl::StrCat("Interrupted. ", freed, " in ", elapsed,
                          "; the next run goes on from here.");
    case RunOutcome::kTimeLimit:
      return absl::StrCat("Time limit reached. ", freed, " in ", elapsed,
                          "; the next run goes on from here.");
    default: return absl::StrCat(freed, " in ", elapsed, ".");
  }
}

void AddPinned(std::string& out, const RunCounters& counters) {
  if (counters.bytes_pinned.value_or(0) == 0) return;
  AddRow(out, "pinned",
         absl::StrCat(BytesText(*counters.bytes_pinned),
                      " have a copy, or part of one, but giving them up would free nothing now:"));
  for (const auto& [holder, bytes] : Sorted(counters.pinned_by)) {
    AddSubRow(out, absl::StrCat(BytesText(bytes), ": ", InWords(kHolders, holder)));
  }
}

void AddSkipped(std::string& out, const RunCounters& counters) {
  const auto skipped = Sorted(counters.skipped);
  if (skipped.empty()) return;
  int64_t total = 0;
  for (const auto& entry : skipped) total += entry.second;
  AddRow(out, "skipped", absl::StrCat(CountText(total), total == 1 ? " extent:" : " extents:"));
  for (const auto& [reason, count] : skipped) {
    AddSubRow(out, absl::StrCat(CountText(count), ": ", InWords(kReasons, reason)));
  }
}

void AddExamples(std::string& out, std::vector<Example> examples) {
  std::stable_sort(examples.begin(), examples.end(),
                   [](const Example& a, const Example& b) { return a.bytes > b.bytes; });
  const size_t shown = std::min(examples.size(), kExamplesShownMax);
  for (size_t i = 0; i < shown; ++i) {
    AddRow(out, i == 0 ? "for example" : "",
           absl::StrCat(BytesText(examples[i].bytes), ": ", Escape(examples[i].destination)));
    AddSubRow(out, absl::StrCat("as in ", Escape(examples[i].source)));
  }
}

void AddVolume(std::string& out, const VolumeReport& volume, bool dry_run, Verbosity verbosity) {
  const RunCounters& counters = volume.counters;
  const bool verbose = verbosity == Verbosity::kVerbose;
  absl::StrAppend(&out, Escape(volume.mount), "\n");
  if (verbose) AddRow(out, "filesystem", volume.uuid);
  if (dry_run && volume.walked) {
    AddRow(out, "would share",
           absl::StrCat("about ", BytesOrUnknown(counters.bytes_shareable), " of files"));
  } else if (dry_run) {
    AddRow(out, "would free", absl::StrCat("about ", BytesOrUnknown(counters.bytes_freeable)));
  } else {
    AddRow(out, "freed", absl::StrCat(BytesOrUnknown(counters.bytes_freed), " on disk"));
    AddRow(out, "shared", absl::StrCat(BytesOrUnknown(counters.bytes_shared), " of files"));
  }
  if (dry_run || verbose) AddExamples(out, volume.examples);
  if (counters.bytes_written.value_or(0) > 0) {
    AddRow(out, "written",
           absl::StrCat(BytesText(*counters.bytes_written),
                        " anew: blocks without a copy that held the rest of their "
                        "extents (already taken off what is freed)"));
  }
  AddPinned(out, counters);
  if (counters.bytes_relocatable.value_or(0) > 0) {
    AddRow(out, "relocation",
           absl::StrCat("would free ", BytesText(*counters.bytes_relocatable),
                        " more by writing blocks without a copy anew (--relocate=tails)"));
  }
  AddSkipped(out, counters);
  for (const auto& [pattern, bytes] : volume.excluded_bytes) {
    AddRow(out, "excluded", absl::StrCat(BytesText(bytes), " of candidates by ", Escape(pattern)));
  }
  if (volume.size_excluded_bytes > 0) {
    AddRow(out, "excluded",
           absl::StrCat(BytesText(volume.size_excluded_bytes),
                        " of candidates by --min-size or --max-size"));
  }
  if (volume.undecided_bytes.value_or(0) > 0) {
    AddRow(out, "left",
           absl::StrCat("about ", BytesText(*volume.undecided_bytes), " of candidates to look at"));
  }
  if (counters.extents_scanned.has_value()) {
    AddRow(out, "scanned",
           absl::StrCat(CountText(*counters.extents_scanned),
                        volume.incremental ? " extents that are new since the last scan, "
                                           : " extents (everything), ",
                        BytesOrUnknown(counters.bytes_scanned)));
  }
  if (counters.file_bytes_read.has_value()) {
    AddRow(out, "read", absl::StrCat(BytesText(*counters.file_bytes_read), " of file data"));
  }
  // What data freed and metadata took do not add up to in `df`.
  constexpr int64_t kGrowthWorthALine = 1 << 20;
  const int64_t grown = counters.metadata_bytes_grown.value_or(0);
  if (verbose ? grown != 0 : grown >= kGrowthWorthALine) {
    AddRow(out, "metadata",
           absl::StrCat(BytesText(std::abs(grown)), grown > 0 ? " more" : " less"));
  }
  if (verbose) {
    AddRow(out, "took",
           absl::StrCat(DurationText(absl::Seconds(volume.scan_seconds)), " to scan, ",
                        DurationText(absl::Seconds(volume.plan_seconds)), " to plan, ",
                        DurationText(absl::Seconds(volume.execute_seconds)), " to dedupe"));
    if (counters.dedupe_requests.has_value()) {
      AddRow(out, "requests", CountText(*counters.dedupe_requests));
    }
  }
  if (!volume.stopped_because.empty()) {
    AddRow(out, dry_run ? "would stop" : "stopped", EscapeText(volume.stopped_because));
  }
}

std::string QuietLine(const RunSummary& summary) {
  const RunCounters totals = Totals(summary.report);
  std::string line = absl::StrCat("onefold: ", OutcomeName(summary.report.outcome), ", ");
  if (summary.report.dry_run) {
    absl::StrAppend(&line, "would free about ", BytesOrUnknown(totals.bytes_freeable));
  } else {
    absl::StrAppend(&line, "freed ", BytesOrUnknown(totals.bytes_freed));
    if (!totals.bytes_freed.has_value() && totals.bytes_shared.has_value()) {
      absl::StrAppend(&line, ", shared ", BytesText(*totals.bytes_shared), " of files");
    }
  }
  if (totals.bytes_pinned.value_or(0) > 0) {
    absl::StrAppend(&line, ", pinned ", BytesText(*totals.bytes_pinned));
  }
  const int64_t problems = ProblemCount(summary.report);
  if (problems > 0) {
    absl::StrAppend(&line, ", ", CountText(problems), problems == 1 ? " problem" : " problems");
  }
  absl::StrAppend(&line, ", ", DurationText(summary.report.elapsed), "\n");
  return line;
}

}  // namespace

std::string SummaryText(const RunSummary& summary, Verbosity verbosity) {
  if (verbosity == Verbosity::kQuiet) return QuietLine(summary);
  const RunReport& report = summary.report;
  std::string out = absl::StrCat(Headline(summary), "\n");
  for (const VolumeReport& volume : report.volumes) {
    AddVolume(out, volume, report.dry_run, verbosity);
  }
  for (const std::string& path : summary.excluded_paths) {
    absl::StrAppend(&out, "Not looked at: ", Escape(path), " is excluded.\n");
  }
  if (report.foreign_mounts > 0) {
    absl::StrAppend(&out, "Left alone: ", CountText(report.foreign_mounts),
                    report.foreign_mounts == 1 ? " other filesystem" : " other filesystems",
                    " mounted below the given paths.\n");
    if (!report.foreign_btrfs.empty()) {
      absl::StrAppend(
          &out, "Of these, on btrfs (give them as paths, too, if they shall be deduped): ",
          absl::StrJoin(
              report.foreign_btrfs, " ",
              [](std::string* to, const std::string& point) { to->append(Escape(point)); }),
          "\n");
    }
  }
  if (report.dry_run) {
    out +=
        "A run shares data only after the kernel itself has compared every byte; no file is "
        "replaced,\nmoved or rewritten.\n";
  }
  if (summary.lifetime.has_value() && !report.dry_run &&
      summary.lifetime->bytes > Totals(report).bytes_freed.value_or(0)) {
    absl::StrAppend(&out, "All runs with this state directory freed ",
                    summary.lifetime->at_least ? "at least " : "",
                    BytesText(summary.lifetime->bytes), ".\n");
  }
  return out;
}

std::string ProblemText(const RunSummary& summary, Verbosity verbosity) {
  std::string out;
  size_t shown = 0;
  const auto add = [&](const Problem& problem) {
    if (verbosity != Verbosity::kVerbose && shown == kProblemsShownMax) return;
    ++shown;
    absl::StrAppend(&out, "onefold: ", Escape(problem.path), problem.path.empty() ? "" : ": ",
                    EscapeText(problem.reason), problem.detail.empty() ? "" : ": ",
                    EscapeText(problem.detail), "\n");
  };
  for (const Problem& problem : summary.report.problems) add(problem);
  for (const VolumeReport& volume : summary.report.volumes) {
    for (const Problem& problem : volume.problems) add(problem);
  }
  const int64_t more = ProblemCount(summary.report) - static_cast<int64_t>(shown);
  if (more > 0) {
    absl::StrAppend(&out, "onefold: and ", CountText(more),
                    more == 1 ? " problem more\n" : " problems more\n");
  }
  return out;
}

}  // namespace onefold
