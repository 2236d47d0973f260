#include "cli/fleet/worker_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "common/yaml_tree.h"

namespace onefold {
namespace {

constexpr char kNewFile[] =
    "# Configuration of `onefold worker`; `onefold worker --print-config` shows all settings.\n";

using Lines = std::vector<std::string>;

YamlNode EmptyMap() {
  YamlNode map;
  map.kind = YamlNode::Kind::kMap;
  return map;
}

// The mapping that a file is; an empty file is an empty one.
absl::StatusOr<YamlNode> ParseFile(absl::string_view text) {
  ASSIGN_OR_RETURN(std::vector<YamlNode> documents, ParseYaml(text));
  if (documents.empty()) return EmptyMap();
  if (documents.size() > 1) return YamlError(0, "", "several documents");
  if (documents[0].kind == YamlNode::Kind::kNull) return EmptyMap();
  if (documents[0].kind != YamlNode::Kind::kMap) return YamlError(0, "", "no list of settings");
  return std::move(documents[0]);
}

const YamlNode::Entry* Find(const YamlNode& map, absl::string_view key) {
  const auto found = std::find_if(map.map.begin(), map.map.end(),
                                  [&](const YamlNode::Entry& entry) { return entry.key == key; });
  return found == map.map.end() ? nullptr : &*found;
}

bool SameValue(const YamlNode& a, const YamlNode& b) {
  return a.kind == b.kind && a.scalar == b.scalar &&
         std::equal(a.list.begin(), a.list.end(), b.list.begin(), b.list.end(), SameValue) &&
         std::equal(a.map.begin(), a.map.end(), b.map.begin(), b.map.end(),
                    [](const YamlNode::Entry& x, const YamlNode::Entry& y) {
                      return x.key == y.key && SameValue(x.value, y.value);
                    });
}

// A list, or a single value in its place.
std::vector<std::string> ValuesOf(const YamlNode* node) {
  std::vector<std::string> values;
  if (node == nullptr) return values;
  if (node->kind == YamlNode::Kind::kScalar) values.push_back(node->scalar);
  for (const YamlNode& item : node->list) values.push_back(item.scalar);
  return values;
}

// Lines of the text while it is changed. Numbers count from 1, as YamlNode's.
class Editor {
 public:
  Editor(absl::string_view text, const YamlNode& map) : map_(map) {
    for (absl::string_view line : absl::StrSplit(text, '\n')) lines_.emplace_back(line);
    if (!lines_.empty() && lines_.back().empty()) lines_.pop_back();
  }

  void SetScalar(absl::string_view key, const std::string& value) {
    const YamlNode::Entry* const entry = Find(map_, key);
    if (value.empty() || (entry != nullptr && entry->value.scalar == value)) return;
    Replace(entry, {absl::StrCat(key, ": ", YamlScalar(value))});
  }

  void AddToList(absl::string_view key, const std::vector<std::string>& values) {
    const YamlNode::Entry* const entry = Find(map_, key);
    std::vector<std::string> all = ValuesOf(entry == nullptr ? nullptr : &entry->value);
    std::vector<std::string> added;
    for (const std::string& value : values) {
      if (std::find(all.begin(), all.end(), value) != all.end()) continue;
      all.push_back(value);
      added.push_back(value);
    }
    if (added.empty()) return;
    if (entry != nullptr && !entry->value.list.empty()) {
      const int last = entry->value.list.back().line;
      const std::string& line = lines_[static_cast<size_t>(last) - 1];
      const size_t dash = line.find_first_not_of(' ');
      if (last > entry->line && dash != std::string::npos && line[dash] == '-') {
        Insert(last, Items(line.substr(0, dash), added));
        return;
      }
    }
    Lines block = Items("  ", all);
    block.insert(block.begin(), absl::StrCat(key, ":"));
    Replace(entry, block);
  }

  std::string Text() const {
    // From the end, so that the numbers of the lines before stay what they are.
    Lines lines = lines_;
    std::vector<Change> changes = changes_;
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.begin > b.begin; });
    for (const Change& change : changes) {
      const auto at = lines.erase(lines.begin() + change.begin, lines.begin() + change.end);
      lines.insert(at, change.lines.begin(), change.lines.end());
    }
    lines.insert(lines.end(), appended_.begin(), appended_.end());
    return lines.empty() ? "" : absl::StrJoin(lines, "\n") + "\n";
  }

  const Lines& appended() const { return appended_; }

 private:
  struct Change {
    int begin = 0;  // counts from 0
    int end = 0;
    Lines lines;
  };

  static Lines Items(const std::string& indent, const std::vector<std::string>& values) {
    Lines lines;
    for (const std::string& value : values) {
      lines.push_back(absl::StrCat(indent, "- ", YamlScalar(value)));
    }
    return lines;
  }

  void Insert(int after_line, Lines lines) {
    changes_.push_back({.begin = after_line, .end = after_line, .lines = std::move(lines)});
  }

  // Appends if there is no entry.
  void Replace(const YamlNode::Entry* entry, const Lines& lines) {
    if (entry == nullptr) {
      appended_.insert(appended_.end(), lines.begin(), lines.end());
      return;
    }
    changes_.push_back({.begin = entry->line - 1, .end = EndOf(*entry), .lines = lines});
  }

  // The line behind the entry, counted from 0: comments and blank lines before the next key are
  // that key's.
  int EndOf(const YamlNode::Entry& entry) const {
    int end = static_cast<int>(lines_.size());
    for (const YamlNode::Entry& other : map_.map) {
      if (other.line > entry.line) end = std::min(end, other.line - 1);
    }
    while (end > entry.line) {
      const absl::string_view line = lines_[static_cast<size_t>(end) - 1];
      if (!absl::StripAsciiWhitespace(line).empty() && line.front() != '#') break;
      --end;
    }
    return end;
  }

  const YamlNode& map_;
  Lines lines_;
  std::vector<Change> changes_;
  Lines appended_;
};

bool Says(const YamlNode& map, absl::string_view key, const std::string& value) {
  const YamlNode::Entry* const entry = Find(map, key);
  return value.empty() || (entry != nullptr && entry->value.scalar == value);
}

// Whether `after` says what was asked for, and apart from that what `before` said.
bool IsAsWanted(const YamlNode& before, const YamlNode& after, const WorkerFileSettings& settings) {
  const YamlNode::Entry* const allow = Find(after, "allow");
  const std::vector<std::string> allowed = ValuesOf(allow == nullptr ? nullptr : &allow->value);
  const YamlNode::Entry* const old_allow = Find(before, "allow");
  std::vector<std::string> wanted = ValuesOf(old_allow == nullptr ? nullptr : &old_allow->value);
  wanted.insert(wanted.end(), settings.allow.begin(), settings.allow.end());
  const bool allows_all = std::all_of(wanted.begin(), wanted.end(), [&](const std::string& path) {
    return std::find(allowed.begin(), allowed.end(), path) != allowed.end();
  });
  const bool allows_no_more =
      std::all_of(allowed.begin(), allowed.end(), [&](const std::string& path) {
        return std::find(wanted.begin(), wanted.end(), path) != wanted.end();
      });
  const bool keeps_the_rest =
      std::all_of(before.map.begin(), before.map.end(), [&](const YamlNode::Entry& entry) {
        const bool is_ours = entry.key == "allow" ||
                             (entry.key == "coordinator" && !settings.coordinator.empty()) ||
                             (entry.key == "name" && !settings.name.empty()) ||
                             (entry.key == "state_directory" && !settings.state_directory.empty());
        const YamlNode::Entry* const now = Find(after, entry.key);
        return is_ours || (now != nullptr && SameValue(entry.value, now->value));
      });
  return allows_all && allows_no_more && keeps_the_rest &&
         Says(after, "coordinator", settings.coordinator) && Says(after, "name", settings.name) &&
         Says(after, "state_directory", settings.state_directory);
}

}  // namespace

absl::StatusOr<std::string> UpdateWorkerFile(absl::string_view text,
                                             const WorkerFileSettings& settings) {
  ASSIGN_OR_RETURN(const YamlNode before, ParseFile(text));
  const bool is_blank = absl::StripAsciiWhitespace(text).empty();
  Editor editor(is_blank ? kNewFile : text, before);
  editor.SetScalar("coordinator", settings.coordinator);
  editor.SetScalar("name", settings.name);
  editor.SetScalar("state_directory", settings.state_directory);
  editor.AddToList("allow", settings.allow);
  std::string changed = editor.Text();
  const absl::StatusOr<YamlNode> after = ParseFile(changed);
  if (after.ok() && IsAsWanted(before, *after, settings)) return changed;
  const YamlNode nothing = EmptyMap();
  Editor scratch("", nothing);
  scratch.SetScalar("coordinator", settings.coordinator);
  scratch.SetScalar("name", settings.name);
  scratch.SetScalar("state_directory", settings.state_directory);
  scratch.AddToList("allow", settings.allow);
  return absl::FailedPreconditionError(absl::StrCat(
      "the file is written in a way that is left to a person to change. It has to say\n",
      absl::StrJoin(scratch.appended(), "\n")));
}

absl::StatusOr<std::string> StateDirectoryOf(absl::string_view text) {
  ASSIGN_OR_RETURN(const YamlNode map, ParseFile(text));
  const YamlNode::Entry* const entry = Find(map, "state_directory");
  return entry == nullptr ? std::string() : entry->value.scalar;
}

}  // namespace onefold
