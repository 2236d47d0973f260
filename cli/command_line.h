// The command line as text, turned into values. The only place that knows CLI11.

#ifndef ONEFOLD_CLI_COMMAND_LINE_H_
#define ONEFOLD_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/dedupe_arguments.h"

namespace onefold {

// What `onefold dedupe --help` prints.
std::string DedupeHelp();

// "onefold 1.2.3\n"
std::string ProgramVersion();
// "1.2.3"
std::string VersionNumber();

// `arguments`: what follows `onefold dedupe`. INVALID_ARGUMENT with what is wrong.
absl::StatusOr<DedupeArguments> ParseDedupe(const std::vector<std::string>& arguments);

}  // namespace onefold

#endif  // ONEFOLD_CLI_COMMAND_LINE_H_
