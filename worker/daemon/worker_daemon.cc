#include "worker/daemon/worker_daemon.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/escape.h"
#include "common/status_macros.h"
#include "worker/daemon/run_figures.h"

namespace onefold {
namespace {

// Of one request, which must fit a message of gRPC together with the inventory.
constexpr size_t kRunBytesMax = 2 << 20;
constexpr int kRunsPerReportMax = 1000;
constexpr int kOrdersPerAnswerMax = 4096;
// Of the time to stop, what is kept for a last word to the coordinators.
constexpr absl::Duration kLastWords = absl::Milliseconds(1500);
// Between looks at what is mounted.
constexpr absl::Duration kMountsInterval = absl::Seconds(5);
// Of a coordinator, as sentences that are said here.
constexpr int kAdviceMax = 16;
constexpr char kHome[] = "";

}  // namespace

WorkerDaemon::WorkerDaemon(Options options, Parts parts)
    : options_(std::move(options)), parts_(std::move(parts)), assignments_(parts_.clock) {
  runner_ = parts_.make_runner(
      [this](const VolumeUuid& volume, LeaseWatch& watch) { return Connect(volume, watch); });
  desk_ = std::make_unique<RunDesk>(options_.desk, parts_.clock, parts_.journal, *runner_,
                                    [this] { waker_.Wake(); });
}

WorkerDaemon::~WorkerDaemon() { Stop(absl::InfiniteDuration()); }

absl::Status WorkerDaemon::Start() {
  RETURN_IF_ERROR(desk_->Load(), "reading what was under way");
  ticker_ = std::thread([this] { TickLoop(); });
  pthread_setname_np(ticker_.native_handle(), "onefold-desk");
  AddConversations();
  return absl::OkStatus();
}

bool WorkerDaemon::Stop(absl::Duration patience) {
  {
    MutexLock lock(&mutex_);
    if (std::exchange(stopping_, true)) return desk_->working_count() == 0;
    waker_.Wake();
  }
  if (ticker_.joinable()) ticker_.join();
  const bool idle = desk_->Stop(std::max(patience - kLastWords, absl::ZeroDuration()));
  std::vector<SyncLoop*> loops;
  {
    MutexLock lock(&mutex_);
    for (auto& [address, loop] : loops_) loops.push_back(loop.get());
  }
  for (SyncLoop* loop : loops) loop->CallSoon();
  const absl::Duration end = parts_.clock.Monotonic() + kLastWords;
  for (SyncLoop* loop : loops) {
    loop->AwaitCall(std::max(end - parts_.clock.Monotonic(), absl::ZeroDuration()));
    loop->Stop();
  }
  return idle;
}

std::string WorkerDaemon::StatusText() {
  const int count = desk_->working_count();
  return count == 0   ? "nothing to do"
         : count == 1 ? "1 run under way"
                      : absl::StrCat(count, " runs under way");
}

void WorkerDaemon::TickLoop() {
  bool mounts_changed = true;
  while (true) {
    absl::Duration next = desk_->Tick();
    NoteChanges();
    next = std::min(next, NoteMounts(mounts_changed));
    {
      MutexLock lock(&mutex_);
      if (stopping_) return;
    }
    // The clock of waiting may stand still in suspend.
    constexpr absl::Duration kStepMax = absl::Minutes(1);
    const Waker::Reason reason = waker_.Wait(std::min(next - parts_.clock.Monotonic(), kStepMax));
    mounts_changed = reason == Waker::Reason::kMounts;
  }
}

absl::Duration WorkerDaemon::NoteMounts(bool changed) {
  mounts_changed_ |= changed;
  if (!mounts_changed_) return absl::InfiniteDuration();
  const absl::Duration now = parts_.clock.Monotonic();
  // Where containers come and go, mounts change all the time.
  if (now < mounts_seen_ + kMountsInterval) return mounts_seen_ + kMountsInterval;
  mounts_seen_ = now;
  mounts_changed_ = false;
  const absl::StatusOr<MountTable> mounts = parts_.read_mounts();
  if (!mounts.ok()) return absl::InfiniteDuration();
  std::string mounted;
  for (v1::MountedVolume& volume :
       TakeInventory(*mounts, options_.allow, parts_.paths, parts_.facts).volumes) {
    volume.clear_used_bytes();
    absl::StrAppend(&mounted, volume.SerializeAsString(), ";");
  }
  if (std::exchange(mounted_, mounted) == mounted) return absl::InfiniteDuration();
  MutexLock lock(&mutex_);
  for (auto& [address, loop] : loops_) loop->Changed();
  return absl::InfiniteDuration();
}

void WorkerDaemon::NoteChanges() {
  std::string states;
  for (const RunDesk::Known& run : desk_->Runs()) {
    absl::StrAppend(&states, run.status.run_id(), " ", run.status.attempt(), " ",
                    run.status.state(), "\n");
  }
  MutexLock lock(&mutex_);
  if (states == states_) return;
  states_ = std::move(states);
  for (auto& [address, loop] : loops_) loop->Changed();
}

bool WorkerDaemon::IsServedBy(const std::string& address, const std::string& volume_bytes) {
  const std::optional<VolumeUuid> uuid = VolumeUuidFromBytes(volume_bytes);
  if (!uuid.has_value()) return false;
  return assignments_.Find(*uuid) == address;
}

v1::SyncRequest WorkerDaemon::MakeRequest(const std::string& address) {
  v1::SyncRequest request;
  request.set_worker_id(options_.worker_id);
  request.set_worker_version(options_.version);
  v1::HostReport& host = *request.mutable_host();
  host.set_display_name(options_.display_name);
  for (const auto& [name, value] : options_.labels) (*host.mutable_labels())[name] = value;

  const absl::StatusOr<MountTable> mounts = parts_.read_mounts();
  HostInventory inventory;
  if (mounts.ok()) {
    inventory = TakeInventory(*mounts, options_.allow, parts_.paths, parts_.facts);
  } else {
    inventory.problems.push_back(std::string(mounts.status().message()));
  }
  if (address == kHome) {
    SayOnce("inventory", true, inventory.problems);
    std::vector<VolumeUuid> volumes;
    for (const v1::MountedVolume& volume : inventory.volumes) {
      volumes.push_back(*VolumeUuidFromBytes(volume.volume_uuid()));
    }
    assignments_.Refresh(volumes, parts_.links.Home());
    AddConversations();
  }
  for (v1::MountedVolume& volume : inventory.volumes) {
    if (IsServedBy(address, volume.volume_uuid())) *host.add_volumes() = std::move(volume);
  }
  size_t bytes = 0;
  for (RunDesk::Known& run : desk_->Runs()) {
    // A volume that was unplugged before this worker began: home has its runs.
    const std::optional<VolumeUuid> uuid = VolumeUuidFromBytes(run.volume_uuid);
    const std::string served_by =
        uuid.has_value() ? assignments_.Find(*uuid).value_or(kHome) : kHome;
    if (served_by != address) continue;
    bytes += run.status.ByteSizeLong();
    if (bytes > kRunBytesMax || host.runs_size() >= kRunsPerReportMax) break;
    *host.add_runs() = std::move(run.status);
  }
  return request;
}

void WorkerDaemon::Take(const std::string& address, const v1::SyncResponse& response,
                        absl::Duration asked_at) {
  std::vector<std::string> refused;
  for (int i = 0; i < std::min(response.run_orders_size(), kOrdersPerAnswerMax); ++i) {
    const v1::RunOrder& order = response.run_orders(i);
    const absl::Status taken = desk_->Take(order, asked_at);
    if (!taken.ok()) {
      refused.push_back(absl::StrCat("an order of run ", Escape(WireText(order.run_id())),
                                     " is not taken: ", taken.message()));
    }
  }
  if (!refused.empty()) refused.resize(1);
  SayOnce(absl::StrCat("orders ", address), true, refused);
  std::vector<std::string> advice;
  for (const std::string& sentence : response.advice()) {
    if (advice.size() < kAdviceMax) advice.push_back(EscapeText(WireText(sentence)));
  }
  SayOnce(absl::StrCat("advice ", address), false, advice);
}

absl::StatusOr<std::unique_ptr<VolumeLink>> WorkerDaemon::Connect(const VolumeUuid& volume,
                                                                  LeaseWatch& watch) {
  const std::string address = assignments_.Find(volume).value_or(kHome);
  if (address == kHome) return parts_.links.Home().NewVolumeLink(watch);
  ASSIGN_OR_RETURN(FleetLink* const link, parts_.links.To(address));
  return link->NewVolumeLink(watch);
}

void WorkerDaemon::AddConversations() {
  std::vector<std::string> addresses = assignments_.addresses();
  addresses.push_back(kHome);
  for (const std::string& address : addresses) {
    FleetLink* link = &parts_.links.Home();
    if (address != kHome) {
      const absl::StatusOr<FleetLink*> other = parts_.links.To(address);
      if (!other.ok()) {
        SayOnce(absl::StrCat("address ", address), true,
                {absl::StrCat("the coordinator at ", Escape(address),
                              " cannot be called: ", other.status().message())});
        continue;
      }
      link = *other;
    }
    const std::string name = address == kHome ? "" : absl::StrCat(Escape(address), ": ");
    MutexLock lock(&mutex_);
    if (stopping_ || loops_.count(address) > 0) continue;
    auto loop = std::make_unique<SyncLoop>(SyncLoop::Parts{
        .clock = parts_.clock,
        .link = *link,
        .make_request = [this, address] { return MakeRequest(address); },
        .take = [this, address](const v1::SyncResponse& response,
                                absl::Duration asked_at) { Take(address, response, asked_at); },
        .say = [this, name](bool trouble,
                            const std::string& text) { parts_.say(trouble, name + text); },
        .chance = parts_.chance});
    loop->Start();
    loops_[address] = std::move(loop);
  }
}

void WorkerDaemon::SayOnce(const std::string& topic, bool trouble,
                           const std::vector<std::string>& sentences) {
  std::vector<std::string> fresh;
  {
    MutexLock lock(&mutex_);
    std::vector<std::string>& before = said_[topic];
    for (const std::string& sentence : sentences) {
      if (std::find(before.begin(), before.end(), sentence) == before.end()) {
        fresh.push_back(sentence);
      }
    }
    before = sentences;
  }
  for (const std::string& sentence : fresh) parts_.say(trouble, sentence);
}

}  // namespace onefold
