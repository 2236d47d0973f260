// What programs read: `onefold.run.v1` on stdout, `onefold.progress.v1` and `onefold.message.v1` on
// stderr. Fields are only ever added. Unknown figures are null, never 0.
//
// Everything is one line of ASCII, so nothing in it can steer a terminal. JSON is Unicode and names
// of files are bytes: where a text is no UTF-8, each wrong byte is U+FFFD in it, and a field of the
// same name with "_bytes" has all of its bytes in hexadecimal.

#ifndef ONEFOLD_CLI_JSON_OUTPUT_H_
#define ONEFOLD_CLI_JSON_OUTPUT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "cli/progress_view.h"
#include "cli/run_summary.h"

namespace onefold {

// The whole run, also a refused one.
std::string RunJson(const RunSummary& summary);

std::string ProgressJson(const ProgressView& view);

// A line for people, among the objects for programs.
std::string MessageJson(absl::string_view text);

}  // namespace onefold

#endif  // ONEFOLD_CLI_JSON_OUTPUT_H_
