#include "cli/stopping.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>

namespace onefold {
namespace {

static_assert(std::atomic<int>::is_always_lock_free);

StopSignal* signal_stop = nullptr;
std::atomic<int> received_signal{0};

// Only what is safe in a signal handler.
void HandleSignal(int signal) {
  int none = 0;
  if (!received_signal.compare_exchange_strong(none, signal)) _exit(128 + signal);
  signal_stop->Request(StopSignal::Reason::kInterrupted);
}

bool IsIgnored(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void InstallSignalHandlers(StopSignal& stop) {
  signal_stop = &stop;
  struct sigaction action = {};
  action.sa_handler = &HandleSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
  // What the caller had ignored stays so: nohup, a job in the background of a script.
  for (const int signal : {SIGINT, SIGHUP}) {
    if (!IsIgnored(signal)) sigaction(signal, &action, nullptr);
  }
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

int ReceivedSignal() { return received_signal.load(); }

TimeLimit::TimeLimit(absl::Duration limit, Clock& clock, StopSignal& stop)
    : clock_(clock), stop_(stop), end_(clock.Monotonic() + limit) {
  if (limit > absl::ZeroDuration()) {
    thread_ = std::thread([this] { Run(); });
    pthread_setname_np(thread_.native_handle(), "time-limit");
  }
}

TimeLimit::~TimeLimit() {
  {
    MutexLock lock(&mutex_);
    done_ = true;
    done_changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void TimeLimit::Run() {
  // A long wait in one piece could end late: the clock of waiting may stand still in suspend.
  constexpr absl::Duration kStep = absl::Minutes(1);
  MutexLock lock(&mutex_);
  while (!done_) {
    const absl::Duration rest = end_ - clock_.Monotonic();
    if (rest <= absl::ZeroDuration()) {
      stop_.Request(StopSignal::Reason::kTimeLimit);
      return;
    }
    done_changed_.WaitFor(&mutex_, absl::ToChronoMilliseconds(
                                       absl::Ceil(std::min(rest, kStep), absl::Milliseconds(1))));
  }
}

}  // namespace onefold
