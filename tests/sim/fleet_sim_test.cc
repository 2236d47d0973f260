#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "common/testing/test_seed.h"
#include "gtest/gtest.h"
#include "tests/sim/fleet_sim.h"

namespace onefold::sim {
namespace {

// ONEFOLD_SIM_SEEDS, or what fits into a change's tests: a seed takes about 40 ms.
uint64_t SeedCount() {
  const char* text = std::getenv("ONEFOLD_SIM_SEEDS");
  const char* sanitizer = std::getenv("ONEFOLD_SANITIZE");
  uint64_t count = 0;
  if (text != nullptr && absl::SimpleAtoi(text, &count)) return count;
  return sanitizer != nullptr && *sanitizer != '\0' ? 100 : 700;
}

// The ways in which a fleet can break are combinations that nobody thinks of. Each seed is another
// one; the one that fails replays exactly with --seed=N, where it comes first.
TEST(FleetSimTest, NothingIsLostDoubledOrForgotten) {
  const uint64_t count = SeedCount();
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t seed = TestSeed() + i;
    const std::string wrong = FleetSim(seed).Run();
    ASSERT_EQ(wrong, "") << "replay with --seed=" << seed;
  }
}

}  // namespace
}  // namespace onefold::sim
