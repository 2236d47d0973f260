#include "coordinator/fleet/policy.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "common/yaml_tree.h"

namespace onefold::fleet {
namespace {

constexpr size_t kNameBytesMax = 64;

std::string SizeText(int64_t bytes) {
  constexpr absl::string_view kUnits[] = {"", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrCat(bytes, kUnits[unit]);
}

std::string SpanText(absl::Duration span) {
  if (span % absl::Seconds(1) != absl::ZeroDuration()) {
    return absl::StrCat(absl::ToInt64Milliseconds(span), "ms");
  }
  const int64_t seconds = absl::ToInt64Seconds(span);
  if (seconds % 3600 == 0) return absl::StrCat(seconds / 3600, "h");
  if (seconds % 60 == 0) return absl::StrCat(seconds / 60, "m");
  return absl::StrCat(seconds, "s");
}

// Writes keys one after another.
class YamlWriter {
 public:
  explicit YamlWriter(std::string indent) : indent_(std::move(indent)) {}

  void Raw(absl::string_view key, absl::string_view value) {
    absl::StrAppend(&text_, indent_, key, ": ", value, "\n");
  }
  void Text(absl::string_view key, absl::string_view value) {
    if (!value.empty()) Raw(key, YamlScalar(value));
  }
  void Number(absl::string_view key, int64_t value) {
    if (value != 0) Raw(key, absl::StrCat(value));
  }
  void Size(absl::string_view key, int64_t value) {
    if (value != 0) Raw(key, SizeText(value));
  }
  void Span(absl::string_view key, absl::Duration value) {
    if (value != absl::ZeroDuration()) Raw(key, SpanText(value));
  }
  template <typename List>
  void Texts(absl::string_view key, const List& values) {
    if (values.size() == 0) return;
    absl::StrAppend(&text_, indent_, key, ":\n");
    for (const auto& value : values) {
      absl::StrAppend(&text_, indent_, "  - ", YamlScalar(value), "\n");
    }
  }
  void Map(absl::string_view key, const YamlWriter& inner) {
    if (!inner.text_.empty()) absl::StrAppend(&text_, indent_, key, ":\n", inner.text_);
  }
  const std::string& text() const { return text_; }

 private:
  const std::string indent_;
  std::string text_;
};

// One value stands beside its key, more below it.
template <typename Item>
void WriteOneOrMore(YamlWriter& to, absl::string_view key, const std::vector<Item>& items) {
  std::vector<std::string> texts;
  for (const Item& item : items) texts.push_back(item.text());
  if (texts.size() == 1) {
    to.Text(key, texts.front());
  } else {
    to.Texts(key, texts);
  }
}

}  // namespace

bool IsPolicyName(absl::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax || !absl::ascii_isalnum(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '.' || c == '_' || c == '-';
  });
}

bool Policy::Selects(const Selector::Subject& subject) const {
  return std::any_of(select.begin(), select.end(),
                     [&](const Selector& selector) { return selector.Matches(subject); });
}

std::string CanonicalYaml(const Policy& policy) {
  const v1::RunThrottle& hard = policy.throttle;
  YamlWriter throttle("  ");
  throttle.Number("threads", hard.thread_count());
  throttle.Size("read_per_second", hard.read_bytes_per_second());
  throttle.Number("operations_per_second", hard.requests_per_second());
  if (hard.load_max() != 0) throttle.Raw("load", absl::StrCat(hard.load_max()));
  throttle.Span("latency", absl::Seconds(hard.device_latency_max().seconds()) +
                               absl::Nanoseconds(hard.device_latency_max().nanos()));
  YamlWriter at_once("  ");
  at_once.Number("hosts", policy.at_once.hosts);
  at_once.Text("group", policy.at_once.group);
  at_once.Number("per_group", policy.at_once.per_group);

  YamlWriter to("");
  to.Text("name", policy.name);
  WriteOneOrMore(to, "select", policy.select);
  to.Texts("roots", policy.scope.roots());
  to.Texts("excludes", policy.scope.excludes());
  to.Size("min_size", policy.scope.min_file_bytes());
  to.Size("max_size", policy.scope.max_file_bytes());
  if (policy.scope.skip_readonly_subvolumes()) to.Raw("snapshots", "skip");
  if (policy.scope.match_extents_only()) to.Raw("match", "extents");
  if (policy.schedule) to.Text("schedule", policy.schedule->cron().text());
  to.Text("time_zone", policy.time_zone);
  WriteOneOrMore(to, "window", policy.windows);
  to.Span("jitter", policy.jitter);
  to.Number("priority", policy.priority);
  to.Map("throttle", throttle);
  to.Map("at_once", at_once);
  return to.text();
}

std::string DiffLines(absl::string_view before, absl::string_view after) {
  const std::vector<absl::string_view> old_lines = absl::StrSplit(before, '\n', absl::SkipEmpty());
  const std::vector<absl::string_view> new_lines = absl::StrSplit(after, '\n', absl::SkipEmpty());
  // common[i][k]: the longest common subsequence of the lines from i and from k on.
  std::vector<std::vector<int>> common(old_lines.size() + 1,
                                       std::vector<int>(new_lines.size() + 1, 0));
  for (size_t i = old_lines.size(); i-- > 0;) {
    for (size_t k = new_lines.size(); k-- > 0;) {
      common[i][k] = old_lines[i] == new_lines[k] ? common[i + 1][k + 1] + 1
                                                  : std::max(common[i + 1][k], common[i][k + 1]);
    }
  }
  std::string diff;
  size_t i = 0;
  size_t k = 0;
  while (i < old_lines.size() || k < new_lines.size()) {
    const bool both = i < old_lines.size() && k < new_lines.size();
    if (both && old_lines[i] == new_lines[k]) {
      absl::StrAppend(&diff, " ", old_lines[i], "\n");
      ++i;
      ++k;
    } else if (k == new_lines.size() || (both && common[i + 1][k] >= common[i][k + 1])) {
      absl::StrAppend(&diff, "-", old_lines[i++], "\n");
    } else {
      absl::StrAppend(&diff, "+", new_lines[k++], "\n");
    }
  }
  return diff;
}

}  // namespace onefold::fleet
