// The one place where RocksDB's status becomes ours, and where strings change type.

#ifndef ONEFOLD_COORDINATOR_ROCKS_STATUS_H_
#define ONEFOLD_COORDINATOR_ROCKS_STATUS_H_

#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onefold::index {

inline rocksdb::Slice ToSlice(absl::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline absl::string_view FromSlice(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

// The message names `directory`.
//
// RESOURCE_EXHAUSTED  the disk is full.
// DATA_LOSS           what was read is damaged.
// UNAVAILABLE         anything else that goes wrong below RocksDB.
absl::Status FromRocksStatus(const rocksdb::Status& status, const std::string& directory);

// The same for the status of DB::Open, where nearly everything that is wrong means damage: a file
// that is missing or cut, or a manifest that does not fit.
absl::Status FromRocksOpenStatus(const rocksdb::Status& status, const std::string& directory);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_ROCKS_STATUS_H_
