#include "worker/executor.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "worker/btrfs_errno.h"

namespace onefold {
namespace {

// What one call reads at most, sources and destinations together: large enough for sequential
// reading, small enough that all threads together stay far below a small NAS's memory.
constexpr int64_t kCallBytesMax = 8 << 20;
// The kernel's own step (BTRFS_MAX_DEDUPE_LEN); longer calls are cut there anyway.
constexpr int64_t kMoveBytesMax = 16 << 20;
constexpr int64_t kReadBytes = 1 << 20;
constexpr int kTriesMax = 3;

DedupeAnswer ClassifyOpenError(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound: return DedupeAnswer::kChanged;
    case absl::StatusCode::kPermissionDenied: return DedupeAnswer::kImmutable;
    case absl::StatusCode::kResourceExhausted: return DedupeAnswer::kNoMemory;
    case absl::StatusCode::kUnavailable: return DedupeAnswer::kBusy;
    case absl::StatusCode::kDataLoss: return DedupeAnswer::kReadError;
    default: return DedupeAnswer::kRefused;
  }
}

}  // namespace

// One FIDEDUPERANGE: a source range and destinations.
struct Executor::Call {
  struct Target {
    size_t drop = 0;  // index
    InodeId file;
    int64_t offset = 0;
  };
  InodeId source;
  int64_t source_offset = 0;
  int64_t length = 0;
  std::vector<Target> targets;
};

// The calls of one Execute, and the threads that work through them.
class Executor::Batch {
 public:
  Batch(Executor& executor, const std::vector<Drop>& drops)
      : executor_(executor), drops_(drops), results_(drops.size()), left_(drops.size()) {
    MakeCalls(drops);
  }

  std::vector<Execution> Run() {
    const int count = std::min(executor_.options_.thread_count, CallCount());
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([this] {
        pthread_setname_np(pthread_self(), "onefold-dedupe");
        Work();
      });
    }
    for (std::thread& thread : threads) thread.join();
    MutexLock lock(&mutex_);
    for (size_t i = 0; i < results_.size(); ++i) {
      Execution& result = results_[i];
      if (left_[i] > 0 && result.failure == DedupeAnswer::kSame) {
        result.failure = DedupeAnswer::kStopped;
      }
      result.moved = left_[i] == 0 && result.failure == DedupeAnswer::kSame;
    }
    return std::move(results_);
  }

 private:
  // Files that one call holds open; each opened once.
  struct OpenSet;

  // A source range that several calls may read. What of it was in the page cache counts as it was
  // before the first of them: the others find there what that one has read. It stays until the
  // last.
  struct SourceUse {
    int64_t calls_left = 0;
    bool known = false;
    std::vector<bool> resident = {};
  };
  using SourceKey = std::tuple<InodeId, int64_t, int64_t>;
  static SourceKey KeyOf(const Call& call) {
    return {call.source, call.source_offset, call.length};
  }

  // Moves in the order of the drops, cut into calls; moves from one source range share calls.
  void MakeCalls(const std::vector<Drop>& drops) {
    for (size_t i = 0; i < drops.size(); ++i) {
      for (const Move& move : drops[i].moves) {
        for (int64_t at = 0; at < move.length; at += kMoveBytesMax) {
          AddToCalls(i, move, at, std::min(kMoveBytesMax, move.length - at));
        }
      }
    }
    MutexLock lock(&mutex_);
    for (const Call& call : calls_) ++sources_[KeyOf(call)].calls_left;
  }

  void AddToCalls(size_t drop, const Move& move, int64_t at, int64_t length) {
    MutexLock lock(&mutex_);
    ++left_[drop];
    const Call::Target target{
        .drop = drop, .file = move.destination, .offset = move.destination_offset + at};
    // Drops of one group follow one another: the calls to join are among the last few.
    const size_t recent = calls_.size() - std::min<size_t>(calls_.size(), 4);
    for (size_t i = calls_.size(); i > recent; --i) {
      Call& call = calls_[i - 1];
      const int64_t bytes = static_cast<int64_t>(call.targets.size() + 2) * length;
      if (call.source == move.source && call.source_offset == move.source_offset + at &&
          call.length == length && bytes <= std::max(kCallBytesMax, 2 * length) &&
          call.targets.size() < executor_.options_.destinations_max) {
        call.targets.push_back(target);
        return;
      }
    }
    calls_.push_back({.source = move.source,
                      .source_offset = move.source_offset + at,
                      .length = length,
                      .targets = {target}});
  }

  int CallCount() {
    MutexLock lock(&mutex_);
    return static_cast<int>(calls_.size());
  }

  void Work() {
    std::string buffer;
    while (true) {
      Call* call = nullptr;
      {
        MutexLock lock(&mutex_);
        if (next_ == calls_.size() || !executor_.MayStart() ||
            executor_.fatal() != DedupeAnswer::kSame) {
          return;
        }
        call = &calls_[next_++];
      }
      Perform(*call, buffer);
    }
  }

  void Perform(Call& call, std::string& buffer);
  // Before and after a call reads its source.
  void UseSource(const Call& call, OpenFile& source);
  void ReleaseSource(const Call& call, OpenFile& source);
  void Ask(Call& call, OpenSet& files);
  void Prefetch(OpenFile& file, int64_t offset, int64_t length, std::string& buffer);

  // Waits until no other thread dedupes one of the inodes, then takes them.
  void LockInodes(const std::vector<InodeId>& inodes) {
    MutexLock lock(&mutex_);
    while (std::any_of(inodes.begin(), inodes.end(),
                       [&](const InodeId& id)
                           ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return busy_.contains(id); })) {
      free_.Wait(&mutex_);
    }
    busy_.insert(inodes.begin(), inodes.end());
  }
  void UnlockInodes(const std::vector<InodeId>& inodes) {
    MutexLock lock(&mutex_);
    for (const InodeId& id : inodes) busy_.erase(id);
    free_.NotifyAll();
  }

  void Record(const Call::Target& target, int64_t length, DedupeAnswer answer, int error) {
    if (IsFatal(answer)) executor_.fatal_.store(static_cast<int>(answer));
    MutexLock lock(&mutex_);
    Execution& result = results_[target.drop];
    if (answer == DedupeAnswer::kSame) {
      result.shared_bytes += length;
      if (--left_[target.drop] == 0 && result.failure == DedupeAnswer::kSame) {
        executor_.progress_.moved_bytes += drops_[target.drop].disk_bytes;
        executor_.progress_.plan_bytes_done += drops_[target.drop].disk_bytes;
      }
      return;
    }
    if (result.failure == DedupeAnswer::kSame) {
      result.failure = answer;
      result.error = error;
      result.failed_file = target.file;
    }
  }

  // A drop that has failed already frees nothing any more: its other moves would be for nothing.
  bool Failed(const Call::Target& target) {
    MutexLock lock(&mutex_);
    return results_[target.drop].failure != DedupeAnswer::kSame;
  }

  Executor& executor_;
  const std::vector<Drop>& drops_;
  Mutex mutex_;
  CondVar free_;
  std::vector<Call> calls_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<SourceKey, SourceUse> sources_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<InodeId> busy_ ABSL_GUARDED_BY(mutex_);
  std::vector<Execution> results_ ABSL_GUARDED_BY(mutex_);
  std::vector<int64_t> left_ ABSL_GUARDED_BY(mutex_);  // moves of a drop that are not done
};

struct Executor::Batch::OpenSet {
  // A range of an open file and what of it was in the page cache before.
  struct Range {
    OpenFile* file = nullptr;
    int64_t offset = 0;
    int64_t length = 0;
    std::vector<bool> resident = {};

    // Leaves the page cache as it was found.
    void Restore() {
      constexpr int64_t kPage = 4096;
      const int64_t begin = offset / kPage * kPage;
      for (size_t i = 0; i < resident.size();) {
        size_t end = i;
        while (end < resident.size() && resident[end] == resident[i]) ++end;
        if (!resident[i]) file->DropPages(begin + i * kPage, (end - i) * kPage);
        i = end;
      }
    }
  };

  // nullptr: `answer` says why.
  OpenFile* Open(Volume& volume, const InodeId& id, DedupeAnswer& answer) {
    for (auto& [known, file] : files) {
      if (known == id) return file.get();
    }
    absl::StatusOr<std::unique_ptr<OpenFile>> file = volume.Open(id);
    if (!file.ok()) {
      answer = ClassifyOpenError(file.status());
      return nullptr;
    }
    files.emplace_back(id, *std::move(file));
    return files.back().second.get();
  }

  std::vector<std::pair<InodeId, std::unique_ptr<OpenFile>>> files;
  OpenFile* source = nullptr;
  std::vector<Range> destinations;  // one for each of `targets`
  std::vector<Call::Target> targets;
};

void Executor::Batch::Perform(Call& call, std::string& buffer) {
  const int64_t request_count = static_cast<int64_t>(call.targets.size());
  if (executor_.options_.gate != nullptr) {
    executor_.options_.gate->Wait((request_count + 1) * call.length, request_count,
                                  executor_.stop_);
    if (!executor_.MayStart()) return;
  }
  OpenSet files;
  DedupeAnswer answer = DedupeAnswer::kSame;
  files.source = files.Open(executor_.volume_, call.source, answer);
  for (const Call::Target& target : call.targets) {
    if (Failed(target)) continue;
    OpenFile* file =
        files.source == nullptr ? nullptr : files.Open(executor_.volume_, target.file, answer);
    if (file == nullptr) {
      Record(target, call.length, answer, 0);
      continue;
    }
    files.targets.push_back(target);
    files.destinations.push_back({.file = file, .offset = target.offset, .length = call.length});
  }
  if (files.source == nullptr) return;
  if (!files.targets.empty()) {
    UseSource(call, *files.source);
    Prefetch(*files.source, call.source_offset, call.length, buffer);
  }
  for (OpenSet::Range& range : files.destinations) {
    range.resident = range.file->ResidentPages(range.offset, range.length);
    Prefetch(*range.file, range.offset, range.length, buffer);
  }
  if (!executor_.stop_.requested()) Ask(call, files);
  ReleaseSource(call, *files.source);
  for (OpenSet::Range& range : files.destinations) range.Restore();
}

void Executor::Batch::UseSource(const Call& call, OpenFile& source) {
  // Whoever has read pages noted before what was there.
  std::vector<bool> resident = source.ResidentPages(call.source_offset, call.length);
  MutexLock lock(&mutex_);
  SourceUse& use = sources_[KeyOf(call)];
  if (!std::exchange(use.known, true)) use.resident = std::move(resident);
}

void Executor::Batch::ReleaseSource(const Call& call, OpenFile& source) {
  OpenSet::Range range{.file = &source, .offset = call.source_offset, .length = call.length};
  {
    MutexLock lock(&mutex_);
    SourceUse& use = sources_[KeyOf(call)];
    // After a signal the calls that are left do not come.
    const bool last = --use.calls_left == 0 || executor_.stop_.requested() ||
                      executor_.fatal() != DedupeAnswer::kSame;
    if (last) range.resident = use.resident;
  }
  range.Restore();
}

void Executor::Batch::Ask(Call& call, OpenSet& files) {
  if (files.targets.empty()) return;
  std::vector<InodeId> inodes;
  for (const auto& [id, file] : files.files) inodes.push_back(id);
  LockInodes(inodes);
  // Destinations that are not done: index into files.targets, and how far each is.
  std::vector<size_t> todo(files.targets.size());
  for (size_t i = 0; i < todo.size(); ++i) todo[i] = i;
  int64_t done = 0;  // bytes at the front of the range that all of `todo` share already
  int tries = 0;
  // No request starts after a signal, nor under a lost lease, be it after a long wait for the
  // inodes.
  while (!todo.empty() && executor_.MayStart()) {
    std::vector<DedupeDestination> destinations;
    for (const size_t i : todo) {
      destinations.push_back(
          {.file = files.destinations[i].file, .offset = files.destinations[i].offset + done});
    }
    const int64_t length = call.length - done;
    const int error = executor_.volume_.Dedupe(*files.source, call.source_offset + done, length,
                                               absl::MakeSpan(destinations));
    executor_.progress_.dedupe_requests += static_cast<int64_t>(todo.size());
    std::vector<size_t> again;
    int64_t shortest = length;
    for (size_t n = 0; n < todo.size(); ++n) {
      const DedupeDestination& destination = destinations[n];
      const DedupeAnswer answer =
          error != 0 ? ClassifyError(error)
                     : ClassifyAnswer(destination.status, destination.bytes, length);
      const Call::Target& target = files.targets[todo[n]];
      if (answer == DedupeAnswer::kSame && destination.bytes < length) {
        shortest = std::min(shortest, destination.bytes);  // cut short: go on behind it
        again.push_back(todo[n]);
      } else if (IsTransient(answer) && tries + 1 < kTriesMax && !executor_.stop_.requested()) {
        shortest = 0;
        again.push_back(todo[n]);
      } else {
        Record(target, call.length, answer, error != 0 ? error : -destination.status);
      }
    }
    // A round that did not get farther counts as a try, whatever its reason: no request loops for
    // ever.
    if (shortest == 0 || again.size() == todo.size()) {
      if (++tries >= kTriesMax && shortest == 0) {
        for (const size_t i : again) {
          Record(files.targets[i], call.length, DedupeAnswer::kBusy, error);
        }
        break;
      }
      if (shortest == 0) std::this_thread::sleep_for(executor_.options_.retry_pause * tries);
    }
    if (!again.empty()) done += shortest;
    todo = std::move(again);
  }
  UnlockInodes(inodes);
}

void Executor::Batch::Prefetch(OpenFile& file, int64_t offset, int64_t length,
                               std::string& buffer) {
  if (buffer.empty()) buffer.resize(kReadBytes);
  for (int64_t at = 0; at < length && !executor_.stop_.requested();) {
    const auto got = file.Read(
        offset + at, absl::MakeSpan(buffer.data(), std::min<int64_t>(kReadBytes, length - at)));
    // An error is no reason to stop here: the kernel's own answer names it.
    if (!got.ok() || *got <= 0) return;
    at += *got;
    executor_.progress_.file_bytes_read += *got;
  }
}

Executor::Executor(Volume& volume, Options options, StopSignal& stop, Progress& progress)
    : volume_(volume), options_(options), stop_(stop), progress_(progress) {}

std::vector<Execution> Executor::Execute(const std::vector<Drop>& drops) {
  return Batch(*this, drops).Run();
}

}  // namespace onefold
