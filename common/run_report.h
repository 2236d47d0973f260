// What one run did: plain values that the worker fills in and the cli prints (`onefold.run.v1`).
//
// Figures are true or absent: nullopt means "not known", never 0.

#ifndef ONEFOLD_COMMON_RUN_REPORT_H_
#define ONEFOLD_COMMON_RUN_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace onefold {

// How a run ended.
enum class RunOutcome {
  kCompleted,    // everything that was asked
  kIncomplete,   // less than asked; `problems` name what
  kTimeLimit,    // --max-time ended it cleanly
  kInterrupted,  // a signal ended it
  kRefused,      // nothing was done; a message says why
};

// Something that a person should look at. `path` and `detail` are raw bytes: escape when printing.
struct Problem {
  std::string reason;  // a short word: "read-only mount", "missing", "read error", …
  std::string path;    // what it is about; may be empty
  std::string detail;  // a sentence with what to do
};

// What would be or was done, as a sample for people (dry runs, -v).
struct Example {
  std::string source;       // path of the file that stays as it is
  std::string destination;  // path of the file whose extent is dropped
  int64_t bytes = 0;        // on-disk bytes that this frees
};

// Counters of one volume, or the sum over volumes.
struct RunCounters {
  std::optional<int64_t> extents_total;         // in the index after the run
  std::optional<int64_t> extents_scanned;       // fingerprinted in this run
  std::optional<int64_t> bytes_scanned;         // on-disk bytes of those
  std::optional<int64_t> file_bytes_read;       // file data the program read
  std::optional<int64_t> dedupe_requests;       // (source, destination) pairs given to the kernel
  std::optional<int64_t> bytes_shared;          // file bytes of references that were moved
  std::optional<int64_t> bytes_freed;           // on-disk bytes of dropped extents that are gone
  std::optional<int64_t> bytes_written;         // by relocation
  std::optional<int64_t> bytes_relocatable;     // what more relocation would have freed
  std::optional<int64_t> bytes_pinned;          // on-disk bytes of extents left alone
  std::map<std::string, int64_t> pinned_by;     // holder → bytes
  std::optional<int64_t> metadata_bytes_grown;  // on disk, copies of the profile counted
  std::map<std::string, int64_t> skipped;       // reason → extents
  // Dry runs: on-disk bytes a real run would free at most.
  std::optional<int64_t> bytes_freeable;
  // Dry runs: bytes of files that a real run would share at most.
  std::optional<int64_t> bytes_shareable;
};

// One filesystem.
struct VolumeReport {
  std::string uuid;   // text form
  std::string mount;  // a path it was reached through, raw bytes
  bool incremental = false;
  // Its directories were walked, because its trees are closed to us: what is freed is not known.
  bool walked = false;
  RunCounters counters;
  // At most kProblemsListedMax; problems_total counts all.
  std::vector<Problem> problems;
  int64_t problems_total = 0;
  std::vector<Example> examples;
  // A line for people about why the volume's work ended early; empty if it did not.
  std::string stopped_because;
  // --exclude pattern as typed → on-disk bytes of candidates it held back.
  std::map<std::string, int64_t> excluded_bytes;
  // The same for --min-size and --max-size.
  int64_t size_excluded_bytes = 0;
  // On-disk bytes of candidates that a run which was stopped has not decided on, about.
  std::optional<int64_t> undecided_bytes;
  double scan_seconds = 0;
  double plan_seconds = 0;
  double execute_seconds = 0;
};

inline constexpr size_t kProblemsListedMax = 100;
inline constexpr size_t kForeignMountsListedMax = 20;

// Counts `problem`, lists it if there is room.
inline void AddProblem(VolumeReport& report, Problem problem) {
  ++report.problems_total;
  if (report.problems.size() < kProblemsListedMax) report.problems.push_back(std::move(problem));
}

struct RunReport {
  std::string run_id;
  RunOutcome outcome = RunOutcome::kCompleted;
  bool dry_run = false;
  absl::Time started_at;
  absl::Duration elapsed;
  std::vector<VolumeReport> volumes;
  // Problems that belong to no volume (a missing path, a filesystem that is not btrfs).
  std::vector<Problem> problems;
  // Mounts of other filesystems below the given paths, left alone.
  int64_t foreign_mounts = 0;
  // Mount points of those that are btrfs, the first kForeignMountsListedMax, raw bytes.
  std::vector<std::string> foreign_btrfs;
};

}  // namespace onefold

#endif  // ONEFOLD_COMMON_RUN_REPORT_H_
