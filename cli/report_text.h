// What people read at the end of a run. Pure; every name of a file in it is escaped.

#ifndef ONEFOLD_CLI_REPORT_TEXT_H_
#define ONEFOLD_CLI_REPORT_TEXT_H_

#include <string>

#include "cli/run_summary.h"

namespace onefold {

enum class Verbosity { kQuiet, kNormal, kVerbose };

// The summary, ending with a newline; one line if kQuiet.
std::string SummaryText(const RunSummary& summary, Verbosity verbosity);

// One line for each problem, "path: reason: what to do"; empty if there is none.
std::string ProblemText(const RunSummary& summary, Verbosity verbosity);

}  // namespace onefold

#endif  // ONEFOLD_CLI_REPORT_TEXT_H_
