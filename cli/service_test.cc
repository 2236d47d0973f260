#include "cli/service.h"

#include <signal.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "cli/run_summary.h"
#include "cli/settings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Notes what is asked of it, and ends itself as `kill` would.
class NotingService final : public Service {
 public:
  NotingService(std::vector<std::string>& calls, absl::Status start)
      : calls_(calls), start_(std::move(start)) {}
  ~NotingService() override { calls_.push_back("gone"); }

  absl::StatusOr<Started> Start(const Config& config, Clock&, Log& log) override {
    log_ = &log;
    calls_.push_back("start " + config.Text("log_level"));
    if (!start_.ok()) return start_;
    return Started{.message = "working", .fields = {}, .status = "works"};
  }
  std::string Tick() override {
    calls_.push_back("tick");
    kill(getpid(), SIGTERM);  // the signal is blocked until the loop asks for it
    return "";
  }
  bool Stop() override {
    log_->Debug("a service may log for as long as it is there");
    calls_.push_back("stop");
    return true;
  }

 private:
  std::vector<std::string>& calls_;
  const absl::Status start_;
  Log* log_ = nullptr;
};

class ServiceTest : public ::testing::Test {
 protected:
  int Run(const Arguments& arguments, absl::Status start = absl::OkStatus()) {
    return RunService({.command = {.name = "onefold test",
                                   .default_file = "/nonexistent/test.yaml",
                                   .settings = LogSettings()},
                       .tick_interval = absl::Seconds(1),
                       .stop_limit = absl::Hours(1)},
                      arguments, std::make_unique<NotingService>(calls_, std::move(start)));
  }
  std::vector<std::string> calls_;
};

TEST_F(ServiceTest, BeginsServesAndEnds) {
  EXPECT_EQ(Run({"--log-level", "error"}), kExitDone);
  EXPECT_THAT(calls_, ElementsAre("start error", "tick", "stop", "gone"));
}

TEST_F(ServiceTest, WhatCannotStartIsRefused) {
  EXPECT_EQ(Run({"--log-level", "error"}, absl::UnavailableError("the address is in use")),
            kExitRefused);
  EXPECT_THAT(calls_, ElementsAre("start error", "gone"));
}

TEST_F(ServiceTest, AWrongConfigurationStartsNothing) {
  EXPECT_EQ(Run({"--log-levle", "error"}), kExitRefused);
  EXPECT_EQ(Run({"--check-config"}), kExitDone);
  EXPECT_THAT(calls_, ElementsAre("gone", "gone"));
}

}  // namespace
}  // namespace onefold
