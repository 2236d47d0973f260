// Options of a command of the fleet: "--name value", "--name=value", "--flag", and operands in
// between; what follows "--" is operands only. Pure.

#ifndef ONEFOLD_CLI_FLEET_OPTIONS_H_
#define ONEFOLD_CLI_FLEET_OPTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold {

struct OptionSpec {
  absl::string_view name;  // with its dashes
  bool takes_value = false;
};

class Options {
 public:
  bool Has(absl::string_view name) const { return values_.count(std::string(name)) != 0; }
  // What was given last; empty if the option was not given.
  std::string Value(absl::string_view name) const {
    const auto found = values_.find(std::string(name));
    return found == values_.end() ? "" : found->second;
  }
  const std::vector<std::string>& operands() const { return operands_; }

 private:
  friend absl::StatusOr<Options> ParseOptions(const std::vector<OptionSpec>& specs,
                                              const std::vector<std::string>& arguments);

  std::map<std::string, std::string> values_;
  std::vector<std::string> operands_;
};

// INVALID_ARGUMENT for an unknown option, a value that is missing, empty or given to a flag, and an
// empty operand (an unset variable in a script, most likely).
absl::StatusOr<Options> ParseOptions(const std::vector<OptionSpec>& specs,
                                     const std::vector<std::string>& arguments);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_OPTIONS_H_
