// ForEachInParallel: one function over the indices of a batch, on a few threads.

#ifndef ONEFOLD_WORKER_PARALLEL_H_
#define ONEFOLD_WORKER_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace onefold {

// Calls work(thread index, item index) for each item; blocks until all are done. `work` is called
// from several threads at a time, never twice for one item.
template <typename Work>
void ForEachInParallel(size_t item_count, int thread_count, Work work) {
  std::atomic<size_t> next{0};
  const auto loop = [&](int thread) {
    for (size_t i; (i = next.fetch_add(1)) < item_count;) work(thread, i);
  };
  std::vector<std::thread> threads;
  const int extra = static_cast<int>(std::min<size_t>(thread_count, item_count)) - 1;
  for (int thread = 1; thread <= extra; ++thread) threads.emplace_back(loop, thread);
  loop(0);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace onefold

#endif  // ONEFOLD_WORKER_PARALLEL_H_
