#ifndef ONEFOLD_COMMON_TESTING_TEST_SEED_H_
#define ONEFOLD_COMMON_TESTING_TEST_SEED_H_

#include <cstdint>

namespace onefold {

// The seed all chance of a test comes from: `--seed=N` on the test's command line, else
// ONEFOLD_SEED, else a fresh one. Printed when the test program starts, so that a failure can be
// replayed. The same for the whole process.
uint64_t TestSeed();

}  // namespace onefold

#endif  // ONEFOLD_COMMON_TESTING_TEST_SEED_H_
