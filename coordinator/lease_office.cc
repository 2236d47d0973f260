#include "coordinator/lease_office.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/state_keys.h"
#include "onefold/storage/v1/lease.pb.h"

namespace onefold::index {

absl::StatusOr<std::unique_ptr<LeaseOffice>> LeaseOffice::Open(OrderedStore& state, Clock& clock,
                                                               LeaseBoard::Options options) {
  auto office = std::unique_ptr<LeaseOffice>(new LeaseOffice(state, clock, options));
  RETURN_IF_ERROR(office->Load());
  return office;
}

absl::Status LeaseOffice::Load() {
  MutexLock lock(&mutex_);
  const auto rows = state_.Walk(kLeasePrefix);
  for (; rows->Valid(); rows->Next()) {
    const std::optional<VolumeUuid> volume = ParseLeaseKey(rows->key());
    storage::v1::LeaseRecord record;
    if (!volume || !record.ParseFromString(std::string(rows->value()))) {
      return absl::DataLossError("a record of a lease is damaged");
    }
    board_.Restore(*volume, record.epoch(), record.worker_id(), clock_.Monotonic());
  }
  return rows->status();
}

absl::StatusOr<std::optional<LeaseBoard::Grant>> LeaseOffice::Acquire(const VolumeUuid& volume,
                                                                      const std::string& worker) {
  MutexLock write(&write_mutexes_[volume.bytes.back() % write_mutexes_.size()]);
  std::optional<LeaseBoard::Grant> grant;
  {
    MutexLock lock(&mutex_);
    grant = board_.Acquire(volume, worker, clock_.Monotonic());
  }
  if (!grant || !grant->is_new) return grant;
  storage::v1::LeaseRecord record;
  record.set_epoch(grant->epoch);
  record.set_worker_id(worker);
  RowBatch batch;
  batch.Put(LeaseKey(volume), record.SerializeAsString());
  const absl::Status status = state_.Write(batch);
  if (!status.ok()) {
    MutexLock lock(&mutex_);
    board_.Revoke(volume, grant->epoch);
  }
  RETURN_IF_ERROR(status, "recording a lease");
  return grant;
}

void LeaseOffice::Release(const VolumeUuid& volume, const std::string& worker, int64_t epoch) {
  MutexLock write(&write_mutexes_[volume.bytes.back() % write_mutexes_.size()]);
  {
    MutexLock lock(&mutex_);
    if (!board_.Release(volume, worker, epoch)) return;
  }
  storage::v1::LeaseRecord record;
  record.set_epoch(epoch);
  RowBatch batch;
  batch.Put(LeaseKey(volume), record.SerializeAsString());
  // Should it be lost, others wait after a restart: no harm.
  state_.Write(batch).IgnoreError();
}

absl::Status LeaseOffice::Renew(const VolumeUuid& volume, int64_t epoch) {
  MutexLock lock(&mutex_);
  return board_.Renew(volume, epoch, clock_.Monotonic());
}

}  // namespace onefold::index
