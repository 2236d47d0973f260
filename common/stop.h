// StopSignal: one flag that asks everything to end soon. Thread-safe, async-signal-safe to set.

#ifndef ONEFOLD_COMMON_STOP_H_
#define ONEFOLD_COMMON_STOP_H_

#include <atomic>

namespace onefold {

class StopSignal {
 public:
  enum class Reason : int { kNone = 0, kInterrupted = 1, kTimeLimit = 2 };

  // Asks to stop. The first reason stays.
  void Request(Reason reason) {
    int none = 0;
    reason_.compare_exchange_strong(none, static_cast<int>(reason));
  }
  bool requested() const { return reason_.load(std::memory_order_relaxed) != 0; }
  Reason reason() const { return static_cast<Reason>(reason_.load()); }

 private:
  std::atomic<int> reason_{0};
};

}  // namespace onefold

#endif  // ONEFOLD_COMMON_STOP_H_
