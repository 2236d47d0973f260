// Jitter: spreads what is due at one instant over a while, the same way each time. Pure.

#ifndef ONEFOLD_COORDINATOR_FLEET_JITTER_H_
#define ONEFOLD_COORDINATOR_FLEET_JITTER_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/uuid.h"

namespace onefold::fleet {

// A well mixed number that depends on all three, whatever the machine and the day.
uint64_t Mix(uint64_t seed, absl::string_view name, const VolumeUuid& volume);

// From zero to `most`, both included, in whole seconds.
absl::Duration JitterOf(uint64_t seed, absl::string_view policy, const VolumeUuid& volume,
                        absl::Duration most);

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_JITTER_H_
