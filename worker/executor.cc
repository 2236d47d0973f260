#include "worker/executor.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
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
  if (IsTooManyOpenFiles(status)) return DedupeAnswer::kNoFiles;
  switch (status.code()) {
    case absl::StatusCode::kNotFound: return DedupeAnswer::kChanged;
    case absl::StatusCode::kPermissionDenied: return DedupeAnswer::kImmutable;
    case absl::StatusCode::kResourceExhausted: return DedupeAnswer::kNoMemory;
    case absl::StatusCode::kUnavailable: return DedupeAnswer::kBusy;
    case absl::StatusCode::kDataLoss: return DedupeAnswer::kReadError;
    default: return DedupeAnswer::kRefused;
  }
}

// Of a scratch file. No room is no reason to end the run: what needs no writing goes on.
DedupeAnswer ClassifyWriteError(const absl::Status& status) {
  if (IsTooManyOpenFiles(status)) return DedupeAnswer::kNoFiles;
  if (IsOverQuota(status)) return DedupeAnswer::kQuota;
  return absl::IsResourceExhausted(status) ? DedupeAnswer::kNoSpace : DedupeAnswer::kRefused;
}

}  // namespace

// One FIDEDUPERANGE: a source range and destinations.
struct Executor::Call {
  struct Target {
    size_t drop = 0;  // index
    InodeId file;
    int64_t offset = 0;
  };
  InodeId source = {};
  int64_t source_offset = 0;
  int64_t length = 0;
  std::vector<Target> targets = {};
};

// The calls of one Execute, and the threads that work through them.
class Executor::Batch {
 public:
  Batch(Executor& executor, const std::vector<Drop>& drops)
      : executor_(executor), drops_(drops), results_(drops.size()), left_(drops.size()) {
    MakeCalls(drops);
  }

  std::vector<Execution> Run() {
    relocating_ = true;
    InThreads(static_cast<int>(relocations_.size()), [this] { Relocate(); });
    relocating_ = false;
    InThreads(CallCount(), [this] { Work(); });
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

  void InThreads(int work_count, const std::function<void()>& work) {
    const int count = std::min(executor_.options_.thread_count, work_count);
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&work] {
        pthread_setname_np(pthread_self(), "onefold-dedupe");
        work();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // Moves in the order of the drops, cut into calls; moves from one source range share calls.
  void MakeCalls(const std::vector<Drop>& drops) {
    for (size_t i = 0; i < drops.size(); ++i) {
      for (const Move& move : drops[i].moves) {
        if (move.relocated) continue;
        for (int64_t at = 0; at < move.length; at += kMoveBytesMax) {
          AddToCalls(i, move, at, std::min(kMoveBytesMax, move.length - at));
        }
      }
      AddRelocation(i);
    }
    MutexLock lock(&mutex_);
    for (const Call& call : calls_) ++sources_[KeyOf(call)].calls_left;
  }

  // A stretch of data that is written anew, and who gets it.
  struct Part {
    InodeId source;
    int64_t source_offset = 0;
    int64_t length = 0;
    std::vector<Call::Target> targets = {};
    int64_t scratch_offset = 0;
  };
  struct Relocation {
    size_t drop = 0;
    std::vector<Part> parts = {};
    int64_t answer_count = 0;  // that are to come
  };

  void AddRelocation(size_t drop) {
    Relocation relocation{.drop = drop, .parts = PartsOf(drop)};
    if (relocation.parts.empty()) return;
    for (const Part& part : relocation.parts) {
      const int64_t calls = (part.length + kMoveBytesMax - 1) / kMoveBytesMax;
      relocation.answer_count += calls * static_cast<int64_t>(part.targets.size());
    }
    MutexLock lock(&mutex_);
    left_[drop] += relocation.answer_count;
    relocations_.push_back(std::move(relocation));
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

  // Takes drops that are to be relocated until there are none.
  void Relocate();
  void RelocateDrop(Relocation& relocation, ScratchFile& scratch, std::string& buffer);
  std::vector<Part> PartsOf(size_t index);
  // Writes `parts` to `scratch`, shares them from there. False: not everything was answered "same".
  bool RelocateParts(size_t index, absl::Span<Part> parts, ScratchFile& scratch,
                     std::string& buffer);
  int64_t SharedBytes(size_t index);
  // Shares what lies in `scratch` with all targets. False: it was told to stop.
  bool ShareParts(absl::Span<const Part> parts, ScratchFile& scratch, std::string& buffer);
  // Copies data of one file to the scratch file; kSame if all is there.
  DedupeAnswer Copy(const Part& part, ScratchFile& scratch, std::string& buffer);
  void Perform(Call& call, std::string& buffer);
  // Waits as long as the work is held up. False: it must not go on.
  bool PassGate(const Call& call);
  // Shares `call` from `source` with those targets that can be opened.
  void AskFrom(Call& call, OpenFile& source, OpenSet& files, std::string& buffer);
  // Before and after a call reads its source.
  void UseSource(const Call& call, OpenFile& source);
  void ReleaseSource(const Call& call, OpenFile& source);
  void Ask(Call& call, OpenSet& files);
  // False: the data cannot be read. Of what else goes wrong the kernel's own answer tells.
  bool Prefetch(OpenFile& file, int64_t offset, int64_t length, std::string& buffer);

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
    Record(target, length, answer, error, target.file);
  }
  // `file`: whose answer it is.
  void Record(const Call::Target& target, int64_t length, DedupeAnswer answer, int error,
              const InodeId& file) {
    MutexLock lock(&mutex_);
    Execution& result = results_[target.drop];
    // Without room for data, what needs no writing still goes on.
    const bool no_room = answer == DedupeAnswer::kNoSpace || answer == DedupeAnswer::kQuota;
    if (IsFatal(answer) && !(no_room && relocating_)) {
      executor_.fatal_.store(static_cast<int>(answer));
    }
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
      result.failed_file = file;
    }
  }

  // A drop that has failed already frees nothing any more: its other moves would be for nothing.
  bool Failed(const Call::Target& target) { return Failed(target.drop); }
  bool Failed(size_t drop) {
    MutexLock lock(&mutex_);
    return results_[drop].failure != DedupeAnswer::kSame;
  }

  Executor& executor_;
  const std::vector<Drop>& drops_;
  std::vector<Relocation> relocations_;  // each for one thread
  std::atomic<size_t> next_relocation_{0};
  std::atomic<bool> relocating_{false};
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
    bool readable = true;

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
  bool source_readable = true;
  std::vector<Range> destinations;  // one for each of `targets`
  std::vector<Call::Target> targets;
};

void Executor::Batch::Perform(Call& call, std::string& buffer) {
  if (!PassGate(call)) return;
  OpenSet files;
  DedupeAnswer answer = DedupeAnswer::kSame;
  OpenFile* const source = files.Open(executor_.volume_, call.source, answer);
  if (source == nullptr) {
    for (const Call::Target& target : call.targets) {
      if (!Failed(target)) Record(target, call.length, answer, 0, call.source);
    }
    return;
  }
  UseSource(call, *source);
  AskFrom(call, *source, files, buffer);
  ReleaseSource(call, *source);
}

bool Executor::Batch::PassGate(const Call& call) {
  if (executor_.options_.gate == nullptr) return true;
  const int64_t request_count = static_cast<int64_t>(call.targets.size());
  executor_.options_.gate->Wait((request_count + 1) * call.length, request_count, executor_.stop_);
  return executor_.MayStart();
}

void Executor::Batch::AskFrom(Call& call, OpenFile& source, OpenSet& files, std::string& buffer) {
  files.source = &source;
  for (const Call::Target& target : call.targets) {
    if (Failed(target)) continue;
    DedupeAnswer answer = DedupeAnswer::kSame;
    OpenFile* const file = files.Open(executor_.volume_, target.file, answer);
    if (file == nullptr) {
      Record(target, call.length, answer, 0);
      continue;
    }
    files.targets.push_back(target);
    files.destinations.push_back({.file = file, .offset = target.offset, .length = call.length});
  }
  if (files.targets.empty()) return;
  files.source_readable = Prefetch(source, call.source_offset, call.length, buffer);
  for (OpenSet::Range& range : files.destinations) {
    range.resident = range.file->ResidentPages(range.offset, range.length);
    range.readable = Prefetch(*range.file, range.offset, range.length, buffer);
  }
  if (!executor_.stop_.requested()) Ask(call, files);
  for (OpenSet::Range& range : files.destinations) range.Restore();
}

void Executor::Batch::Relocate() {
  std::string buffer;
  std::unique_ptr<ScratchFile> scratch;
  while (true) {
    const size_t next = next_relocation_++;
    if (next >= relocations_.size() || !executor_.MayStart() ||
        executor_.fatal() != DedupeAnswer::kSame) {
      return;
    }
    Relocation& relocation = relocations_[next];
    if (Failed(relocation.drop)) continue;  // for nothing, then
    if (scratch == nullptr) {
      auto made = executor_.volume_.NewScratchFile(executor_.options_.scratch_directory);
      if (!made.ok()) {
        Record(relocation.parts.front().targets.front(), 0, ClassifyWriteError(made.status()), 0);
        continue;
      }
      scratch = *std::move(made);
    }
    RelocateDrop(relocation, *scratch, buffer);
  }
}

std::vector<Executor::Batch::Part> Executor::Batch::PartsOf(size_t index) {
  std::map<SourceKey, Part> parts;
  for (const Move& move : drops_[index].moves) {
    if (!move.relocated) continue;
    Part& part = parts[{move.source, move.source_offset, move.length}];
    part.source = move.source;
    part.source_offset = move.source_offset;
    part.length = move.length;
    part.targets.push_back(
        {.drop = index, .file = move.destination, .offset = move.destination_offset});
  }
  std::vector<Part> list;
  for (auto& [key, part] : parts) list.push_back(std::move(part));
  // Only the last one in a scratch file may end in the middle of a block.
  const int64_t block = executor_.volume_.info().block_bytes;
  std::stable_partition(list.begin(), list.end(),
                        [&](const Part& part) { return part.length % block == 0; });
  return list;
}

void Executor::Batch::RelocateDrop(Relocation& relocation, ScratchFile& scratch,
                                   std::string& buffer) {
  const int64_t block = executor_.volume_.info().block_bytes;
  std::vector<Part>& parts = relocation.parts;
  for (size_t begin = 0; begin < parts.size();) {
    // At offset 0 a small file would be stored inline, which cannot be shared.
    int64_t at = block;
    size_t end = begin;
    while (end < parts.size()) {
      parts[end].scratch_offset = at;
      at += parts[end].length;
      if (parts[end++].length % block != 0) break;
    }
    if (!RelocateParts(relocation.drop, absl::MakeSpan(parts).subspan(begin, end - begin), scratch,
                       buffer)) {
      return;
    }
    begin = end;
  }
}

bool Executor::Batch::RelocateParts(size_t index, absl::Span<Part> parts, ScratchFile& scratch,
                                    std::string& buffer) {
  if (const absl::Status cleared = scratch.Clear(); !cleared.ok()) {
    Record(parts.front().targets.front(), 0, ClassifyWriteError(cleared), 0);
    return false;
  }
  for (const Part& part : parts) {
    if (const DedupeAnswer answer = Copy(part, scratch, buffer); answer != DedupeAnswer::kSame) {
      Record(part.targets.front(), 0, answer, 0, part.source);
      return false;
    }
  }
  const int64_t shared_before = SharedBytes(index);
  const bool asked = ShareParts(parts, scratch, buffer);
  if (SharedBytes(index) > shared_before) {
    const absl::StatusOr<int64_t> written = scratch.DiskBytes();
    MutexLock lock(&mutex_);
    if (written.ok()) {
      results_[index].written_bytes += *written;
    } else {  // counted as if it were all
      for (const Part& part : parts) results_[index].written_bytes += part.length;
    }
  }
  return asked && !Failed(index) && executor_.MayStart();
}

bool Executor::Batch::ShareParts(absl::Span<const Part> parts, ScratchFile& scratch,
                                 std::string& buffer) {
  for (const Part& part : parts) {
    for (int64_t at = 0; at < part.length; at += kMoveBytesMax) {
      const size_t step = executor_.options_.destinations_max;
      for (size_t first = 0; first < part.targets.size(); first += step) {
        Call call{.source_offset = part.scratch_offset + at,
                  .length = std::min(kMoveBytesMax, part.length - at)};
        for (size_t i = first; i < std::min(first + step, part.targets.size()); ++i) {
          call.targets.push_back(part.targets[i]);
          call.targets.back().offset += at;
        }
        if (!PassGate(call)) return false;
        OpenSet files;
        AskFrom(call, scratch, files, buffer);
      }
    }
  }
  return true;
}

int64_t Executor::Batch::SharedBytes(size_t index) {
  MutexLock lock(&mutex_);
  return results_[index].shared_bytes;
}

DedupeAnswer Executor::Batch::Copy(const Part& part, ScratchFile& scratch, std::string& buffer) {
  OpenSet files;
  DedupeAnswer answer = DedupeAnswer::kSame;
  OpenFile* const source = files.Open(executor_.volume_, part.source, answer);
  if (source == nullptr) return answer;
  OpenSet::Range range{.file = source,
                       .offset = part.source_offset,
                       .length = part.length,
                       .resident = source->ResidentPages(part.source_offset, part.length)};
  if (buffer.empty()) buffer.resize(kReadBytes);
  for (int64_t at = 0; at < part.length && answer == DedupeAnswer::kSame;) {
    if (executor_.stop_.requested()) return DedupeAnswer::kStopped;
    const auto got = source->Read(
        part.source_offset + at,
        absl::MakeSpan(buffer.data(), std::min<int64_t>(kReadBytes, part.length - at)));
    if (!got.ok()) {
      answer = ClassifyOpenError(got.status());
    } else if (*got <= 0) {
      answer = DedupeAnswer::kChanged;
    } else {
      executor_.progress_.file_bytes_read += *got;
      const absl::Status written =
          scratch.Write(part.scratch_offset + at, absl::string_view(buffer.data(), *got));
      if (!written.ok()) answer = ClassifyWriteError(written);
      at += *got;
    }
  }
  range.Restore();
  return answer;
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
      // The kernel does not say which side it could not read.
      const bool blames_source = answer == DedupeAnswer::kReadError && !files.source_readable &&
                                 files.destinations[todo[n]].readable;
      if (answer == DedupeAnswer::kSame && destination.bytes < length) {
        shortest = std::min(shortest, destination.bytes);  // cut short: go on behind it
        again.push_back(todo[n]);
      } else if (IsTransient(answer) && tries + 1 < kTriesMax && !executor_.stop_.requested()) {
        shortest = 0;
        again.push_back(todo[n]);
      } else {
        Record(target, call.length, answer, error != 0 ? error : -destination.status,
               blames_source ? call.source : target.file);
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

bool Executor::Batch::Prefetch(OpenFile& file, int64_t offset, int64_t length,
                               std::string& buffer) {
  if (buffer.empty()) buffer.resize(kReadBytes);
  for (int64_t at = 0; at < length && !executor_.stop_.requested();) {
    const auto got = file.Read(
        offset + at, absl::MakeSpan(buffer.data(), std::min<int64_t>(kReadBytes, length - at)));
    if (!got.ok() || *got <= 0) return !absl::IsDataLoss(got.status());
    at += *got;
    executor_.progress_.file_bytes_read += *got;
  }
  return true;
}

Executor::Executor(Volume& volume, Options options, StopSignal& stop, Progress& progress)
    : volume_(volume), options_(options), stop_(stop), progress_(progress) {}

std::vector<Execution> Executor::Execute(const std::vector<Drop>& drops) {
  return Batch(*this, drops).Run();
}

}  // namespace onefold
