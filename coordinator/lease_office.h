// LeaseOffice: the LeaseBoard with its clock and its memory in `state`. Thread-safe.

#ifndef ONEFOLD_COORDINATOR_LEASE_OFFICE_H_
#define ONEFOLD_COORDINATOR_LEASE_OFFICE_H_

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "coordinator/lease_board.h"
#include "coordinator/ordered_store.h"

namespace onefold::index {

class LeaseOffice {
 public:
  // Restores the leases of earlier lives. `clock` and `state` must outlive the office.
  static absl::StatusOr<std::unique_ptr<LeaseOffice>> Open(OrderedStore& state, Clock& clock,
                                                           LeaseBoard::Options options);

  // As LeaseBoard::Acquire; durable when it returns.
  absl::StatusOr<std::optional<LeaseBoard::Grant>> Acquire(const VolumeUuid& volume,
                                                           const std::string& worker);
  // As LeaseBoard::Release.
  void Release(const VolumeUuid& volume, const std::string& worker, int64_t epoch);
  // As LeaseBoard::Renew.
  absl::Status Renew(const VolumeUuid& volume, int64_t epoch);

  absl::Duration ttl() const { return ttl_; }

 private:
  LeaseOffice(OrderedStore& state, Clock& clock, LeaseBoard::Options options)
      : state_(state), clock_(clock), ttl_(options.ttl), board_(options) {}
  absl::Status Load();

  OrderedStore& state_;
  Clock& clock_;
  const absl::Duration ttl_;
  // Held over the write of a new lease, so that nobody is told of it before it is durable; taken
  // before mutex_. Several, because each of them waits for the disk.
  std::array<Mutex, 16> write_mutexes_;
  Mutex mutex_;
  LeaseBoard board_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_LEASE_OFFICE_H_
