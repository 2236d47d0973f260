#include "cli/dedupe_arguments.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/quantity.h"
#include "common/escape.h"

namespace onefold {

DedupeJob MakeJob(const DedupeArguments& arguments, const DedupeJob* stored,
                  absl::string_view working_directory) {
  DedupeJob job;
  if (stored != nullptr) job = *stored;
  if (!arguments.paths.empty()) {
    job.paths.clear();
    for (const std::string& path : arguments.paths) {
      job.paths.push_back(AbsolutePath(path, working_directory));
    }
  }
  if (arguments.exclude_patterns) job.exclude_patterns = *arguments.exclude_patterns;
  if (arguments.min_file_bytes) job.min_file_bytes = *arguments.min_file_bytes;
  if (arguments.max_file_bytes) job.max_file_bytes = *arguments.max_file_bytes;
  if (arguments.skip_readonly_subvolumes) {
    job.skip_readonly_subvolumes = *arguments.skip_readonly_subvolumes;
  }
  if (arguments.match_extents_only) job.match_extents_only = *arguments.match_extents_only;
  if (arguments.relocate) {
    job.relocate = *arguments.relocate;
    job.relocate_gain_min = 0;
  }
  if (arguments.relocate_gain_min) job.relocate_gain_min = *arguments.relocate_gain_min;
  if (arguments.thread_count) job.thread_count = *arguments.thread_count;
  if (arguments.max_time) job.max_time = *arguments.max_time;
  return job;
}

std::string JobText(const DedupeJob& job) {
  const auto escaped = [](std::string* out, const std::string& name) { *out += Escape(name); };
  std::vector<std::string> parts = {absl::StrJoin(job.paths, " ", escaped)};
  if (!job.exclude_patterns.empty()) {
    absl::StrAppend(&parts.back(), " without ", absl::StrJoin(job.exclude_patterns, " ", escaped));
  }
  if (job.min_file_bytes > 0) {
    parts.push_back(absl::StrCat("files of ", BytesText(job.min_file_bytes), " or more"));
  }
  if (job.max_file_bytes > 0) {
    parts.push_back(absl::StrCat("files of ", BytesText(job.max_file_bytes), " or less"));
  }
  if (job.skip_readonly_subvolumes) parts.push_back("no read-only subvolumes");
  if (job.match_extents_only) parts.push_back("--match=extents");
  if (job.relocate == Relocate::kNever) parts.push_back("--relocate=never");
  if (job.relocate == Relocate::kAll) parts.push_back("--relocate=all");
  if (job.relocate_gain_min > 0) {
    parts.push_back(absl::StrCat("--relocate-gain=", job.relocate_gain_min));
  }
  if (job.max_time > absl::ZeroDuration()) {
    parts.push_back(absl::StrCat("for ", DurationText(job.max_time), " at most"));
  }
  return absl::StrJoin(parts, ", ");
}

std::string AbsolutePath(absl::string_view path, absl::string_view working_directory) {
  const std::string whole =
      absl::StartsWith(path, "/") ? std::string(path) : absl::StrCat(working_directory, "/", path);
  std::string clean;
  for (const absl::string_view part : absl::StrSplit(whole, '/')) {
    if (!part.empty() && part != ".") absl::StrAppend(&clean, "/", part);
  }
  return clean.empty() ? "/" : clean;
}

std::string DefaultStateDirectory(bool is_root, absl::string_view xdg_state_home,
                                  absl::string_view home) {
  if (is_root) return "/var/lib/onefold";
  if (absl::StartsWith(xdg_state_home, "/")) return AbsolutePath("onefold", xdg_state_home);
  if (absl::StartsWith(home, "/")) return AbsolutePath(".local/state/onefold", home);
  return "";
}

}  // namespace onefold
