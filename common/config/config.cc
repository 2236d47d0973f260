#include "common/config/config.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/check.h"
#include "common/escape.h"
#include "common/nearest_word.h"
#include "common/status_macros.h"
#include "common/yaml_tree.h"

namespace onefold {
namespace {

// Of the tests and of ./dev; they say nothing about a running program.
constexpr const char* kOtherVariables[] = {
    "ONEFOLD_BIN",        "ONEFOLD_SEED",   "ONEFOLD_SANITIZE",
    "ONEFOLD_SOURCE_DIR", "ONEFOLD_WERROR", "ONEFOLD_FAST_TOOLS",
    "ONEFOLD_CONFIG",     "ONEFOLD_CCACHE", "ONEFOLD_IDENTITY"};

constexpr char kDefaultOrigin[] = "default";

std::string DidYouMean(const std::string& nearest) {
  return nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?");
}

std::string Joined(const SettingType type, const SettingValue& value) {
  if (type == SettingType::kList) {
    return absl::StrCat("[",
                        absl::StrJoin(value.items, ", ",
                                      [](std::string* out, const std::string& item) {
                                        out->append(YamlScalar(item));
                                      }),
                        "]");
  }
  if (type == SettingType::kMap) {
    return absl::StrCat(
        "{",
        absl::StrJoin(value.entries, ", ",
                      [](std::string* out, const std::pair<std::string, std::string>& entry) {
                        absl::StrAppend(out, YamlScalar(entry.first), ": ",
                                        YamlScalar(entry.second));
                      }),
        "}");
  }
  return type == SettingType::kText ? YamlScalar(value.text) : value.text;
}

}  // namespace

absl::StatusOr<ConfigArguments> SplitConfigArguments(const std::vector<std::string>& arguments) {
  ConfigArguments split;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view argument = arguments[i];
    if (argument == "--check-config") {
      split.check = true;
    } else if (argument == "--print-config") {
      split.print = true;
    } else if (argument == "--config" || absl::StartsWith(argument, "--config=")) {
      if (argument == "--config" && i + 1 < arguments.size()) {
        split.file = arguments[++i];
      } else {
        split.file = std::string(argument.substr(std::min(argument.size(), sizeof("--config"))));
      }
      if (split.file.empty()) {
        return absl::InvalidArgumentError("--config: the name of the file is missing");
      }
    } else {
      split.rest.push_back(arguments[i]);
    }
  }
  return split;
}

// Puts the layers on top of each other, the lowest first, and collects what is wrong.
class Config::Loader {
 public:
  explicit Loader(std::vector<Entry>& entries) : entries_(entries) {}

  void AddFile(const std::string& name, const std::string& text) {
    const absl::StatusOr<std::vector<YamlNode>> documents = ParseYaml(text);
    if (!documents.ok()) return AddYamlError(name, documents.status().message());
    if (documents->empty()) return;  // all lines are comments
    if (documents->size() > 1) return AddError(absl::StrCat(name, ": more than one document"));
    const YamlNode& root = documents->front();
    if (root.kind != YamlNode::Kind::kMap) {
      return AddError(absl::StrCat(name, ":", root.line, ": lines must be 'key: value'"));
    }
    for (const YamlNode::Entry& line : root.map) {
      const std::string place = absl::StrCat(name, ":", line.line);
      Entry* entry = FindKey(line.key);
      if (entry == nullptr) {
        AddError(absl::StrCat(place, ": there is no setting '", Escape(line.key), "'",
                              DidYouMean(NearestWord(line.key, Keys()))));
        continue;
      }
      Set(*entry, FromYaml(entry->setting, line.value), place);
    }
  }

  void AddVariables(const std::vector<std::string>& variables) {
    for (Entry& entry : entries_) AddVariable(variables, VariableName(entry.setting), entry);
  }

  // After all other layers.
  void AddLastVariables(const std::vector<std::string>& variables) {
    for (Entry& entry : entries_) {
      const std::string name = entry.setting.last_variable;
      if (!name.empty() && entry.origin == kDefaultOrigin) AddVariable(variables, name, entry);
    }
  }

  void AddArguments(const std::vector<std::string>& arguments) {
    // All values of a flag together replace what lower layers say.
    std::vector<std::pair<Entry*, std::vector<std::string>>> given;
    const auto values = [&](Entry* entry) -> std::vector<std::string>& {
      for (auto& [known, items] : given) {
        if (known == entry) return items;
      }
      return given.emplace_back(entry, std::vector<std::string>()).second;
    };
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      const size_t equals = argument.find('=');
      const std::string name = argument.substr(0, equals);
      bool negated = false;
      Entry* entry = FindFlag(name, negated);
      if (entry == nullptr) {
        AddUnknownArgument(name);
        continue;
      }
      const bool is_list =
          entry->setting.type == SettingType::kList || entry->setting.type == SettingType::kMap;
      std::vector<std::string>& items = values(entry);
      if (!is_list) items.clear();  // the last one counts
      if (negated) {
        if (equals != std::string::npos) AddError(absl::StrCat(name, " takes no value"));
        items.push_back("false");
      } else if (equals != std::string::npos) {
        items.push_back(argument.substr(equals + 1));
      } else if (entry->setting.type == SettingType::kBool) {
        items.push_back("true");
      } else if (i + 1 < arguments.size()) {
        items.push_back(arguments[++i]);
      } else {
        AddError(absl::StrCat(name, ": the value is missing"));
      }
    }
    for (const auto& [entry, items] : given) {
      if (items.empty()) continue;  // an error is noted already
      Set(*entry, ParseSettingItems(entry->setting, items), FlagName(entry->setting));
    }
  }

  absl::Status status() const {
    if (errors_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(errors_, "\n"));
  }

 private:
  void AddError(absl::string_view error) { errors_.emplace_back(error); }

  void AddVariable(const std::vector<std::string>& variables, const std::string& name,
                   Entry& entry) {
    const std::string prefix = absl::StrCat(name, "=");
    for (const std::string& variable : variables) {
      if (!absl::StartsWith(variable, prefix)) continue;
      Set(entry, ParseSetting(entry.setting, absl::string_view(variable).substr(prefix.size())),
          name);
    }
  }

  // "line 3: why" of the file becomes "FILE:3: why", like all others.
  void AddYamlError(const std::string& name, absl::string_view error) {
    AddError(absl::ConsumePrefix(&error, "line ") ? absl::StrCat(name, ":", error)
                                                  : absl::StrCat(name, ": ", error));
  }

  void Set(Entry& entry, absl::StatusOr<SettingValue> value, const std::string& origin) {
    if (!value.ok()) return AddError(absl::StrCat(origin, ": ", value.status().message()));
    entry.value = *std::move(value);
    entry.origin = origin;
  }

  static absl::StatusOr<SettingValue> FromYaml(const Setting& setting, const YamlNode& node) {
    const auto wrong = [&](const YamlNode& where, absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat(
          setting.key, where.line > 0 ? absl::StrCat(" (line ", where.line, ")") : "", ": ", what));
    };
    switch (node.kind) {
      case YamlNode::Kind::kNull: return wrong(node, "the value is missing");
      case YamlNode::Kind::kScalar:
        if (setting.type == SettingType::kMap) {
          return wrong(node, "must be a map (name: value)");
        }
        return ParseSettingItems(setting, {node.scalar});
      case YamlNode::Kind::kList: {
        if (setting.type != SettingType::kList) return wrong(node, "must not be a list");
        std::vector<std::string> items;
        for (const YamlNode& item : node.list) {
          if (item.kind != YamlNode::Kind::kScalar) return wrong(item, "an item must be a word");
          items.push_back(item.scalar);
        }
        return ParseSettingItems(setting, items);
      }
      case YamlNode::Kind::kMap: break;
    }
    if (setting.type != SettingType::kMap) return wrong(node, "must not be a map");
    std::vector<std::pair<std::string, std::string>> entries;
    for (const YamlNode::Entry& entry : node.map) {
      if (entry.value.kind != YamlNode::Kind::kScalar) {
        return wrong(entry.value, "a value must be a word");
      }
      entries.emplace_back(entry.key, entry.value.scalar);
    }
    return ParseSettingEntries(setting, std::move(entries));
  }

  Entry* FindKey(absl::string_view key) {
    for (Entry& entry : entries_) {
      if (key == entry.setting.key) return &entry;
    }
    return nullptr;
  }

  Entry* FindFlag(const std::string& name, bool& negated) {
    for (Entry& entry : entries_) {
      const std::string flag = FlagName(entry.setting);
      negated =
          entry.setting.type == SettingType::kBool && name == absl::StrCat("--no-", flag.substr(2));
      if (negated || name == flag) return &entry;
    }
    return nullptr;
  }

  void AddUnknownArgument(const std::string& name) {
    if (!absl::StartsWith(name, "-")) {
      return AddError(absl::StrCat("there is nothing to be done with '", Escape(name), "'"));
    }
    std::vector<std::string> flags = {"--config", "--check-config", "--print-config"};
    for (const Entry& entry : entries_) flags.push_back(FlagName(entry.setting));
    AddError(
        absl::StrCat("there is no option ", Escape(name), DidYouMean(NearestWord(name, flags))));
  }

  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    for (const Entry& entry : entries_) keys.push_back(entry.setting.key);
    return keys;
  }

  std::vector<Entry>& entries_;
  std::vector<std::string> errors_;
};

absl::StatusOr<Config> Config::Load(std::vector<Setting> settings, const ConfigSources& sources) {
  Config config;
  for (Setting& setting : settings) {
    absl::StatusOr<SettingValue> value = ParseSetting(setting, setting.default_value);
    CHECK(value.ok());  // the table is ours
    config.entries_.push_back({.setting = setting, .value = *std::move(value)});
  }
  Loader loader(config.entries_);
  if (!sources.file_name.empty()) loader.AddFile(sources.file_name, sources.file_text);
  loader.AddVariables(sources.variables);
  loader.AddArguments(sources.arguments);
  loader.AddLastVariables(sources.variables);
  RETURN_IF_ERROR(loader.status());
  return config;
}

const Config::Entry& Config::Find(absl::string_view key, SettingType type) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return key == entry.setting.key; });
  CHECK(found != entries_.end());
  CHECK(found->setting.type == type);
  return *found;
}

const std::string& Config::Text(absl::string_view key) const {
  return Find(key, SettingType::kText).value.text;
}

bool Config::Bool(absl::string_view key) const {
  return Find(key, SettingType::kBool).value.text == "true";
}

int64_t Config::Integer(absl::string_view key) const {
  int64_t number = 0;
  CHECK(absl::SimpleAtoi(Find(key, SettingType::kInteger).value.text, &number));
  return number;
}

absl::Duration Config::Span(absl::string_view key) const {
  absl::Duration span;
  CHECK(absl::ParseDuration(Find(key, SettingType::kDuration).value.text, &span));
  return span;
}

const std::vector<std::string>& Config::List(absl::string_view key) const {
  return Find(key, SettingType::kList).value.items;
}

std::map<std::string, std::string> Config::Map(absl::string_view key) const {
  const auto& entries = Find(key, SettingType::kMap).value.entries;
  return std::map<std::string, std::string>(entries.begin(), entries.end());
}

const std::string& Config::Origin(absl::string_view key) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return key == entry.setting.key; });
  CHECK(found != entries_.end());
  return found->origin;
}

bool Config::IsSet(absl::string_view key) const { return Origin(key) != kDefaultOrigin; }

std::string Config::Print() const {
  std::string text;
  for (const Entry& entry : entries_) {
    std::string line =
        absl::StrCat(entry.setting.key, ": ", Joined(entry.setting.type, entry.value));
    if (line.size() < 39) line.resize(39, ' ');
    absl::StrAppend(&text, line, " # ", Escape(entry.origin), "\n");
  }
  return text;
}

std::vector<std::string> UnknownVariableWarnings(const std::vector<std::string>& variables,
                                                 const std::vector<Setting>& known) {
  std::vector<std::string> names(std::begin(kOtherVariables), std::end(kOtherVariables));
  const size_t other_count = names.size();
  for (const Setting& setting : known) {
    names.push_back(VariableName(setting));
    if (setting.last_variable[0] != '\0') names.push_back(setting.last_variable);
  }
  const std::vector<std::string> suggestions(names.begin() + static_cast<ptrdiff_t>(other_count),
                                             names.end());
  std::vector<std::string> warnings;
  for (const std::string& variable : variables) {
    const std::string name = variable.substr(0, variable.find('='));
    if (!absl::StartsWith(name, "ONEFOLD_")) continue;
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    warnings.push_back(absl::StrCat("the variable ", Escape(name), " belongs to no setting",
                                    DidYouMean(NearestWord(name, suggestions))));
  }
  return warnings;
}

}  // namespace onefold
