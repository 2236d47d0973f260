// MemoryRunJournal: a RunJournal that outlives the desk of a test, not the test.

#ifndef ONEFOLD_WORKER_TESTING_MEMORY_JOURNAL_H_
#define ONEFOLD_WORKER_TESTING_MEMORY_JOURNAL_H_

#include <map>
#include <string>
#include <vector>

#include "worker/daemon/run_journal.h"

namespace onefold {

class MemoryRunJournal final : public RunJournal {
 public:
  std::map<std::string, storage::v1::WorkerRun> runs;
  absl::Status write_error;  // of Write

  absl::Status Write(const storage::v1::WorkerRun& run) override {
    if (write_error.ok()) runs[run.order().run_id()] = run;
    return write_error;
  }
  absl::Status Erase(const std::string& run_id) override {
    runs.erase(run_id);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<storage::v1::WorkerRun>> ReadAll() override {
    std::vector<storage::v1::WorkerRun> all;
    for (const auto& [id, run] : runs) all.push_back(run);
    return all;
  }
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_TESTING_MEMORY_JOURNAL_H_
