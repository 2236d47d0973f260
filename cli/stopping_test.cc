#include "cli/stopping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "common/testing/fake_clock.h"

namespace onefold {
namespace {

TEST(TimeLimitTest, StopsWhenTheTimeIsOver) {
  StopSignal stop;
  const TimeLimit limit(absl::Milliseconds(1), SystemClock(), stop);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!stop.requested() && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  EXPECT_EQ(stop.reason(), StopSignal::Reason::kTimeLimit);
}

TEST(TimeLimitTest, ARunThatEndsEarlierDoesNotWaitForIt) {
  StopSignal stop;
  FakeClock clock;
  { const TimeLimit limit(absl::Hours(4), clock, stop); }
  EXPECT_FALSE(stop.requested());
}

TEST(TimeLimitTest, NoLimitIsNone) {
  StopSignal stop;
  FakeClock clock;
  { const TimeLimit limit(absl::ZeroDuration(), clock, stop); }
  EXPECT_FALSE(stop.requested());
}

// Whoever presses Ctrl-C twice wants out, whatever hangs.
TEST(SignalTest, TheFirstAsksAndTheSecondEnds) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    static StopSignal stop;
    InstallSignalHandlers(stop);
    ::raise(SIGPIPE);
    if (stop.requested()) ::_exit(1);
    ::raise(SIGINT);
    if (stop.reason() != StopSignal::Reason::kInterrupted || ReceivedSignal() != SIGINT) ::_exit(2);
    ::raise(SIGTERM);
    ::_exit(3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
}

}  // namespace
}  // namespace onefold
