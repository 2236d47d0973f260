#include "coordinator/coordinator.h"

#include <sys/stat.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/coordinator_service.h"
#include "coordinator/lease_office.h"
#include "coordinator/rocks_store.h"
#include "coordinator/state_directory.h"
#include "coordinator/state_keys.h"
#include "coordinator/volume_book.h"

namespace onefold {
namespace {

using index::LeaseOffice;
using index::OrderedStore;
using index::RocksBackedStore;
using index::RocksBudget;
using index::VolumeBook;

constexpr char kIndexKind[] = "index";
constexpr char kStateKind[] = "state";

// `state` holds a few records.
constexpr RocksBudget kStateBudget = {
    .block_cache_bytes = 256 << 10, .write_buffer_bytes = 256 << 10, .strict_log = true};

RocksBudget IndexBudget(const Coordinator::Options& options) {
  RocksBudget budget;
  budget.free_bytes_min = options.free_bytes_min;
  budget.block_cache_bytes = static_cast<size_t>(options.memory_bytes) / 4;
  if (options.memory_bytes < kFleetMemoryBytes) return budget;
  budget.write_buffer_bytes = 16 << 20;
  budget.open_files = 512;
  budget.large = true;
  return budget;
}

index::CoordinatorService::Memory ServiceMemory(int64_t memory_bytes) {
  return {// With all that is made of it until it is written, a row takes some 400 bytes.
          .rows_per_run = index::kRowsPerRun * static_cast<size_t>(memory_bytes / kHostMemoryBytes),
          // A sixth.
          .plan_candidates = static_cast<size_t>(memory_bytes) / 6 / sizeof(index::Candidate)};
}

// The index with what was read from it.
struct OpenIndex {
  std::unique_ptr<OrderedStore> store;
  std::unique_ptr<VolumeBook> volumes;
};

absl::StatusOr<OpenIndex> TryOpenIndex(const std::string& directory, const RocksBudget& budget) {
  RETURN_IF_ERROR(index::MakeDatabaseDirectory(directory, kIndexKind, index::kIndexFormat));
  OpenIndex opened;
  ASSIGN_OR_RETURN(opened.store, index::OpenRocksStore(directory, budget));
  ASSIGN_OR_RETURN(opened.volumes, VolumeBook::Open(*opened.store));
  return opened;
}

// The index is soft: a damaged one is put aside and built anew by the next scan.
// `checked`: what looking at its directory told.
absl::StatusOr<OpenIndex> OpenOrRebuildIndex(const std::string& directory,
                                             const RocksBudget& budget, const absl::Status& checked,
                                             Clock& clock, std::vector<std::string>& warnings) {
  absl::StatusOr<OpenIndex> opened =
      checked.ok() ? TryOpenIndex(directory, budget) : absl::StatusOr<OpenIndex>(checked);
  if (!absl::IsDataLoss(opened.status())) return opened;
  ASSIGN_OR_RETURN(const std::string aside, index::PutAside(directory, clock.Now()));
  warnings.push_back(absl::StrCat("the index was damaged (", opened.status().message(),
                                  "). It is kept as ", aside,
                                  " and can be deleted; a new one is built by scanning again"));
  return TryOpenIndex(directory, budget);
}

// `state` is not: nothing can build it again.
absl::Status ExplainState(const absl::Status& status, const std::string& directory) {
  if (!absl::IsDataLoss(status)) return status;
  return Annotate(status,
                  absl::StrCat("what is remembered of earlier runs (their paths, options and "
                               "history) is damaged; restore ",
                               directory, " from a backup, or move it away to begin without it"));
}

absl::StatusOr<std::unique_ptr<RocksBackedStore>> OpenState(const std::string& directory,
                                                            int64_t free_bytes_min) {
  RETURN_IF_ERROR(index::MakeDatabaseDirectory(directory, kStateKind, index::kStateFormat));
  RocksBudget budget = kStateBudget;
  budget.free_bytes_min = free_bytes_min;
  auto state = index::OpenRocksStore(directory, budget);
  if (!state.ok()) return ExplainState(state.status(), directory);
  return state;
}

class CoordinatorImpl final : public Coordinator {
 public:
  CoordinatorImpl(index::DirectoryLock lock, std::unique_ptr<RocksBackedStore> state,
                  OpenIndex index, std::unique_ptr<LeaseOffice> leases,
                  std::vector<std::string> warnings, const Coordinator::Options& options,
                  Clock& clock)
      : clock_(clock),
        lock_(std::move(lock)),
        state_(std::move(state)),
        index_(std::move(index)),
        leases_(std::move(leases)),
        warnings_(std::move(warnings)),
        service_(*index_.store, *index_.volumes, *leases_, options.rules,
                 ServiceMemory(options.memory_bytes)) {}

  grpc::Service& service() override { return service_; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

  absl::StatusOr<std::optional<std::string>> GetRecord(const std::string& name) override {
    return state_->Get(index::RecordKey(name));
  }

  absl::Status PutRecord(const std::string& name, const std::string& bytes) override {
    index::RowBatch batch;
    batch.Put(index::RecordKey(name), bytes);
    return state_->Write(batch);
  }

  absl::StatusOr<std::vector<std::string>> ListRecords(const std::string& prefix) override {
    const auto rows = state_->Walk(index::RecordKey(prefix));
    std::vector<std::string> names;
    for (; rows->Valid(); rows->Next()) {
      names.emplace_back(rows->key().substr(index::kRecordPrefix.size()));
    }
    RETURN_IF_ERROR(rows->status());
    return names;
  }

  OrderedStore& state() override { return *state_; }

  absl::Status CheckpointState(const std::string& directory) override {
    RETURN_IF_ERROR(state_->Checkpoint(directory));
    return index::MakeDatabaseDirectory(directory, kStateKind, index::kStateFormat);
  }

  absl::StatusOr<Fleet*> OpenFleet(Fleet::Options options) override {
    options.lease_ttl = leases_->ttl();
    options.waiting_bytes = [this](const VolumeUuid& uuid) { return WaitingBytes(uuid); };
    ASSIGN_OR_RETURN(fleet_, Fleet::Open(std::move(options), *state_, clock_));
    service_.ServeFleet(*fleet_);
    return fleet_.get();
  }

  absl::Status Compact() override { return index_.store->Compact(); }

 private:
  // Extents that wait, at their mean size.
  std::optional<int64_t> WaitingBytes(const VolumeUuid& uuid) const {
    const index::Volume* volume = index_.volumes->Find(uuid);
    if (volume == nullptr) return std::nullopt;
    const index::VolumeRecord record = volume->Record();
    if (record.extent_count() == 0) return std::nullopt;
    const double mean = static_cast<double>(record.extent_blocks()) * record.block_bytes() /
                        static_cast<double>(record.extent_count());
    return static_cast<int64_t>(mean * static_cast<double>(record.queue().queued_count()));
  }

  Clock& clock_;
  // In this order: what comes later refers to what comes before.
  const index::DirectoryLock lock_;
  const std::unique_ptr<RocksBackedStore> state_;
  const OpenIndex index_;
  const std::unique_ptr<LeaseOffice> leases_;
  const std::vector<std::string> warnings_;
  std::unique_ptr<Fleet> fleet_;  // null unless it was opened
  index::CoordinatorService service_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Open(const Options& options,
                                                               Clock& clock) {
  const std::string index_directory = options.state_directory + "/index";
  const std::string state_directory = options.state_directory + "/state";
  umask(077);
  RETURN_IF_ERROR(index::MakeStateDirectory(options.state_directory));
  // All is looked at before anything is changed.
  const absl::Status index_checked =
      index::CheckDatabaseDirectory(index_directory, kIndexKind, index::kIndexFormat);
  if (!absl::IsDataLoss(index_checked)) RETURN_IF_ERROR(index_checked);
  RETURN_IF_ERROR(
      ExplainState(index::CheckDatabaseDirectory(state_directory, kStateKind, index::kStateFormat),
                   state_directory));
  ASSIGN_OR_RETURN(index::DirectoryLock lock, index::DirectoryLock::Take(options.state_directory));

  // State is a few records: the index refuses long before it, so that work can still be ended.
  ASSIGN_OR_RETURN(std::unique_ptr<RocksBackedStore> state,
                   OpenState(state_directory, options.free_bytes_min / 8));
  std::vector<std::string> warnings = index::AccessWarnings(options.state_directory);
  ASSIGN_OR_RETURN(OpenIndex opened, OpenOrRebuildIndex(index_directory, IndexBudget(options),
                                                        index_checked, clock, warnings));
  ASSIGN_OR_RETURN(std::unique_ptr<LeaseOffice> leases,
                   LeaseOffice::Open(*state, clock, {.ttl = options.lease_ttl}));
  return std::make_unique<CoordinatorImpl>(std::move(lock), std::move(state), std::move(opened),
                                           std::move(leases), std::move(warnings), options, clock);
}

}  // namespace onefold
