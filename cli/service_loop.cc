#include "cli/service_loop.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "cli/run_summary.h"

namespace onefold {
namespace {

bool IsIgnored(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t ServiceSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  for (const int signal : {SIGINT, SIGHUP}) {
    if (!IsIgnored(signal)) sigaddset(&signals, signal);
  }
  return signals;
}

// The signal that came within `span`, or 0.
int AwaitSignal(absl::Duration span) {
  const sigset_t signals = ServiceSignals();
  const timespec timeout = absl::ToTimespec(std::max(span, absl::ZeroDuration()));
  const int signal = sigtimedwait(&signals, nullptr, &timeout);
  return signal > 0 ? signal : 0;
}

}  // namespace

void BlockServiceSignals() {
  const sigset_t signals = ServiceSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

int ServeUntilSignal(const ServiceManager& manager, absl::Duration interval,
                     const std::function<void()>& tick) {
  const absl::Duration step = std::min(interval, manager.watchdog_interval());
  while (true) {
    tick();
    manager.Alive();
    if (const int signal = AwaitSignal(step); signal != 0) return signal;
  }
}

void EndProcessAfter(absl::Duration limit, int exit_code) {
  std::thread([limit, exit_code] {
    const int signal = AwaitSignal(limit);
    _exit(signal != 0 ? kExitSignalBase + signal : exit_code);
  }).detach();
}

}  // namespace onefold
