// Volumes of the index and their records (rows V).
//
// A record holds the cursor and the counters of a volume. It must never disagree with the rows it
// speaks about, whatever happens, so every change of rows goes through Volume::Update, which puts
// the new record into the same atomic batch.

#ifndef ONEFOLD_COORDINATOR_VOLUME_BOOK_H_
#define ONEFOLD_COORDINATOR_VOLUME_BOOK_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/mutex.h"
#include "common/uuid.h"
#include "coordinator/keys.h"
#include "coordinator/ordered_store.h"
#include "onefold/storage/v1/volume.pb.h"

namespace onefold::index {

using storage::v1::VolumeRecord;

inline VolumeNumber NumberOf(const VolumeRecord& record) { return {record.number()}; }

// One volume. Thread-safe. Lives as long as its book. Records are read without waiting for an
// update that is under way: they are those of the last one that was written.
class Volume {
 public:
  // `store` must outlive the volume.
  Volume(const VolumeUuid& uuid, VolumeRecord record, OrderedStore& store)
      : uuid_(uuid), store_(store), record_(std::move(record)) {}

  // FAILED_PRECONDITION: `incarnation` is not the present one.
  absl::StatusOr<VolumeRecord> Record(uint64_t incarnation) const;
  VolumeRecord Record() const;

  // Lets `change` look at the store, alter the record and add rows to the batch, then writes both
  // together. Nothing else changes the volume meanwhile. When `change` or the write fails, nothing
  // happened. Writes nothing if nothing changed.
  //
  // FAILED_PRECONDITION: `incarnation` is not the present one.
  using Change = absl::FunctionRef<absl::Status(VolumeRecord& record, RowBatch& batch)>;
  absl::Status Update(uint64_t incarnation, Change change);

  // Alters the record in memory alone; it becomes durable with the next Update. For what does no
  // harm when it is lost together with all that was written after it.
  absl::Status Note(uint64_t incarnation, absl::FunctionRef<void(VolumeRecord& record)> change);

  // Begins a new life: another number and incarnation, nothing indexed. Returns the number of the
  // old rows, which the caller drops.
  absl::StatusOr<VolumeNumber> Reset(VolumeRecord record);

  const VolumeUuid& uuid() const { return uuid_; }

 private:
  friend void UpdateTogether(OrderedStore& store, absl::Span<struct VolumeChange> changes);

  absl::Status CheckIncarnation(uint64_t incarnation) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const VolumeUuid uuid_;
  OrderedStore& store_;
  // Held by whoever changes the volume, over the write too; taken before mutex_.
  Mutex update_mutex_;
  mutable Mutex mutex_;
  VolumeRecord record_ ABSL_GUARDED_BY(mutex_);
};

// The part of one volume in an update of several.
struct VolumeChange {
  Volume* volume = nullptr;
  uint64_t incarnation = 0;
  std::function<absl::Status(VolumeRecord& record, RowBatch& batch)> change;
  // Output: how it went.
  absl::Status status = absl::OkStatus();
};

// Volume::Update for several volumes with one write. A volume whose change fails is left out. If
// the write fails, nothing happened to any of them. `store` is that of all the volumes, which are
// distinct.
void UpdateTogether(OrderedStore& store, absl::Span<VolumeChange> changes);

// All volumes. Thread-safe.
class VolumeBook {
 public:
  // Reads the records, and drops rows of volumes that have none (what an interrupted Reset left).
  // `store` must outlive the book.
  static absl::StatusOr<std::unique_ptr<VolumeBook>> Open(OrderedStore& store);

  // nullptr if the volume is unknown.
  Volume* Find(const VolumeUuid& uuid) const;

  // All of them, by uuid.
  std::vector<Volume*> All() const;

  // The volume, made if unknown, reset if that is wanted, if it is of another block size or
  // checksum kind, or if its cursor lies above `filesystem_generation`: then it belongs to another
  // life of the filesystem.
  //
  // RESOURCE_EXHAUSTED: there are too many volumes.
  struct Shape {
    int32_t block_bytes = 0;
    int32_t checksum_kind = 0;
  };
  absl::StatusOr<Volume*> FindOrMake(const VolumeUuid& uuid, Shape shape,
                                     int64_t filesystem_generation, bool anew = false);

 private:
  explicit VolumeBook(OrderedStore& store) : store_(store) {}

  absl::Status Load();
  absl::Status DropOrphans();
  absl::Status DropRows(VolumeNumber number);
  VolumeRecord NewRecord(Shape shape);
  absl::StatusOr<Volume*> Make(const VolumeUuid& uuid, Shape shape);

  OrderedStore& store_;
  // Whoever makes or resets a volume holds the one of its uuid, over the write too; taken before
  // mutex_. Several, because each of them waits for the disk.
  std::array<Mutex, 16> make_mutexes_;
  mutable Mutex mutex_;
  uint32_t next_number_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<VolumeUuid, std::unique_ptr<Volume>> volumes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_VOLUME_BOOK_H_
