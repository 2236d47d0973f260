// What was typed after `onefold dedupe`, and what follows from it. Pure.

#ifndef ONEFOLD_CLI_DEDUPE_ARGUMENTS_H_
#define ONEFOLD_CLI_DEDUPE_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/report_text.h"

namespace onefold {

enum class ProgressMode { kAuto, kPlain, kJson, kNone };

// What is written anew so that more can be freed. Stored by number.
enum class Relocate { kTails = 0, kAll = 1, kNever = 2 };

// What a run works on and how: kept for a run without paths.
struct DedupeJob {
  std::vector<std::string> paths;  // absolute
  std::vector<std::string> exclude_patterns;
  int64_t min_file_bytes = 0;
  int64_t max_file_bytes = 0;  // 0: no limit
  bool skip_readonly_subvolumes = false;
  bool match_extents_only = false;
  Relocate relocate = Relocate::kTails;
  double relocate_gain_min = 0;  // 0: that of the mode
  int thread_count = 0;          // 0: chosen by the program
  absl::Duration max_time;       // zero: no limit
};

// As typed; what is unset was not.
struct DedupeArguments {
  std::vector<std::string> paths;
  std::optional<std::vector<std::string>> exclude_patterns;
  std::optional<int64_t> min_file_bytes;
  std::optional<int64_t> max_file_bytes;
  std::optional<bool> skip_readonly_subvolumes;
  std::optional<bool> match_extents_only;
  std::optional<Relocate> relocate;
  std::optional<double> relocate_gain_min;
  std::optional<int> thread_count;
  std::optional<absl::Duration> max_time;

  // Never kept.
  bool dry_run = false;
  bool full = false;
  bool json = false;
  ProgressMode progress = ProgressMode::kAuto;
  Verbosity verbosity = Verbosity::kNormal;
  std::string state_directory;  // empty: the default
};

// The job: options from the command line, the others from `stored` (the job of the last run), or
// their defaults if there is none. Relative paths are seen from `working_directory`.
DedupeJob MakeJob(const DedupeArguments& arguments, const DedupeJob* stored,
                  absl::string_view working_directory);

// The job in words, for a run that nobody typed: "/srv/data without *.iso, files of 64.0 KiB or
// more". Names are escaped.
std::string JobText(const DedupeJob& job);

// `path` seen from `working_directory`, without doubled slashes and "." parts; ".." and symlinks
// are left for the system to follow.
std::string AbsolutePath(absl::string_view path, absl::string_view working_directory);

// Where the state lives when nobody says: /var/lib/onefold for root, else below `xdg_state_home`
// or, if that is not absolute (as its specification asks), `home`; empty if there is no place.
std::string DefaultStateDirectory(bool is_root, absl::string_view xdg_state_home,
                                  absl::string_view home);

}  // namespace onefold

#endif  // ONEFOLD_CLI_DEDUPE_ARGUMENTS_H_
