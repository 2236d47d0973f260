#include "cli/view/view_text.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/fleet/admin_text.h"
#include "cli/fleet/admin_words.h"
#include "cli/fleet/table.h"
#include "cli/quantity.h"
#include "cli/view/view_words.h"
#include "common/escape.h"

namespace onefold {
namespace {

constexpr int kMatrixMembersMax = 8;
constexpr int kHoldersShownMax = 4;
constexpr int kAttentionShownMax = 10;
constexpr int kRunsShownMax = 8;
constexpr int kDueShownMax = 5;

std::string BytesOrDash(bool has, int64_t bytes) { return has ? BytesText(bytes) : "-"; }

std::string FreedText(const v1::SpaceFigures& space) {
  if (!space.has_freed_bytes()) return "-";
  return absl::StrCat(space.freed_at_least() ? "at least " : "", BytesText(space.freed_bytes()));
}

std::string UsedText(const v1::SpaceFigures& space) {
  if (!space.has_used_bytes() && !space.has_size_bytes()) return "-";
  return absl::StrCat(BytesOrDash(space.has_used_bytes(), space.used_bytes()), " of ",
                      BytesOrDash(space.has_size_bytes(), space.size_bytes()));
}

std::string WhenOrDash(bool has, const google::protobuf::Timestamp& time, absl::Time now) {
  return has ? WhenText(TimeOf(time), now) : "-";
}

std::string Coloured(const std::string& text, absl::string_view code, bool colour) {
  return colour ? absl::StrCat("\x1b[", code, "m", text, "\x1b[0m") : text;
}

absl::string_view ColourOf(v1::Attention::Severity severity) {
  switch (severity) {
    case v1::Attention::SEVERITY_ERROR: return "31";
    case v1::Attention::SEVERITY_WARNING: return "33";
    default: return "36";
  }
}

// "snapshots 1.2 GiB, others 3 MiB", the largest first.
std::string HoldersText(const v1::SpaceFigures& space) {
  std::vector<std::pair<int64_t, std::string>> holders;
  for (const auto& [holder, bytes] : space.pinned_by()) holders.emplace_back(-bytes, holder);
  std::sort(holders.begin(), holders.end());
  std::vector<std::string> parts;
  for (const auto& [bytes, holder] : holders) {
    if (parts.size() == kHoldersShownMax) break;
    parts.push_back(absl::StrCat(Escape(holder), " ", BytesText(-bytes)));
  }
  if (holders.size() > parts.size()) parts.push_back("others");
  return absl::StrJoin(parts, ", ");
}

std::string HealthText(const v1::GetSummaryResponse& summary, bool colour) {
  if (summary.attention_count() == 0) return Coloured("nothing is wrong", "32", colour);
  v1::Attention::Severity worst = v1::Attention::SEVERITY_NOTICE;
  for (const v1::Attention& each : summary.attention()) worst = std::max(worst, each.severity());
  return Coloured(absl::StrCat(CountText(summary.attention_count()),
                               summary.attention_count() == 1 ? " thing" : " things",
                               " to look at, the worst: ", SeverityWord(worst)),
                  ColourOf(worst), colour);
}

std::string MoreText(int64_t count) {
  return count > 0 ? absl::StrCat("  and ", CountText(count), " more\n") : "";
}

std::string WhatRunsText(const v1::GetSummaryResponse& summary) {
  std::string text = absl::StrCat("Runs      ", CountText(summary.running_count()), " running, ",
                                  CountText(summary.waiting_count()), " waiting\n");
  const int shown = std::min(summary.active_runs_size(), kRunsShownMax);
  for (int i = 0; i < shown; ++i) {
    absl::StrAppend(&text, "  ", RunLine(summary.active_runs(i)), "\n");
  }
  return text + MoreText(int64_t{summary.running_count()} + summary.waiting_count() - shown);
}

std::string WhatIsNextText(const v1::GetSummaryResponse& summary, absl::Time now) {
  if (summary.next().empty()) return "Next      nothing is scheduled\n";
  std::string text = "Next\n";
  for (int i = 0; i < std::min(summary.next_size(), kDueShownMax); ++i) {
    const v1::ScheduleEntry& entry = summary.next(i);
    absl::StrAppend(&text, "  ", WhenOrDash(entry.has_due_time(), entry.due_time(), now), ": ",
                    Escape(entry.policy()), " on ", CountText(entry.volume_count()),
                    entry.volume_count() == 1 ? " volume\n" : " volumes\n");
  }
  return text;
}

std::string WhatIsWrongText(const v1::GetSummaryResponse& summary, bool colour) {
  if (summary.attention().empty()) return "";
  std::string text = "Look at\n";
  const int shown = std::min(summary.attention_size(), kAttentionShownMax);
  for (int i = 0; i < shown; ++i) {
    const v1::Attention& each = summary.attention(i);
    absl::StrAppend(&text, "  ",
                    Coloured(SeverityWord(each.severity()), ColourOf(each.severity()), colour),
                    ": ", EscapeText(each.text()), "\n");
  }
  return text + MoreText(summary.attention_count() - shown);
}

std::string SpaceText(const v1::GetSummaryResponse& summary, absl::Time now) {
  const v1::SpaceFigures& total = summary.total();
  std::string text = absl::StrCat(
      "Freed     ", FreedText(total), "\nWaits     ",
      BytesOrDash(total.has_waiting_bytes(), total.waiting_bytes()), " of new data for a run\n",
      "Copies    ", BytesOrDash(total.has_duplicate_bytes(), total.duplicate_bytes()));
  if (total.has_duplicates_time()) {
    absl::StrAppend(&text, " could be freed at most (counted ",
                    WhenText(TimeOf(total.duplicates_time()), now), ")");
  }
  absl::StrAppend(&text, "\nPinned    ",
                  BytesOrDash(total.has_pinned_bytes(), total.pinned_bytes()));
  const std::string holders = HoldersText(total);
  if (!holders.empty()) absl::StrAppend(&text, ": ", holders);
  absl::StrAppend(&text, "\n");
  if (total.incomplete()) text += "          (sums of what is known: not all volumes are)\n";
  return text;
}

std::string MemberName(const v1::GetOverlapResponse::Member& member) {
  return member.host_name().empty() ? member.name()
                                    : absl::StrCat(member.host_name(), ":", member.name());
}

std::string MatrixText(const v1::GetOverlapResponse& overlap, int cell_columns_max) {
  const int count = overlap.members_size();
  std::vector<std::string> header = {"", "VOLUME", "DISTINCT", "SHARED"};
  for (int i = 0; i < count; ++i) header.push_back(absl::StrCat("[", i + 1, "]"));
  std::map<std::pair<int, int>, int64_t> shared;
  for (const auto& pair : overlap.pairs()) {
    shared[{pair.first(), pair.second()}] = shared[{pair.second(), pair.first()}] =
        pair.shared_bytes();
  }
  Table table(header, cell_columns_max);
  for (int i = 0; i < count; ++i) {
    const auto& member = overlap.members(i);
    std::vector<std::string> row = {absl::StrCat("[", i + 1, "]"), MemberName(member),
                                    BytesText(member.distinct_bytes()),
                                    BytesText(member.shared_bytes())};
    for (int j = 0; j < count; ++j) {
      const auto found = shared.find({i, j});
      // A pair that is not listed shares nothing, unless pairs were left out.
      row.push_back(i == j                  ? "."
                    : found != shared.end() ? BytesText(found->second)
                    : overlap.truncated()   ? "-"
                                            : "0 B");
    }
    table.AddRow(row);
  }
  return table.Text();
}

std::string PairsText(const v1::GetOverlapResponse& overlap, int cell_columns_max) {
  Table table({"VOLUME", "AND", "SHARED"}, cell_columns_max);
  const auto known = [&](int index) { return index >= 0 && index < overlap.members_size(); };
  for (const auto& pair : overlap.pairs()) {
    if (!known(pair.first()) || !known(pair.second())) continue;
    table.AddRow({MemberName(overlap.members(pair.first())),
                  MemberName(overlap.members(pair.second())), BytesText(pair.shared_bytes())});
  }
  return table.empty() ? "No two volumes share data.\n" : table.Text();
}

}  // namespace

std::string StatusText(const v1::GetSummaryResponse& summary, const std::string& source,
                       bool is_still, const ViewStyle& style) {
  return absl::StrCat("onefold   ", Escape(source), summary.version().empty() ? "" : ", version ",
                      Escape(summary.version()), is_still ? " (no process serves it)" : "",
                      "\nHealth    ", HealthText(summary, style.colour), "\nHosts     ",
                      CountText(summary.host_count()), ", ",
                      CountText(summary.connected_host_count()), " connected\nVolumes   ",
                      CountText(summary.volume_count()), ", used ", UsedText(summary.total()), "\n",
                      SpaceText(summary, style.now), WhatRunsText(summary),
                      WhatIsNextText(summary, style.now), WhatIsWrongText(summary, style.colour));
}

std::string VolumesText(const std::vector<v1::Volume>& volumes, const ViewStyle& style) {
  if (volumes.empty()) return "No volume is known.\n";
  Table table(
      {"VOLUME", "UUID", "HOST", "USED", "FREED", "WAITS", "COPIES", "PINNED", "LAST RUN", "NEXT"},
      style.cell_columns_max);
  std::string troubles;
  for (const v1::Volume& volume : volumes) {
    const v1::SpaceFigures& space = volume.space();
    table.AddRow({volume.name().empty() ? "-" : volume.name(), volume.uuid().substr(0, 8),
                  volume.host_name().empty() ? volume.host_id() : volume.host_name(),
                  UsedText(space), FreedText(space),
                  BytesOrDash(space.has_waiting_bytes(), space.waiting_bytes()),
                  BytesOrDash(space.has_duplicate_bytes(), space.duplicate_bytes()),
                  BytesOrDash(space.has_pinned_bytes(), space.pinned_bytes()),
                  volume.has_active_run() ? StateWord(volume.active_run().state())
                                          : WhenOrDash(volume.last_run().has_end_time(),
                                                       volume.last_run().end_time(), style.now),
                  WhenOrDash(volume.has_next_due_time(), volume.next_due_time(), style.now)});
    if (!volume.trouble().empty()) {
      absl::StrAppend(&troubles, Escape(volume.name()), ": ", EscapeText(volume.trouble()), "\n");
    }
  }
  return table.Text() + troubles;
}

std::string RunText(const v1::GetRunResponse& response,
                    const std::map<std::string, std::string>& host_names, const ViewStyle& style) {
  const v1::Run& run = response.run();
  std::string text = RunsText({run}, host_names, style.now, style.cell_columns_max);
  absl::StrAppend(&text, "Run       ", Escape(run.run_id()), "\n");
  if (response.has_waiting_bytes()) {
    absl::StrAppend(&text, "Waits     ", BytesText(response.waiting_bytes()),
                    " of new data on its volume\n");
  }
  return text + RunEndText(run);
}

std::string DuplicatesText(const v1::ListDuplicatesResponse& duplicates, const ViewStyle& style) {
  if (!duplicates.has_time()) {
    return "The copies were not counted yet. It is done beside the work: ask again.\n";
  }
  std::string text =
      absl::StrCat(BytesOrDash(duplicates.has_duplicate_bytes(), duplicates.duplicate_bytes()),
                   " in ", duplicates.has_group_count() ? CountText(duplicates.group_count()) : "-",
                   duplicates.group_count() == 1 ? " group" : " groups", ", counted ",
                   WhenText(TimeOf(duplicates.time()), style.now), "\n");
  if (duplicates.groups().empty()) return text;
  Table table({"CONTENT", "EXTENT", "COPIES", "TOO MUCH"}, style.cell_columns_max);
  for (const v1::DuplicateGroup& group : duplicates.groups()) {
    const std::string digest = absl::StrFormat("%016x", group.digest());
    table.AddRow({digest, BytesText(group.extent_bytes()), CountText(group.copy_count()),
                  BytesText(group.duplicate_bytes())});
  }
  absl::StrAppend(&text, table.Text());
  return text;
}

std::string OverlapText(const v1::GetOverlapResponse& overlap, const ViewStyle& style) {
  if (!overlap.has_time()) {
    return "The overlap was not computed yet. It is done beside the work: ask again.\n";
  }
  if (overlap.members().empty()) return "No volume has an index yet.\n";
  std::string text = overlap.members_size() <= kMatrixMembersMax
                         ? MatrixText(overlap, style.cell_columns_max)
                         : PairsText(overlap, style.cell_columns_max);
  if (overlap.everywhere_bytes() > 0) {
    absl::StrAppend(&text, BytesText(overlap.everywhere_bytes()), " lie on ",
                    CountText(overlap.everywhere_volume_count()),
                    " volumes or more, and are not in the pairs.\n");
  }
  if (overlap.truncated()) text += "Only the largest pairs are shown.\n";
  if (overlap.mixed_checksums()) {
    text += "Volumes whose checksums are of different kinds cannot be compared.\n";
  }
  return absl::StrCat(text, "Computed ", WhenText(TimeOf(overlap.time()), style.now), ".\n");
}

std::string HistoryText(const v1::GetHistoryResponse& history, const ViewStyle& style) {
  if (history.points().empty()) return "Nothing is known of the past yet.\n";
  Table table({"TIME", "USED", "FREED", "WAITS", "PINNED"}, style.cell_columns_max);
  for (const v1::HistoryPoint& point : history.points()) {
    table.AddRow({point.has_time() ? TimeWord(TimeOf(point.time())) : "-",
                  BytesOrDash(point.has_used_bytes(), point.used_bytes()),
                  BytesOrDash(point.has_freed_bytes(), point.freed_bytes()),
                  BytesOrDash(point.has_waiting_bytes(), point.waiting_bytes()),
                  BytesOrDash(point.has_pinned_bytes(), point.pinned_bytes())});
  }
  return absl::StrCat(table.Text(), history.freed_at_least()
                                        ? "A run ended without figures: more may have been freed.\n"
                                        : "");
}

}  // namespace onefold
