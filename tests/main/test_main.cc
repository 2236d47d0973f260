// main() of every GoogleTest program. Beside running the tests it settles three things that each of
// them would otherwise forget now and then:
//
//   - Debian's Abseil is built with its deadlock detector, which aborts on lock orders that gRPC
//     itself uses; it is switched off before the first lock is taken.
//   - Chance comes from one seed, printed first.
//   - A skipped test says so in one line that `./dev` collects, "SKIP: Suite.Test: reason", and a
//     program of which every test was skipped exits with 77, which ctest shows as skipped.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "common/testing/test_seed.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

constexpr int kExitSkipped = 77;

uint64_t test_seed = 0;

[[noreturn]] void RefuseSeed(absl::string_view text) {
  std::fprintf(stderr, "seed '%.*s' is no number from 0 to 2^64-1\n", static_cast<int>(text.size()),
               text.data());
  std::exit(2);
}

uint64_t SeedFrom(int argc, char** argv) {
  const char* from_environment = std::getenv("ONEFOLD_SEED");
  absl::string_view text = from_environment == nullptr ? "" : from_environment;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (absl::ConsumePrefix(&argument, "--seed=")) text = argument;
  }
  uint64_t seed = 0;
  if (text.empty()) {
    std::random_device device;
    seed = uint64_t{device()} << 32 | device();
  } else if (!absl::SimpleAtoi(text, &seed)) {
    RefuseSeed(text);
  }
  return seed;
}

// Says why, after each test: while a result is being added, GoogleTest holds a lock that asking for
// the current test would take again.
class SkipReporter : public ::testing::EmptyTestEventListener {
 private:
  void OnTestEnd(const ::testing::TestInfo& test) override {
    Report(*test.result(), absl::StrCat(test.test_suite_name(), ".", test.name()));
  }
  void OnTestSuiteEnd(const ::testing::TestSuite& suite) override {
    Report(suite.ad_hoc_test_result(), suite.name());
  }

  static void Report(const ::testing::TestResult& result, const std::string& what) {
    for (int i = 0; i < result.total_part_count(); ++i) {
      const ::testing::TestPartResult& part = result.GetTestPartResult(i);
      if (!part.skipped()) continue;
      const std::string reason = absl::StrReplaceAll(part.message(), {{"\n", " "}});
      std::printf("SKIP: %s: %s\n", what.c_str(), reason.c_str());
    }
  }
};

}  // namespace

uint64_t TestSeed() { return test_seed; }

}  // namespace onefold

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  ::testing::InitGoogleMock(&argc, argv);
  onefold::test_seed = onefold::SeedFrom(argc, argv);
  std::printf("seed %llu (replay with --seed=N or ONEFOLD_SEED=N)\n",
              static_cast<unsigned long long>(onefold::test_seed));
  ::testing::UnitTest& tests = *::testing::UnitTest::GetInstance();
  tests.listeners().Append(new onefold::SkipReporter);
  const int result = RUN_ALL_TESTS();
  const bool all_skipped = tests.test_to_run_count() > 0 && tests.successful_test_count() == 0;
  return result == 0 && all_skipped ? onefold::kExitSkipped : result;
}
