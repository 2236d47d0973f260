// ShardMap: which of several coordinators a volume belongs to. Pure.
//
// Rendezvous hashing: every shard gives each volume a score, the highest one serves it. All that
// have the same list agree, in whatever order it stands, and a shard that comes or goes moves only
// the volumes that it gains or loses.

#ifndef ONEFOLD_COORDINATOR_SHARD_MAP_H_
#define ONEFOLD_COORDINATOR_SHARD_MAP_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/uuid.h"

namespace onefold {

class ShardMap {
 public:
  // One coordinator for everything.
  ShardMap() = default;
  // `addresses`: of all shards ("host:port"), `own_index` says which of them this one is. Without
  // addresses as above; else own_index < addresses.size().
  ShardMap(std::vector<std::string> addresses, size_t own_index);

  bool IsOwn(const VolumeUuid& volume) const;
  // Where to dial for the volume; empty if it is served here.
  std::string AddressFor(const VolumeUuid& volume) const;
  // FAILED_PRECONDITION: the volume is another shard's; the message has its address.
  absl::Status CheckOwn(const VolumeUuid& volume) const;

 private:
  size_t IndexFor(const VolumeUuid& volume) const;

  std::vector<std::string> addresses_;
  size_t own_index_ = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_SHARD_MAP_H_
