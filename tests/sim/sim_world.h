// World: what the parts of a simulated fleet share: time, chance, the network, and the disks. Time
// passes only from event to event. Single-threaded.

#ifndef ONEFOLD_TESTS_SIM_SIM_WORLD_H_
#define ONEFOLD_TESTS_SIM_SIM_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/testing/fake_clock.h"
#include "common/uuid.h"

namespace onefold::sim {

// A filesystem with duplicates: pairs of equal extents, one of which is gone when they are folded.
// What is folded stays folded whoever crashes.
struct Disk {
  VolumeUuid uuid;
  int duplicate_count = 0;
  int64_t generation = 1;            // grows with what is written
  std::vector<int64_t> generations;  // of the duplicates
  std::set<int> folded;

  void Write(int count) {
    ++generation;
    duplicate_count += count;
    generations.resize(static_cast<size_t>(duplicate_count), generation);
  }
  // Blocks.
  static uint64_t AddressOf(int duplicate) { return 1000 + 100 * static_cast<uint64_t>(duplicate); }
  static uint64_t CopyOf(int duplicate) { return AddressOf(duplicate) + 50; }
  static int DuplicateAt(uint64_t address) { return static_cast<int>((address - 1000) / 100); }
};

class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {}

  uint64_t Chance(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Chance(n) == 0; }

  absl::Time now() { return clock_.Now(); }
  void At(absl::Time when, std::function<void()> what) {
    events_.emplace(std::make_pair(when, next_event_++), std::move(what));
  }
  void After(absl::Duration span, std::function<void()> what) { At(now() + span, std::move(what)); }
  // Lets everything happen that is to happen until then, or until something is wrong.
  void RunUntil(absl::Time until) {
    while (wrong_.empty() && !events_.empty() && events_.begin()->first.first <= until) {
      auto event = events_.extract(events_.begin());
      clock_.Advance(std::max(event.key().first - now(), absl::ZeroDuration()));
      event.mapped()();
    }
    clock_.Advance(std::max(until - now(), absl::ZeroDuration()));
  }

  // A message is lost, delayed or comes twice. `deliver` is called for each arrival.
  void Send(std::function<void()> deliver) {
    if (faulty_ && OneIn(12)) return;
    const int copies = faulty_ && OneIn(12) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      absl::Duration delay = absl::Milliseconds(1 + Chance(500));
      if (faulty_ && OneIn(15)) delay += absl::Seconds(Chance(600));
      After(delay, deliver);
    }
  }

  // The first broken invariant; empty while there is none.
  const std::string& wrong() const { return wrong_; }
  void Wrong(std::string what) {
    if (wrong_.empty()) wrong_ = absl::FormatTime("%H:%M:%S ", now(), absl::UTCTimeZone()) + what;
  }

  // A worker begins an operation of the run.
  void Operation(const std::string& run_id) {
    if (on_operation_) on_operation_(run_id);
  }
  void OnOperation(std::function<void(const std::string& run_id)> look) {
    on_operation_ = std::move(look);
  }

  bool faulty() const { return faulty_; }
  void Heal() { faulty_ = false; }
  FakeClock& clock() { return clock_; }
  std::vector<Disk>& disks() { return disks_; }
  Disk* FindDisk(const VolumeUuid& uuid) {
    for (Disk& disk : disks_) {
      if (disk.uuid == uuid) return &disk;
    }
    return nullptr;
  }

 private:
  FakeClock clock_;
  std::mt19937_64 random_;
  uint64_t next_event_ = 0;
  std::map<std::pair<absl::Time, uint64_t>, std::function<void()>> events_;
  std::vector<Disk> disks_;
  std::function<void(const std::string& run_id)> on_operation_;
  bool faulty_ = true;
  std::string wrong_;
};

}  // namespace onefold::sim

#endif  // ONEFOLD_TESTS_SIM_SIM_WORLD_H_
