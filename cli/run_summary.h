// A run's end as the program's user sees it: the report, what belongs to no volume, and the exit
// code. Pure.

#ifndef ONEFOLD_CLI_RUN_SUMMARY_H_
#define ONEFOLD_CLI_RUN_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/run_report.h"

namespace onefold {

inline constexpr int kExitDone = 0;
inline constexpr int kExitRefused = 1;
inline constexpr int kExitIncomplete = 2;
inline constexpr int kExitSignalBase = 128;  // + the signal's number

// What all runs on one state directory freed together.
struct LifetimeFreed {
  int64_t bytes = 0;
  bool at_least = false;  // a run ended without figures
};

struct RunSummary {
  RunReport report;
  // Why the run was refused; else empty.
  std::string message;
  // Sentences about what was noticed.
  std::vector<std::string> warnings;
  // Given paths that an absolute --exclude holds back.
  std::vector<std::string> excluded_paths;
  std::optional<LifetimeFreed> lifetime;
};

// "completed", "incomplete", …
const char* OutcomeName(RunOutcome outcome);

// Sums over the volumes; a sum is unknown if a part of it is.
RunCounters Totals(const RunReport& report);

int64_t ProblemCount(const RunReport& report);

// Settles the outcome once all volumes have been worked on. `stopped` is kInterrupted, kTimeLimit
// or, if nothing stopped the run, kCompleted.
RunOutcome FinalOutcome(RunOutcome stopped, const RunReport& report);

// `signal`: the one that interrupted the run, or 0.
int ExitCode(RunOutcome outcome, int signal);

}  // namespace onefold

#endif  // ONEFOLD_CLI_RUN_SUMMARY_H_
