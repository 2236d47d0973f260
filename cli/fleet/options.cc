#include "cli/fleet/options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/escape.h"

namespace onefold {

absl::StatusOr<Options> ParseOptions(const std::vector<OptionSpec>& specs,
                                     const std::vector<std::string>& arguments) {
  Options parsed;
  bool options_ended = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.empty()) return absl::InvalidArgumentError("an argument is empty");
    if (options_ended || argument.front() != '-' || argument == "-") {
      parsed.operands_.push_back(argument);
      continue;
    }
    if (argument == "--") {
      options_ended = true;
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const auto spec = std::find_if(specs.begin(), specs.end(),
                                   [&](const OptionSpec& known) { return known.name == name; });
    if (spec == specs.end()) {
      return absl::InvalidArgumentError(absl::StrCat("there is no option ", Escape(name)));
    }
    const bool has_equals = equals != std::string::npos;
    if (!spec->takes_value) {
      if (has_equals) return absl::InvalidArgumentError(absl::StrCat(name, " takes no value"));
      parsed.values_[name] = "";
      continue;
    }
    if (!has_equals && i + 1 == arguments.size()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": the value is missing"));
    }
    const std::string value = has_equals ? argument.substr(equals + 1) : arguments[++i];
    if (value.empty())
      return absl::InvalidArgumentError(absl::StrCat(name, ": the value is empty"));
    parsed.values_[name] = value;
  }
  return parsed;
}

}  // namespace onefold
