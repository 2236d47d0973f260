#include "bench/fleet_load/sync_load.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <queue>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/fleet_load/fleet_connection.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "onefold/v1/coordinator_service.grpc.pb.h"

namespace onefold::bench {
namespace {

// Far beyond what is wanted; a call that takes longer is a failure.
constexpr absl::Duration kCallDeadline = absl::Seconds(30);
// How often the thread looks whether a call is due.
constexpr absl::Duration kTick = absl::Milliseconds(5);
constexpr int kPriority = -10;
// Connections made at a time.
constexpr int64_t kFirstCallsAtOnce = 32;

absl::Duration Now() { return SystemClock().Monotonic(); }

// One Sync under way.
struct Call {
  grpc::ClientContext context;
  v1::SyncResponse response;
  grpc::Status status;
  absl::Duration begun;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::SyncResponse>> reader;
};

class SyncLoadImpl final : public SyncLoad {
 public:
  SyncLoadImpl(const std::string& address, int64_t worker_count, absl::Duration interval)
      : interval_(interval) {
    for (int64_t worker = 0; worker < worker_count; ++worker) {
      stubs_.push_back(v1::CoordinatorService::NewStub(Connect(address)));
      requests_.push_back(RequestOf(worker));
    }
    for (int64_t begin = 0; begin < worker_count; begin += kFirstCallsAtOnce) {
      const int64_t end = std::min(begin + kFirstCallsAtOnce, worker_count);
      for (int64_t worker = begin; worker < end; ++worker) Begin(worker);
      while (under_way_ > 0) Await(kCallDeadline);
    }
    Take();
    thread_ = std::thread([this] { Run(); });
  }

  ~SyncLoadImpl() override {
    stop_ = true;
    thread_.join();
    while (under_way_ > 0) Await(kCallDeadline);
    queue_.Shutdown();
  }

  void SetInterval(absl::Duration interval) override {
    MutexLock lock(&mutex_);
    interval_ = interval;
    changed_ = true;
  }

  void SetChanges(int64_t percent) override { change_percent_ = percent; }

  Latencies Take() override {
    MutexLock lock(&mutex_);
    return std::exchange(latencies_, {});
  }

 private:
  static v1::SyncRequest RequestOf(int64_t worker) {
    const VolumeState state = StateOf(worker);
    v1::SyncRequest request;
    request.set_worker_id(WorkerId(worker));
    request.set_worker_version("fleet_load");
    v1::VolumeState& volume = *request.add_volumes();
    volume.set_uuid(ToBytes(state.uuid));
    volume.set_block_bytes(state.block_bytes);
    volume.set_checksum_kind(static_cast<v1::ChecksumKind>(state.checksum_kind));
    volume.set_filesystem_generation(state.filesystem_generation);
    v1::HostReport& host = *request.mutable_host();
    host.set_display_name(WorkerId(worker));
    v1::MountedVolume& mounted = *host.add_volumes();
    mounted.set_volume_uuid(volume.uuid());
    mounted.add_mount_paths("/srv/data");
    mounted.add_allowed_roots("/srv/data");
    mounted.set_size_bytes(int64_t{4} << 40);
    return request;
  }

  void Begin(int64_t worker) {
    owed_changes_ += change_percent_;
    if (owed_changes_ >= 100) {
      owed_changes_ -= 100;
      v1::MountedVolume& mounted = *requests_[worker].mutable_host()->mutable_volumes(0);
      mounted.set_size_bytes(mounted.size_bytes() + 4096);  // the filesystem was grown
    }
    auto call = std::make_unique<Call>();
    call->context.set_deadline(std::chrono::system_clock::now() +
                               absl::ToChronoMilliseconds(kCallDeadline));
    call->context.set_wait_for_ready(true);
    call->begun = Now();
    call->reader = stubs_[worker]->AsyncSync(&call->context, requests_[worker], &queue_);
    ++under_way_;
    Call* const tag = call.release();  // Await takes it back
    tag->reader->Finish(&tag->response, &tag->status, tag);
  }

  // Waits for an answer. False if none came.
  bool Await(absl::Duration patience) {
    void* tag = nullptr;
    bool ok = false;
    const auto until = std::chrono::system_clock::now() + absl::ToChronoMicroseconds(patience);
    if (queue_.AsyncNext(&tag, &ok, until) != grpc::CompletionQueue::GOT_EVENT) return false;
    const std::unique_ptr<Call> call(static_cast<Call*>(tag));
    --under_way_;
    MutexLock lock(&mutex_);
    latencies_.taken.push_back(Now() - call->begun);
    if (!call->status.ok()) ++latencies_.failure_count;
    return true;
  }

  // When each worker is due: spread evenly over the interval.
  void Run() {
    // Other hosts would not wait behind the load that this one makes; what is measured is the
    // coordinator. Without the right to it, the figures are worse than they should be.
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kPriority);
    size_t next = 0;
    absl::Duration due = Now();
    while (!stop_) {
      absl::Duration interval;
      {
        MutexLock lock(&mutex_);
        interval = interval_;
        if (std::exchange(changed_, false)) due = Now();
      }
      while (!stubs_.empty() && due <= Now()) {
        Begin(static_cast<int64_t>(next));
        next = (next + 1) % stubs_.size();
        due += interval / static_cast<int64_t>(stubs_.size());
      }
      const absl::Duration pause = std::clamp(due - Now(), absl::ZeroDuration(), kTick);
      while (Await(pause) && due > Now()) {
      }
    }
  }

  std::vector<std::unique_ptr<v1::CoordinatorService::Stub>> stubs_;
  std::vector<v1::SyncRequest> requests_;
  grpc::CompletionQueue queue_;
  int64_t under_way_ = 0;     // of the thread, while there is one
  int64_t owed_changes_ = 0;  // hundredths; as under_way_
  std::atomic<int64_t> change_percent_ = 0;
  std::atomic<bool> stop_ = false;
  Mutex mutex_;
  absl::Duration interval_ ABSL_GUARDED_BY(mutex_);
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;
  Latencies latencies_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace

absl::Duration Latencies::Percentile(double percent) {
  if (taken.empty()) return absl::ZeroDuration();
  std::sort(taken.begin(), taken.end());
  const double rank = std::ceil(percent / 100 * static_cast<double>(taken.size()));
  return taken[std::clamp<size_t>(static_cast<size_t>(rank), 1, taken.size()) - 1];
}

std::unique_ptr<SyncLoad> StartSyncLoad(const std::string& address, int64_t worker_count,
                                        absl::Duration interval) {
  return std::make_unique<SyncLoadImpl>(address, worker_count, interval);
}

}  // namespace onefold::bench
