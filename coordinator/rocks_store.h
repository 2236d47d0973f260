// RocksStore: an OrderedStore on RocksDB, tuned for little memory.
//
// How a batch is written depends on its size. Small ones go through the write-ahead log. Big ones
// (kIngestRowsMin) are sorted, written as table files and ingested: with Debian's RocksDB that is
// about ten times cheaper than the way through the memtable. Extents get a file of their own:
// they come in ascending order, so these files never overlap and need no compaction. The files of a
// batch become visible together.

#ifndef ONEFOLD_COORDINATOR_ROCKS_STORE_H_
#define ONEFOLD_COORDINATOR_ROCKS_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "coordinator/ordered_store.h"

namespace onefold::index {

// Rows from which on a batch is ingested as table files. Below it four fsyncs cost more than a log
// of that size.
inline constexpr size_t kIngestRowsMin = 16384;

// Block caches, write buffers and background threads of the stores of a process. Thread-safe.
struct RocksBudget {
  size_t block_cache_bytes = 8 << 20;
  size_t write_buffer_bytes = 4 << 20;
  // A log that is damaged, emptied or gone is an error, where a soft database goes on with what is
  // before the damage. A last record that a kill cut off is none. See sequence_note.h.
  bool strict_log = false;
  // Writes are refused while less is free on the disk; 0: until it is full.
  int64_t free_bytes_min = 0;
  // Table files that are held open.
  int open_files = 64;
  // For hundreds of millions of rows, written by many at a time: larger levels, tables
  // made in parallel, and whoever writes large batches faster than they are merged is held back.
  bool large = false;
};

class RocksBackedStore : public OrderedStore {
 public:
  // Makes `directory`, which must be absent, a copy of the store as it is now. Table files are
  // linked, so it must lie on the same filesystem.
  virtual absl::Status Checkpoint(const std::string& directory) = 0;
};

// Opens the database in `directory` to look at it as it is now, changing no file of it. Another
// process may be using it; of what that writes later nothing is seen, and what it deletes may be
// missed when it is asked for (UNAVAILABLE, DATA_LOSS: open it anew). All writes answer
// FAILED_PRECONDITION.
//
// NOT_FOUND  there is none.
// DATA_LOSS  it is damaged.
absl::StatusOr<std::unique_ptr<OrderedStore>> OpenRocksStoreReadOnly(const std::string& directory,
                                                                     const RocksBudget& budget);

// Opens or creates the database in `directory`, which must exist and is used by nobody else.
//
// DATA_LOSS           it is damaged.
// RESOURCE_EXHAUSTED  the disk is full.
absl::StatusOr<std::unique_ptr<RocksBackedStore>> OpenRocksStore(const std::string& directory,
                                                                 const RocksBudget& budget);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_ROCKS_STORE_H_
