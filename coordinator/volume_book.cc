#include "coordinator/volume_book.h"

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/bytes.h"
#include "common/status_macros.h"

namespace onefold::index {
namespace {

// A worker that invents volumes must not fill the index with records.
constexpr size_t kVolumesMax = 65536;

// Kinds whose keys begin with a volume number.
constexpr std::array kKindsOfVolume = {Kind::kAnchor,     Kind::kExtent, Kind::kFingerprint,
                                       Kind::kIncomplete, Kind::kMatch,  Kind::kOutcome,
                                       Kind::kWaiting};

constexpr size_t kVolumeNumberAt = 1;  // in their keys

uint64_t NewIncarnation() {
  std::random_device device;
  uint64_t incarnation = 0;
  while (incarnation == 0) incarnation = uint64_t{device()} << 32 | device();
  return incarnation;
}

}  // namespace

absl::Status Volume::CheckIncarnation(uint64_t incarnation) const {
  if (incarnation == record_.incarnation()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("volume ", ToString(uuid_), " has another incarnation by now: sync again"));
}

absl::StatusOr<VolumeRecord> Volume::Record(uint64_t incarnation) const {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckIncarnation(incarnation));
  return record_;
}

VolumeRecord Volume::Record() const {
  MutexLock lock(&mutex_);
  return record_;
}

absl::Status Volume::Update(uint64_t incarnation, Change change) {
  VolumeChange changes[] = {
      {.volume = this, .incarnation = incarnation, .change = [&](auto& record, auto& batch) {
         return change(record, batch);
       }}};
  UpdateTogether(store_, absl::MakeSpan(changes));
  return changes[0].status;
}

// Which locks are held is known only when it runs.
void UpdateTogether(OrderedStore& store,
                    absl::Span<VolumeChange> changes) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  // In one order everywhere, so that nobody waits in a circle.
  std::vector<Volume*> locked;
  for (const VolumeChange& change : changes) locked.push_back(change.volume);
  std::sort(locked.begin(), locked.end(), std::less<Volume*>());
  for (Volume* const volume : locked) volume->update_mutex_.Lock();

  RowBatch batch;
  std::vector<std::optional<VolumeRecord>> records(changes.size());
  for (size_t i = 0; i < changes.size(); ++i) {
    absl::StatusOr<VolumeRecord> record = changes[i].volume->Record(changes[i].incarnation);
    changes[i].status = record.status();
    if (!record.ok()) continue;
    const std::string before = record->SerializeAsString();
    const size_t rows_before = batch.size();
    changes[i].status = changes[i].change(*record, batch);
    if (!changes[i].status.ok()) {
      batch.Truncate(rows_before);
      continue;
    }
    const std::string bytes = record->SerializeAsString();
    if (batch.size() == rows_before && bytes == before) continue;
    batch.Put(VolumeKey(changes[i].volume->uuid()), bytes);
    records[i] = *std::move(record);
  }
  const absl::Status written = batch.empty() ? absl::OkStatus() : store.Write(batch);
  for (size_t i = 0; i < changes.size(); ++i) {
    if (!records[i]) continue;
    changes[i].status = written;
    if (!written.ok()) continue;
    MutexLock lock(&changes[i].volume->mutex_);
    changes[i].volume->record_ = *std::move(records[i]);
  }
  for (Volume* const volume : locked) volume->update_mutex_.Unlock();
}

absl::Status Volume::Note(uint64_t incarnation,
                          absl::FunctionRef<void(VolumeRecord& record)> change) {
  MutexLock update(&update_mutex_);
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckIncarnation(incarnation));
  change(record_);
  return absl::OkStatus();
}

absl::StatusOr<VolumeNumber> Volume::Reset(VolumeRecord record) {
  MutexLock update(&update_mutex_);
  RowBatch batch;
  batch.Put(VolumeKey(uuid_), record.SerializeAsString());
  RETURN_IF_ERROR(store_.Write(batch));
  MutexLock lock(&mutex_);
  const VolumeNumber old = NumberOf(record_);
  record_ = std::move(record);
  return old;
}

absl::StatusOr<std::unique_ptr<VolumeBook>> VolumeBook::Open(OrderedStore& store) {
  auto book = std::unique_ptr<VolumeBook>(new VolumeBook(store));
  RETURN_IF_ERROR(book->Load());
  RETURN_IF_ERROR(book->DropOrphans());
  return book;
}

absl::Status VolumeBook::Load() {
  MutexLock lock(&mutex_);
  const auto rows = store_.Walk(std::string(1, static_cast<char>(Kind::kVolume)));
  for (; rows->Valid(); rows->Next()) {
    ASSIGN_OR_RETURN(const VolumeUuid uuid, ParseVolumeKey(rows->key()));
    VolumeRecord record;
    if (!record.ParseFromArray(rows->value().data(), static_cast<int>(rows->value().size()))) {
      return absl::DataLossError(absl::StrCat("record of volume ", ToString(uuid)));
    }
    next_number_ = std::max(next_number_, record.number() + 1);
    volumes_[uuid] = std::make_unique<Volume>(uuid, std::move(record), store_);
  }
  return rows->status();
}

absl::Status VolumeBook::DropOrphans() {
  MutexLock lock(&mutex_);
  std::set<uint32_t> known;
  for (const auto& [uuid, volume] : volumes_) known.insert(volume->Record().number());
  std::set<uint32_t> orphans;
  for (const Kind kind : kKindsOfVolume) {
    const auto rows = store_.Walk(std::string(1, static_cast<char>(kind)));
    while (rows->Valid() && rows->key().size() > kVolumeNumberAt + sizeof(uint32_t)) {
      const uint32_t number = LoadBig32(rows->key().data() + kVolumeNumberAt);
      if (!known.contains(number)) orphans.insert(number);
      next_number_ = std::max(next_number_, number + 1);
      rows->Seek(KeyPrefix(kind, {number + 1}));  // from volume to volume: one jump for each
    }
    RETURN_IF_ERROR(rows->status());
  }
  for (const uint32_t number : orphans) RETURN_IF_ERROR(DropRows({number}));
  return absl::OkStatus();
}

absl::Status VolumeBook::DropRows(VolumeNumber number) {
  for (const Kind kind : kKindsOfVolume) {
    RETURN_IF_ERROR(store_.DropRange(KeyPrefix(kind, number), KeyPrefix(kind, {number.value + 1})));
  }
  return absl::OkStatus();
}

VolumeRecord VolumeBook::NewRecord(Shape shape) {
  VolumeRecord record;
  {
    MutexLock lock(&mutex_);
    record.set_number(next_number_++);
  }
  record.set_incarnation(NewIncarnation());
  record.set_block_bytes(shape.block_bytes);
  record.set_checksum_kind(shape.checksum_kind);
  record.mutable_queue()->set_everything(true);
  record.mutable_queue()->set_epoch(1);
  return record;
}

std::vector<Volume*> VolumeBook::All() const {
  MutexLock lock(&mutex_);
  std::vector<Volume*> all;
  for (const auto& [uuid, volume] : volumes_) all.push_back(volume.get());
  return all;
}

Volume* VolumeBook::Find(const VolumeUuid& uuid) const {
  MutexLock lock(&mutex_);
  const auto volume = volumes_.find(uuid);
  return volume == volumes_.end() ? nullptr : volume->second.get();
}

absl::StatusOr<Volume*> VolumeBook::Make(const VolumeUuid& uuid, Shape shape) {
  {
    MutexLock lock(&mutex_);
    if (volumes_.size() >= kVolumesMax) return absl::ResourceExhaustedError("too many volumes");
  }
  auto volume = std::make_unique<Volume>(uuid, VolumeRecord(), store_);
  RETURN_IF_ERROR(volume->Reset(NewRecord(shape)).status());
  MutexLock lock(&mutex_);
  return (volumes_[uuid] = std::move(volume)).get();
}

absl::StatusOr<Volume*> VolumeBook::FindOrMake(const VolumeUuid& uuid, Shape shape,
                                               int64_t filesystem_generation, bool anew) {
  MutexLock make(&make_mutexes_[uuid.bytes.back() % make_mutexes_.size()]);
  Volume* const volume = Find(uuid);
  if (volume == nullptr) return Make(uuid, shape);
  const VolumeRecord record = volume->Record();
  const bool same_life = !anew && record.block_bytes() == shape.block_bytes &&
                         record.checksum_kind() == shape.checksum_kind &&
                         record.scanned_generation() <= filesystem_generation;
  if (!same_life) {
    ASSIGN_OR_RETURN(const VolumeNumber old, volume->Reset(NewRecord(shape)));
    RETURN_IF_ERROR(DropRows(old));
  }
  return volume;
}

}  // namespace onefold::index
