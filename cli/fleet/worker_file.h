// Changes a worker's configuration file as a careful person would: only the lines that say what is
// to be said, everything else stays, comments too. Pure.

#ifndef ONEFOLD_CLI_FLEET_WORKER_FILE_H_
#define ONEFOLD_CLI_FLEET_WORKER_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold {

// What is to be in the file. Empty: whatever is there stays.
struct WorkerFileSettings {
  std::string coordinator;
  std::string name;
  std::string state_directory;
  std::vector<std::string> allow;  // added to those that are there
};

// `text`: the file as it is; empty if it is absent. The result is read again before it is returned:
// it says what was asked for, and everything else says what it said before.
//
// INVALID_ARGUMENT     it is no YAML; the message names the line.
// FAILED_PRECONDITION  it is written in a way that cannot be changed line by line; the message says
//                      what to add.
absl::StatusOr<std::string> UpdateWorkerFile(absl::string_view text,
                                             const WorkerFileSettings& settings);

// The `state_directory` of the file, or empty. INVALID_ARGUMENT as above.
absl::StatusOr<std::string> StateDirectoryOf(absl::string_view text);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_WORKER_FILE_H_
