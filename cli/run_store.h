// RunStore: what is remembered from run to run (proto/onefold/storage/v1/run.proto has the format):
// the last job, a record of each run, and the sum of what was freed.
//
// Not thread-safe.

#ifndef ONEFOLD_CLI_RUN_STORE_H_
#define ONEFOLD_CLI_RUN_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/dedupe_arguments.h"
#include "cli/run_summary.h"

namespace onefold {

// Where records are kept: the coordinator's `state` database, or a test's memory.
class RecordStore {
 public:
  virtual ~RecordStore() = default;
  virtual absl::StatusOr<std::optional<std::string>> Get(const std::string& name) = 0;
  // Durable when it returns.
  virtual absl::Status Put(const std::string& name, const std::string& bytes) = 0;
};

// Runs that are kept: years of nightly ones, and at about 100 bytes each, nothing to speak of.
inline constexpr int64_t kRunsKeptMax = 1000;

class RunStore {
 public:
  // `records` must outlive this object.
  explicit RunStore(RecordStore& records) : records_(records) {}

  // The job of the last run that was not a dry one; nullopt if there was none.
  // DATA_LOSS: the record cannot be understood.
  absl::StatusOr<std::optional<DedupeJob>> LastJob();

  // Notes that a run begins, before it does anything. Unless it is a dry run, `job` becomes the
  // last job. `uuids`: volumes it works on, in text form.
  absl::Status Begin(const std::string& run_id, absl::Time start, bool dry_run,
                     const DedupeJob& job, const std::vector<std::string>& uuids = {});

  // Notes how the run that Begin named ended. Returns what all runs freed, this one included.
  absl::StatusOr<LifetimeFreed> End(const RunReport& report);

 private:
  absl::Status StoreJob(const DedupeJob& job);

  RecordStore& records_;
  int64_t run_number_ = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_RUN_STORE_H_
