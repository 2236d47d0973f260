// ParsePolicies of policy.h: each key of a policy has one function that checks and keeps its value.

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "common/quantity.h"
#include "common/status_macros.h"
#include "common/yaml_tree.h"
#include "coordinator/fleet/policy.h"

namespace onefold::fleet {
namespace {

// Generous for people, small for the tables that hold them.
constexpr size_t kListMax = 256;
constexpr size_t kWindowsMax = 16;
constexpr size_t kPathBytesMax = 4096;
constexpr size_t kPoliciesMax = 1000;
constexpr int kPriorityMax = 100;
constexpr int kThreadsMax = 1024;
constexpr int64_t kRateMax = int64_t{1} << 50;
constexpr int64_t kAtOnceMax = 100'000;
constexpr absl::Duration kJitterMax = absl::Hours(24);
constexpr absl::Duration kLatencyMax = absl::Seconds(60);

absl::Status Wrong(absl::string_view why) { return absl::InvalidArgumentError(why); }

absl::StatusOr<std::string> Text(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kScalar || node.scalar.empty()) {
    return Wrong("must be one value, not a list or nothing");
  }
  return node.scalar;
}

// One value or a list of them.
absl::StatusOr<std::vector<std::string>> Texts(const YamlNode& node, size_t count_max) {
  std::vector<std::string> texts;
  if (node.kind == YamlNode::Kind::kScalar) {
    ASSIGN_OR_RETURN(texts.emplace_back(), Text(node));
    return texts;
  }
  if (node.kind != YamlNode::Kind::kList || node.list.empty()) {
    return Wrong("must be a value or a list of values");
  }
  if (node.list.size() > count_max) return Wrong(absl::StrCat("at most ", count_max, " values"));
  for (const YamlNode& item : node.list) {
    ASSIGN_OR_RETURN(texts.emplace_back(), Text(item));
  }
  return texts;
}

absl::StatusOr<int64_t> Integer(const YamlNode& node, int64_t least, int64_t greatest) {
  ASSIGN_OR_RETURN(const std::string text, Text(node));
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < least || value > greatest) {
    return Wrong(
        absl::StrCat("\"", text, "\" must be a whole number from ", least, " to ", greatest));
  }
  return value;
}

absl::StatusOr<int64_t> Size(const YamlNode& node) {
  ASSIGN_OR_RETURN(const std::string text, Text(node));
  ASSIGN_OR_RETURN(const int64_t bytes, ParseBytes(text));
  if (bytes < 1 || bytes > kRateMax) return Wrong("must be from 1 byte to 1 PiB");
  return bytes;
}

absl::StatusOr<absl::Duration> Span(const YamlNode& node, absl::Duration most) {
  ASSIGN_OR_RETURN(const std::string text, Text(node));
  absl::string_view digits = text;
  int64_t millis = 0;
  absl::Duration span;
  if (absl::ConsumeSuffix(&digits, "ms") && absl::SimpleAtoi(digits, &millis)) {
    span = absl::Milliseconds(millis);
  } else {
    ASSIGN_OR_RETURN(span, ParseTimeSpan(text));
  }
  if (span <= absl::ZeroDuration() || span > most) {
    return Wrong(
        absl::StrCat("must be more than nothing and at most ", absl::FormatDuration(most)));
  }
  return span;
}

// True for `yes`, false for `no`.
absl::StatusOr<bool> OneOf(const YamlNode& node, absl::string_view no, absl::string_view yes) {
  ASSIGN_OR_RETURN(const std::string text, Text(node));
  if (text != no && text != yes) {
    return Wrong(absl::StrCat("\"", text, "\" must be ", no, " or ", yes));
  }
  return text == yes;
}

absl::Status CheckRoot(absl::string_view root) {
  const std::vector<absl::string_view> parts = absl::StrSplit(root, '/');
  const bool anchored = parts.front().empty() || parts.front() == ".";
  const bool climbs = std::find(parts.begin(), parts.end(), "..") != parts.end();
  if (!anchored || climbs || root.size() > kPathBytesMax || absl::StrContains(root, '\0')) {
    return Wrong(absl::StrCat("\"", root.substr(0, 100),
                              "\" must be an absolute path, or begin with \"./\" for one below the "
                              "mount point, without \"..\""));
  }
  return absl::OkStatus();
}

// ---- one function for each key ----

absl::Status ReadName(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(policy.name, Text(node));
  if (IsPolicyName(policy.name)) return absl::OkStatus();
  return Wrong(
      "must be of a-z, 0-9, \".\", \"_\" and \"-\", begin with a letter or digit and have at "
      "most 64 characters");
}

absl::Status ReadSelect(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const std::vector<std::string> texts, Texts(node, kListMax));
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(Selector selector, Selector::Parse(text));
    policy.select.push_back(std::move(selector));
  }
  return absl::OkStatus();
}

absl::Status ReadRoots(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const std::vector<std::string> roots, Texts(node, kListMax));
  for (const std::string& root : roots) {
    RETURN_IF_ERROR(CheckRoot(root));
    policy.scope.add_roots(root);
  }
  return absl::OkStatus();
}

absl::Status ReadExcludes(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const std::vector<std::string> excludes, Texts(node, kListMax));
  for (const std::string& exclude : excludes) {
    if (exclude.size() > kPathBytesMax) return Wrong("a pattern is too long");
    policy.scope.add_excludes(exclude);
  }
  return absl::OkStatus();
}

absl::Status ReadMinSize(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const int64_t bytes, Size(node));
  policy.scope.set_min_file_bytes(bytes);
  return absl::OkStatus();
}

absl::Status ReadMaxSize(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const int64_t bytes, Size(node));
  policy.scope.set_max_file_bytes(bytes);
  return absl::OkStatus();
}

absl::Status ReadSnapshots(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const bool skip, OneOf(node, "include", "skip"));
  policy.scope.set_skip_readonly_subvolumes(skip);
  return absl::OkStatus();
}

absl::Status ReadMatch(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const bool extents, OneOf(node, "all", "extents"));
  policy.scope.set_match_extents_only(extents);
  return absl::OkStatus();
}

absl::Status ReadTimeZone(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(policy.time_zone, Text(node));
  // The name becomes a path below the zone database.
  const bool safe = !absl::StrContains(policy.time_zone, "..") && policy.time_zone[0] != '/' &&
                    policy.time_zone[0] != ':' && policy.time_zone.size() <= 64;
  if (safe && absl::LoadTimeZone(policy.time_zone, &policy.zone)) return absl::OkStatus();
  return Wrong(absl::StrCat("\"", policy.time_zone.substr(0, 64),
                            "\" is no time zone that is known here; write it like Europe/Berlin"));
}

// Read after the time zone.
absl::Status ReadSchedule(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const std::string text, Text(node));
  ASSIGN_OR_RETURN(Cron cron, Cron::Parse(text));
  policy.schedule.emplace(std::move(cron), policy.zone);
  return absl::OkStatus();
}

absl::Status ReadWindow(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const std::vector<std::string> texts, Texts(node, kWindowsMax));
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(MaintenanceWindow window, MaintenanceWindow::Parse(text));
    policy.windows.push_back(std::move(window));
  }
  return absl::OkStatus();
}

absl::Status ReadJitter(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(policy.jitter, Span(node, kJitterMax));
  return absl::OkStatus();
}

absl::Status ReadPriority(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const int64_t priority, Integer(node, -kPriorityMax, kPriorityMax));
  policy.priority = static_cast<int>(priority);
  return absl::OkStatus();
}

absl::Status ReadThreads(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const int64_t count, Integer(node, 1, kThreadsMax));
  policy.throttle.set_thread_count(static_cast<int32_t>(count));
  return absl::OkStatus();
}

absl::Status ReadReadRate(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const int64_t bytes, Size(node));
  policy.throttle.set_read_bytes_per_second(bytes);
  return absl::OkStatus();
}

absl::Status ReadOperationRate(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const int64_t count, Integer(node, 1, kRateMax));
  policy.throttle.set_requests_per_second(count);
  return absl::OkStatus();
}

absl::Status ReadLoad(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const std::string text, Text(node));
  double load = 0;
  if (!absl::SimpleAtod(text, &load) || !(load > 0 && load <= 10'000)) {
    return Wrong(absl::StrCat("\"", text, "\" must be a number above 0"));
  }
  policy.throttle.set_load_max(load);
  return absl::OkStatus();
}

absl::Status ReadLatency(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(const absl::Duration span, Span(node, kLatencyMax));
  policy.throttle.mutable_device_latency_max()->set_seconds(absl::ToInt64Seconds(span));
  policy.throttle.mutable_device_latency_max()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(span % absl::Seconds(1))));
  return absl::OkStatus();
}

absl::Status ReadHosts(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(policy.at_once.hosts, Integer(node, 1, kAtOnceMax));
  return absl::OkStatus();
}

absl::Status ReadGroup(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(policy.at_once.group, Text(node));
  if (policy.at_once.group.size() > 128) return Wrong("too long for the label of a host");
  return absl::OkStatus();
}

absl::Status ReadPerGroup(const YamlNode& node, Policy& policy) {
  ASSIGN_OR_RETURN(policy.at_once.per_group, Integer(node, 1, kAtOnceMax));
  return absl::OkStatus();
}

// ---- tables of keys ----

struct Key {
  absl::string_view name;
  absl::Status (*read)(const YamlNode& node, Policy& policy);
};

absl::Status ReadThrottle(const YamlNode& node, Policy& policy);
absl::Status ReadAtOnce(const YamlNode& node, Policy& policy);

constexpr Key kThrottleKeys[] = {{"threads", ReadThreads},
                                 {"read_per_second", ReadReadRate},
                                 {"operations_per_second", ReadOperationRate},
                                 {"load", ReadLoad},
                                 {"latency", ReadLatency}};
constexpr Key kAtOnceKeys[] = {
    {"hosts", ReadHosts}, {"group", ReadGroup}, {"per_group", ReadPerGroup}};
// In the order in which they are read: `schedule` needs `time_zone`.
constexpr Key kPolicyKeys[] = {
    {"name", ReadName},           {"select", ReadSelect},     {"roots", ReadRoots},
    {"excludes", ReadExcludes},   {"min_size", ReadMinSize},  {"max_size", ReadMaxSize},
    {"snapshots", ReadSnapshots}, {"match", ReadMatch},       {"time_zone", ReadTimeZone},
    {"schedule", ReadSchedule},   {"window", ReadWindow},     {"jitter", ReadJitter},
    {"priority", ReadPriority},   {"throttle", ReadThrottle}, {"at_once", ReadAtOnce}};

const YamlNode::Entry* FindEntry(const YamlNode& node, absl::string_view key) {
  for (const YamlNode::Entry& entry : node.map) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

absl::Status CheckKeys(const YamlNode& node, absl::Span<const Key> keys) {
  if (node.kind != YamlNode::Kind::kMap) {
    return YamlError(node.line, "", "must be \"key: value\" lines");
  }
  for (const YamlNode::Entry& entry : node.map) {
    const bool known = std::any_of(keys.begin(), keys.end(),
                                   [&](const Key& key) { return key.name == entry.key; });
    if (known) continue;
    const auto name = [](std::string* to, const Key& key) { absl::StrAppend(to, key.name); };
    return YamlError(entry.line, "",
                     absl::StrCat("\"", entry.key, "\" is no key here; there are ",
                                  absl::StrJoin(keys, ", ", name)));
  }
  return absl::OkStatus();
}

absl::Status ReadKeys(const YamlNode& node, absl::Span<const Key> keys, Policy& policy) {
  RETURN_IF_ERROR(CheckKeys(node, keys));
  for (const Key& key : keys) {
    const YamlNode::Entry* entry = FindEntry(node, key.name);
    if (entry == nullptr) continue;
    const absl::Status status = key.read(entry->value, policy);
    if (status.ok()) continue;
    // A value of values has said already where it is wrong.
    if (absl::StartsWith(status.message(), "line ")) return status;
    return YamlError(entry->line, key.name, status.message());
  }
  return absl::OkStatus();
}

absl::Status ReadThrottle(const YamlNode& node, Policy& policy) {
  return ReadKeys(node, kThrottleKeys, policy);
}

absl::Status ReadAtOnce(const YamlNode& node, Policy& policy) {
  RETURN_IF_ERROR(ReadKeys(node, kAtOnceKeys, policy));
  if (policy.at_once.group.empty() != (policy.at_once.per_group == 0)) {
    return Wrong("group and per_group go together");
  }
  return absl::OkStatus();
}

absl::StatusOr<Policy> ReadPolicy(const YamlNode& document, absl::TimeZone default_zone) {
  Policy policy;
  policy.zone = default_zone;
  RETURN_IF_ERROR(ReadKeys(document, kPolicyKeys, policy));
  if (policy.name.empty()) return YamlError(document.line, "name", "is missing: \"name: nightly\"");
  if (policy.select.empty()) {
    return YamlError(document.line, "select", "is missing: write \"select: all\" for all volumes");
  }
  if (policy.scope.max_file_bytes() != 0 &&
      policy.scope.min_file_bytes() > policy.scope.max_file_bytes()) {
    return YamlError(FindEntry(document, "min_size")->line, "min_size", "is above max_size");
  }
  if (policy.jitter != absl::ZeroDuration() && !policy.schedule) {
    return YamlError(FindEntry(document, "jitter")->line, "jitter", "needs a schedule");
  }
  return policy;
}

}  // namespace

absl::StatusOr<std::vector<Policy>> ParsePolicies(absl::string_view yaml,
                                                  absl::TimeZone default_zone) {
  ASSIGN_OR_RETURN(const std::vector<YamlNode> documents, ParseYaml(yaml));
  if (documents.empty()) return Wrong("there is no policy in it");
  if (documents.size() > kPoliciesMax) return Wrong("more than 1000 policies");
  std::vector<Policy> policies;
  std::set<std::string> names;
  for (const YamlNode& document : documents) {
    ASSIGN_OR_RETURN(Policy policy, ReadPolicy(document, default_zone));
    if (!names.insert(policy.name).second) {
      return YamlError(document.line, "name",
                       absl::StrCat("\"", policy.name, "\" is the name of an earlier one"));
    }
    policies.push_back(std::move(policy));
  }
  return policies;
}

}  // namespace onefold::fleet
