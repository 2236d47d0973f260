#include "cli/fleet/admin_text.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/fleet/admin_words.h"
#include "cli/fleet/table.h"
#include "cli/quantity.h"
#include "common/escape.h"

namespace onefold {
namespace {

constexpr size_t kRunIdLengthMin = 8;
constexpr int kProblemsShownMax = 20;

std::string VolumeName(const v1::MountedVolume& volume) {
  if (!volume.label().empty()) return volume.label();
  return UuidWord(volume.volume_uuid()).substr(0, 8);
}

std::string AllowedText(const v1::MountedVolume& volume) {
  if (!volume.trouble().empty()) return volume.trouble();
  if (volume.duplicate_uuid()) return "mounted twice: two filesystems with one uuid";
  if (volume.allowed_roots().empty()) return "nothing";
  return absl::StrJoin(volume.allowed_roots(), " ");
}

std::string StateText(const v1::Host& host) {
  const std::string state = StateWord(host.state());
  return host.drained() && host.state() != v1::Host::STATE_DRAINED
             ? absl::StrCat(state, ", drained")
             : state;
}

// What a run has done so far, or is held up by: a few words.
std::string ProgressText(const v1::Run& run) {
  const v1::RunStatus& status = run.status();
  const v1::RunFigures& figures = status.figures();
  std::vector<std::string> parts;
  if (run.state() == v1::RUN_STATE_WAITING) {
    parts.push_back(run.waits_for().empty() ? "waits" : absl::StrCat("waits: ", run.waits_for()));
  } else if (run.state() == v1::RUN_STATE_RUNNING) {
    const double fraction = status.phase_fraction();
    const int percent =
        std::isfinite(fraction) ? static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 100) : 0;
    parts.push_back(status.phase() == v1::RUN_PHASE_UNSPECIFIED
                        ? "starting"
                        : absl::StrCat(PhaseWord(status.phase()), " ", percent, " %"));
  } else {
    parts.push_back(StateWord(run.state()));
  }
  if (run.dry_run()) {
    if (figures.has_bytes_expected()) {
      parts.push_back(absl::StrCat("would free ", BytesText(figures.bytes_expected())));
    }
  } else if (figures.has_bytes_freed()) {
    parts.push_back(absl::StrCat("freed ", BytesText(figures.bytes_freed())));
  }
  if (status.problem_count() > 0) {
    parts.push_back(absl::StrCat(CountText(status.problem_count()),
                                 status.problem_count() == 1 ? " problem" : " problems"));
  }
  std::string text = absl::StrJoin(parts, ", ");
  const std::string& held_up =
      status.throttled_by().empty() ? status.message() : status.throttled_by();
  if (!held_up.empty() && run.state() == v1::RUN_STATE_RUNNING) {
    absl::StrAppend(&text, " (", held_up, ")");
  }
  return text;
}

std::string BytesOrUnknown(bool has, int64_t bytes) {
  return has ? BytesText(bytes) : "an unknown amount";
}

}  // namespace

std::string WhenText(absl::Time time, absl::Time now) {
  if (time == absl::InfinitePast() || time == absl::InfiniteFuture()) return "never";
  const absl::Duration ago = now - time;
  if (ago >= absl::ZeroDuration()) return absl::StrCat(DurationText(ago), " ago");
  return absl::StrCat("in ", DurationText(-ago));
}

std::string HostsText(const std::vector<v1::Host>& hosts, absl::Time now, int cell_columns_max) {
  if (hosts.empty()) {
    return "No host has joined yet. A token for the first one:  onefold fleet token create\n";
  }
  Table table({"HOST", "STATE", "SEEN", "VERSION", "VOLUME", "MOUNTED AT", "USED", "MAY TOUCH"},
              cell_columns_max);
  for (const v1::Host& host : hosts) {
    std::vector<std::string> row = {
        host.display_name().empty() ? host.host_id() : host.display_name(), StateText(host),
        WhenText(host.has_last_seen_time() ? TimeOf(host.last_seen_time()) : absl::InfinitePast(),
                 now),
        host.version()};
    const size_t host_cells = row.size();
    if (host.volumes().empty()) {
      row.insert(row.end(), {"none", "", "", ""});
      table.AddRow(row);
    }
    for (const v1::MountedVolume& volume : host.volumes()) {
      row.insert(
          row.end(),
          {VolumeName(volume), volume.mount_paths().empty() ? "" : volume.mount_paths(0),
           absl::StrCat(BytesText(volume.used_bytes()), " of ", BytesText(volume.size_bytes())),
           AllowedText(volume)});
      table.AddRow(row);
      row.assign(host_cells, "");
    }
  }
  std::string text = table.Text();
  for (const v1::Host& host : hosts) {
    for (const std::string& advice : host.advice()) {
      absl::StrAppend(&text, Escape(host.display_name()), ": ", EscapeText(advice), "\n");
    }
  }
  return text;
}

std::string PoliciesText(const std::vector<v1::Policy>& policies, absl::Time now,
                         int cell_columns_max) {
  if (policies.empty()) {
    return "There is no policy, so nothing runs by itself. Make one:  onefold policy apply FILE\n";
  }
  Table table({"POLICY", "VOLUMES", "NEXT"}, cell_columns_max);
  for (const v1::Policy& policy : policies) {
    table.AddRow({policy.name(), CountText(policy.volume_count()),
                  policy.has_next_due_time() ? WhenText(TimeOf(policy.next_due_time()), now)
                                             : "only by hand"});
  }
  return table.Text();
}

std::string PolicyChangesText(const v1::ApplyPoliciesResponse& changes) {
  std::string text;
  for (const auto& change : changes.changes()) {
    absl::StrAppend(&text, Escape(change.name()), ": ", KindWord(change.kind()), "\n");
    if (change.kind() != v1::ApplyPoliciesResponse::Change::KIND_UNCHANGED) {
      for (const absl::string_view line : absl::StrSplit(change.diff(), '\n')) {
        if (!line.empty()) absl::StrAppend(&text, "  ", EscapeText(line), "\n");
      }
    }
    if (change.selected_volumes().empty()) {
      text += "  It selects no volume that is known now.\n";
    } else {
      absl::StrAppend(&text, "  Volumes:\n");
      for (const std::string& volume : change.selected_volumes()) {
        absl::StrAppend(&text, "    ", Escape(volume), "\n");
      }
    }
  }
  return text;
}

size_t RunIdLength(const std::vector<v1::Run>& runs) {
  std::vector<absl::string_view> ids;
  for (const v1::Run& run : runs) ids.push_back(run.run_id());
  std::sort(ids.begin(), ids.end());
  size_t length = kRunIdLengthMin;
  for (size_t i = 1; i < ids.size(); ++i) {
    const size_t end = std::min(ids[i - 1].size(), ids[i].size());
    const auto differ =
        std::mismatch(ids[i].begin(), ids[i].begin() + end, ids[i - 1].begin()).first;
    length = std::max(length, static_cast<size_t>(differ - ids[i].begin()) + 1);
  }
  return length;
}

std::string RunsText(const std::vector<v1::Run>& runs,
                     const std::map<std::string, std::string>& host_names, absl::Time now,
                     int cell_columns_max) {
  const size_t id_length = RunIdLength(runs);
  Table table({"RUN", "STATE", "VOLUME", "HOST", "POLICY", "CREATED", "PROGRESS"},
              cell_columns_max);
  for (const v1::Run& run : runs) {
    const auto host = host_names.find(run.host_id());
    table.AddRow({run.run_id().substr(0, id_length),
                  absl::StrCat(StateWord(run.state()), run.dry_run() ? " (dry)" : ""),
                  run.volume_name(), host == host_names.end() ? run.host_id() : host->second,
                  run.policy().empty() ? "by hand" : run.policy(),
                  run.has_create_time() ? WhenText(TimeOf(run.create_time()), now) : "",
                  ProgressText(run)});
  }
  return table.Text();
}

std::string RunLine(const v1::Run& run) {
  return absl::StrCat(Escape(run.volume_name()), ": ", EscapeText(ProgressText(run)));
}

std::string RunEndText(const v1::Run& run) {
  const v1::RunStatus& status = run.status();
  const v1::RunFigures& figures = status.figures();
  const std::string took =
      status.has_elapsed() ? absl::StrCat(" in ", DurationText(DurationOf(status.elapsed()))) : "";
  std::string text =
      absl::StrCat(Escape(run.volume_name()), ": ", StateWord(run.state()), took, "\n");
  if (!status.message().empty()) absl::StrAppend(&text, "  ", EscapeText(status.message()), "\n");
  if (run.dry_run()) {
    absl::StrAppend(&text, "  would free  ",
                    BytesOrUnknown(figures.has_bytes_expected(), figures.bytes_expected()),
                    "; nothing was changed\n");
  } else if (run.has_start_time()) {
    absl::StrAppend(
        &text, "  freed       ", BytesOrUnknown(figures.has_bytes_freed(), figures.bytes_freed()),
        " on disk\n", "  shared      ",
        BytesOrUnknown(figures.has_bytes_shared(), figures.bytes_shared()), " of files\n");
  }
  if (figures.bytes_pinned() > 0) {
    absl::StrAppend(&text, "  pinned      ", BytesText(figures.bytes_pinned()),
                    " have a copy, but giving them up would free nothing now\n");
  }
  for (int i = 0; i < std::min(status.problems_size(), kProblemsShownMax); ++i) {
    const v1::RunProblem& problem = status.problems(i);
    absl::StrAppend(&text, "  problem     ", Escape(problem.path()),
                    problem.path().empty() ? "" : ": ", EscapeText(problem.reason()),
                    problem.detail().empty() ? "" : ": ", EscapeText(problem.detail()), "\n");
  }
  const int64_t more = status.problem_count() - std::min(status.problems_size(), kProblemsShownMax);
  if (more > 0) absl::StrAppend(&text, "  and ", CountText(more), " problems more\n");
  return text;
}

}  // namespace onefold
