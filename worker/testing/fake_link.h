// FakeFleetLink: a coordinator as a test scripts it. Thread-safe.

#ifndef ONEFOLD_WORKER_TESTING_FAKE_LINK_H_
#define ONEFOLD_WORKER_TESTING_FAKE_LINK_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "worker/daemon/worker_daemon.h"

namespace onefold {

class FakeFleetLink final : public FleetLink {
 public:
  FakeFleetLink() { answer_.mutable_sync_delay()->set_seconds(60); }

  absl::StatusOr<v1::SyncResponse> Sync(const v1::SyncRequest& request) override {
    MutexLock lock(&mutex_);
    requests_.push_back(request);
    changed_.NotifyAll();
    if (!error_.ok()) return error_;
    return answer_;
  }
  absl::StatusOr<std::string> GetAssignment(const VolumeUuid& volume) override {
    MutexLock lock(&mutex_);
    ++questions_;
    if (!error_.ok()) return error_;
    return assignments_[volume];
  }
  std::unique_ptr<VolumeLink> NewVolumeLink(LeaseWatch&) override { return nullptr; }
  void Cancel() override {}

  void Fail(absl::Status error) {
    MutexLock lock(&mutex_);
    error_ = std::move(error);
  }
  void Assign(const VolumeUuid& volume, const std::string& address) {
    MutexLock lock(&mutex_);
    assignments_[volume] = address;
  }
  // What every call is answered with.
  void Answer(std::vector<v1::RunOrder> orders) {
    MutexLock lock(&mutex_);
    answer_.clear_run_orders();
    for (v1::RunOrder& order : orders) *answer_.add_run_orders() = std::move(order);
  }
  int questions() {
    MutexLock lock(&mutex_);
    return questions_;
  }
  // Waits for the first request that `wanted` agrees to, among all that came.
  v1::SyncRequest Await(const std::function<bool(const v1::SyncRequest&)>& wanted) {
    MutexLock lock(&mutex_);
    for (size_t i = 0;; ++i) {
      while (i == requests_.size()) changed_.Wait(&mutex_);
      if (wanted(requests_[i])) return requests_[i];
    }
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  v1::SyncResponse answer_ ABSL_GUARDED_BY(mutex_);
  std::map<VolumeUuid, std::string> assignments_ ABSL_GUARDED_BY(mutex_);
  int questions_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<v1::SyncRequest> requests_ ABSL_GUARDED_BY(mutex_);
};

// Coordinators by address.
class FakeFleetLinks final : public FleetLinks {
 public:
  FakeFleetLink home;
  std::map<std::string, FakeFleetLink> others;

  FleetLink& Home() override { return home; }
  absl::StatusOr<FleetLink*> To(const std::string& address) override {
    const auto found = others.find(address);
    if (found == others.end()) return absl::InvalidArgumentError("no such address");
    return &found->second;
  }
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_TESTING_FAKE_LINK_H_
