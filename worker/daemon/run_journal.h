// RunJournal: what a worker remembers of its runs over a restart. Not thread-safe.

#ifndef ONEFOLD_WORKER_DAEMON_RUN_JOURNAL_H_
#define ONEFOLD_WORKER_DAEMON_RUN_JOURNAL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onefold/storage/v1/worker.pb.h"

namespace onefold {

class RunJournal {
 public:
  virtual ~RunJournal() = default;
  // Replaces what is known of the run; durable when it returns. RESOURCE_EXHAUSTED: disk full.
  virtual absl::Status Write(const storage::v1::WorkerRun& run) = 0;
  virtual absl::Status Erase(const std::string& run_id) = 0;
  virtual absl::StatusOr<std::vector<storage::v1::WorkerRun>> ReadAll() = 0;
};

// One small file for each run, replaced as a whole.
class FileRunJournal final : public RunJournal {
 public:
  // `directory` exists or can be made.
  explicit FileRunJournal(std::string directory) : directory_(std::move(directory)) {}

  absl::Status Write(const storage::v1::WorkerRun& run) override;
  absl::Status Erase(const std::string& run_id) override;
  // Files that are torn or foreign are left out and stay.
  absl::StatusOr<std::vector<storage::v1::WorkerRun>> ReadAll() override;

 private:
  std::string PathOf(const std::string& run_id) const;

  const std::string directory_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_RUN_JOURNAL_H_
