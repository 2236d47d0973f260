// What `onefold dedupe` remembers of its runs, told as the books of a fleet that has one host, so
// that the same questions have the same answers on a single host. Pure; the books are made up anew
// whenever somebody looks.
//
// What was not kept is absent: of runs of older programs it is not known which volume was freed of
// how much, and figures of volumes say "at least" then.

#ifndef ONEFOLD_COORDINATOR_QUERY_SINGLE_HOST_H_
#define ONEFOLD_COORDINATOR_QUERY_SINGLE_HOST_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/uuid.h"
#include "coordinator/ordered_store.h"
#include "coordinator/query/census.h"
#include "onefold/v1/fleet.pb.h"

namespace onefold::query {

// Names the host in the books.
inline constexpr char kSingleHostId[] = "local";

struct SingleHost {
  std::string name;                        // of the machine
  std::string version;                     // of the program
  std::vector<v1::MountedVolume> mounted;  // what it has mounted now
  std::vector<VolumeUuid> indexed;         // what the index knows
  // A run is under way; else one that did not end was killed.
  bool running = false;
  absl::Time now;
};

// Whether `state` has books of a fleet (or of a host with a schedule): then these are to be used.
absl::StatusOr<bool> HasFleetBooks(const index::OrderedStore& state);

// Writes into `books`, which is empty, what `state` tells. DATA_LOSS: it is damaged.
absl::Status WriteBooks(const index::OrderedStore& state, const SingleHost& host,
                        index::OrderedStore& books);

// The volumes of an index. DATA_LOSS: it is damaged.
absl::StatusOr<std::vector<CountedVolume>> ReadVolumes(const index::OrderedStore& index);

}  // namespace onefold::query

#endif  // ONEFOLD_COORDINATOR_QUERY_SINGLE_HOST_H_
