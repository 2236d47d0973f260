#include "coordinator/rocks_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <cstdarg>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "coordinator/disk_space.h"
#include "coordinator/keys.h"
#include "coordinator/rocks_ingest.h"
#include "coordinator/rocks_status.h"
#include "coordinator/sequence_note.h"

namespace onefold::index {
namespace {

// Its presence says that a read met damage: the next opening then rebuilds instead of failing in
// the same place for ever.
constexpr char kDamagedMark[] = "ONEFOLD_DAMAGED";
// Table files on their way into the database; whatever is in it when we open was left by a crash.
constexpr char kIncoming[] = "incoming";

// More than the log of a short run: replaying it would cost the next start more than writing it
// out.
constexpr uint64_t kUnflushedBytesMax = 64 << 10;
// Tables of level 0 from which on no further ones are added until some are merged: each is asked by
// every look-up. For stores that are `large`.
constexpr int kLevel0FilesMax = 160;
// Tables of level 0 that start a merge while runs come in, and when they have stopped to for so
// long. A merge rewrites what is below, so the fewer the better for whoever writes; each one that
// is left costs whoever reads.
constexpr int kLevel0FilesBusy = 80;
constexpr int kLevel0FilesQuiet = 6;
constexpr absl::Duration kQuietAfter = absl::Seconds(5);
constexpr absl::Duration kMergePollInterval = absl::Milliseconds(20);
// Space that is not worth a compaction.
constexpr uint64_t kCompactBytesMin = 256 << 10;

// Debian's RocksDB has assertions on, and one in its own log file ends the process when the disk is
// full for the second line. What goes wrong reaches us as a status anyway.
class SilentLogger final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::BlockBasedTableOptions TableOptions(const RocksBudget& budget) {
  rocksdb::BlockBasedTableOptions options;
  // Not strict: with a strict limit reads fail while the cache is full of blocks in use.
  options.block_cache = rocksdb::NewLRUCache(budget.block_cache_bytes, /*num_shard_bits=*/2);
  options.cache_index_and_filter_blocks = true;
  options.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.whole_key_filtering = false;  // the prefix is what is asked for; see keys.h
  options.block_size = 16 << 10;
  // Index and filter in pieces, so that one look-up in a large file does not fill the cache.
  options.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  options.partition_filters = true;
  options.metadata_block_size = 16 << 10;
  // Each table of a walk reads ahead for itself, and there may be dozens.
  options.max_auto_readahead_size = 32 << 10;
  options.format_version = 5;
  return options;
}

rocksdb::Options StoreOptions(const RocksBudget& budget) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.env = rocksdb::Env::Default();
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(TableOptions(budget)));
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(kKeyPrefixBytes));
  options.compression = rocksdb::kLZ4Compression;  // half the size at the speed of none

  options.write_buffer_size = budget.write_buffer_bytes;
  options.max_write_buffer_number = 2;
  options.arena_block_size = budget.write_buffer_bytes / 16;
  options.max_total_wal_size = 2 * budget.write_buffer_bytes;
  options.wal_recovery_mode = budget.strict_log
                                  ? rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords
                                  : rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  // A flush would leave a small table at each start. Where no write may get lost, it leaves no log
  // but the one that is written: whether that is whole can be told.
  options.avoid_flush_during_recovery = !budget.strict_log;
  options.writable_file_max_buffer_size = 256 << 10;
  options.level_compaction_dynamic_level_bytes = true;
  options.target_file_size_base = 32 << 20;
  options.compaction_readahead_size = 32 << 10;
  // A scan adds a table of fingerprints for each 32k extents, a run one for each 4 MB of outcomes.
  // Merging them rewrites far more than they hold, so it is done seldom.
  options.level0_file_num_compaction_trigger = 16;
  options.level0_slowdown_writes_trigger = 40;
  options.level0_stop_writes_trigger = 60;
  options.max_background_jobs = 2;  // one flush, one compaction
  options.max_open_files = budget.open_files;
  if (budget.large) {
    // Runs go from level 0 straight into the last level until that is large; small middle levels
    // would only rewrite them.
    options.max_bytes_for_level_base = uint64_t{1} << 30;
    options.target_file_size_base = 64 << 20;
    options.compaction_readahead_size = 512 << 10;
    options.max_subcompactions = 2;
    // Digests do not shrink, but all around them does: a quarter less than with LZ4.
    options.bottommost_compression = rocksdb::kZSTD;
    options.bottommost_compression_opts.level = 1;
    options.bottommost_compression_opts.enabled = true;
    // Runs that come in faster than they are merged are held back by AwaitMerges, not by these,
    // which would hold back what is small and urgent.
    options.level0_file_num_compaction_trigger = kLevel0FilesQuiet;
    options.level0_slowdown_writes_trigger = 4 * kLevel0FilesMax;
    options.level0_stop_writes_trigger = 8 * kLevel0FilesMax;
  }

  // Preallocated logs count in the size of the directory.
  options.allow_fallocate = false;
  options.info_log = std::make_shared<SilentLogger>();
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.skip_stats_update_on_db_open = true;
  return options;
}

class RocksCursor final : public StoreCursor {
 public:
  // Stays below `end` unless that is empty.
  RocksCursor(rocksdb::DB& db, rocksdb::ReadOptions options, std::string end,
              const std::string& directory, std::function<void()> on_damage)
      : end_(std::move(end)),
        end_slice_(end_),
        directory_(directory),
        on_damage_(std::move(on_damage)) {
    // Tables that lie wholly behind it are not merged in.
    if (!end_.empty()) options.iterate_upper_bound = &end_slice_;
    rows_.reset(db.NewIterator(options));
  }

  void Seek(absl::string_view key) override { rows_->Seek(ToSlice(key)); }
  void Next() override { rows_->Next(); }
  bool Valid() const override { return rows_->Valid(); }
  absl::string_view key() const override { return FromSlice(rows_->key()); }
  absl::string_view value() const override { return FromSlice(rows_->value()); }
  absl::Status status() const override {
    const absl::Status status = FromRocksStatus(rows_->status(), directory_);
    if (absl::IsDataLoss(status)) on_damage_();
    return status;
  }

 private:
  const std::string end_;
  const rocksdb::Slice end_slice_;
  const std::string& directory_;
  const std::function<void()> on_damage_;
  std::unique_ptr<rocksdb::Iterator> rows_;
};

// The first key behind all that begin with `prefix`; empty if there is none.
std::string EndOfPrefix(absl::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (!end.empty()) ++end.back();
  return end;
}

class RocksStore final : public RocksBackedStore {
 public:
  RocksStore(std::string directory, rocksdb::Options options, const RocksBudget& budget,
             std::unique_ptr<rocksdb::DB> db)
      : directory_(std::move(directory)),
        options_(std::move(options)),
        large_(budget.large),
        free_bytes_min_(budget.free_bytes_min),
        db_(std::move(db)) {
    if (budget.strict_log) sequence_note_.emplace(directory_);
    NoteSequence();
    if (large_) quiet_watch_ = std::thread([this] { WatchForQuiet(); });
  }

  ~RocksStore() override {
    if (quiet_watch_.joinable()) {
      {
        MutexLock lock(&mutex_);
        stop_ = true;
        changed_.NotifyAll();
      }
      quiet_watch_.join();
    }
    // Nothing is lost when either fails: what was acknowledged is in the log.
    FlushIfMuch().IgnoreError();
    db_->Close().PermitUncheckedError();
  }

  std::unique_ptr<StoreCursor> Walk(absl::string_view prefix) const override {
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    auto cursor = std::make_unique<RocksCursor>(*db_, options, EndOfPrefix(prefix), directory_,
                                                [this] { MarkDamaged(); });
    cursor->Seek(prefix);
    return cursor;
  }

  std::unique_ptr<StoreCursor> LookUp() const override {
    rocksdb::ReadOptions options;
    options.prefix_same_as_start = true;
    return std::make_unique<RocksCursor>(*db_, options, "", directory_, [this] { MarkDamaged(); });
  }

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override {
    std::string value;
    const rocksdb::Status status = db_->Get({}, ToSlice(key), &value);
    if (status.IsNotFound()) return std::nullopt;
    RETURN_IF_ERROR(Checked(status));
    return value;
  }

  absl::Status Write(const RowBatch& batch) override {
    if (batch.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(CheckFreeSpace(directory_, free_bytes_min_));
    if (write_failed_.exchange(false)) {
      // After a full disk RocksDB refuses all writes until it has recovered, by itself or told so.
      // The write below says whether it has.
      db_->Resume().PermitUncheckedError();
    }
    return Noted(batch.size() >= kIngestRowsMin ? Ingest(batch) : Log(batch));
  }

  absl::Status Checkpoint(const std::string& directory) override {
    rocksdb::Checkpoint* made = nullptr;
    const rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &made);
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
    return Checked(status.ok() ? checkpoint->CreateCheckpoint(directory) : status);
  }

  absl::Status DropRange(absl::string_view begin, absl::string_view end) override {
    const rocksdb::Slice first = ToSlice(begin);
    const rocksdb::Slice last = ToSlice(end);
    RETURN_IF_ERROR(Checked(rocksdb::DeleteFilesInRange(db_.get(), db_->DefaultColumnFamily(),
                                                        &first, &last, /*include_end=*/false)));
    rocksdb::WriteOptions options;
    options.sync = true;
    return Noted(Checked(db_->DeleteRange(options, db_->DefaultColumnFamily(), first, last)));
  }

  absl::Status Compact() override {
    RETURN_IF_ERROR(FlushIfMuch());
    if (!WorthCompacting()) return absl::OkStatus();
    rocksdb::CompactRangeOptions options;
    options.exclusive_manual_compaction = false;
    return Checked(db_->CompactRange(options, nullptr, nullptr));
  }

 private:
  absl::Status Checked(const rocksdb::Status& status) const {
    const absl::Status result = FromRocksStatus(status, directory_);
    if (absl::IsDataLoss(result)) MarkDamaged();
    return result;
  }

  // What became of a write.
  absl::Status Noted(absl::Status status) {
    if (status.ok()) {
      NoteSequence();
    } else {
      write_failed_ = true;
    }
    return status;
  }

  void NoteSequence() {
    if (sequence_note_) sequence_note_->Raise(db_->GetLatestSequenceNumber());
  }

  void MarkDamaged() const { std::ofstream(directory_ + "/" + kDamagedMark).flush(); }

  absl::Status Log(const RowBatch& batch) {
    rocksdb::WriteBatch rows;
    for (const uint32_t i : batch.KeyOrder()) {  // in order they are a third cheaper to insert
      const RowBatch::Change change = batch[i];
      RETURN_IF_ERROR(Checked(change.is_put ? rows.Put(ToSlice(change.key), ToSlice(change.value))
                                            : rows.Delete(ToSlice(change.key))));
    }
    rocksdb::WriteOptions options;
    options.sync = true;
    return Checked(db_->Write(options, &rows));
  }

  absl::Status Ingest(const RowBatch& batch) {
    if (large_) {
      NoteRun();
      AwaitMerges();
    }
    const std::string stem = absl::StrCat(directory_, "/", kIncoming, "/", ++ingest_count_);
    return IngestBatch(*db_, options_, batch, directory_, stem, /*parallel=*/large_);
  }

  // Runs come in: merge seldom.
  void NoteRun() {
    MutexLock lock(&mutex_);
    ++run_count_;
    if (!std::exchange(busy_, true)) {
      SetMergeTrigger(kLevel0FilesBusy);
      changed_.NotifyAll();
    }
  }

  // Back to merging early when no run has come for a while.
  void WatchForQuiet() {
    MutexLock lock(&mutex_);
    while (!stop_) {
      if (!busy_) {
        changed_.Wait(&mutex_);
        continue;
      }
      const int64_t before = run_count_;
      changed_.WaitFor(&mutex_, absl::ToChronoMilliseconds(kQuietAfter));
      if (stop_ || run_count_ != before) continue;
      busy_ = false;
      SetMergeTrigger(kLevel0FilesQuiet);
    }
  }

  void SetMergeTrigger(int files) {
    // It has no other say than in when to merge, so what is wrong is told by the next write.
    db_->SetOptions({{"level0_file_num_compaction_trigger", absl::StrCat(files)}})
        .PermitUncheckedError();
  }

  // A compaction that failed ends the waiting: what is written next tells why.
  void AwaitMerges() const {
    uint64_t errors = 0;
    std::string files;
    int count = 0;
    while (db_->GetProperty("rocksdb.num-files-at-level0", &files) &&
           absl::SimpleAtoi(files, &count) && count >= kLevel0FilesMax &&
           db_->GetIntProperty(rocksdb::DB::Properties::kBackgroundErrors, &errors) &&
           errors == 0) {
      absl::SleepFor(kMergePollInterval);
    }
  }

  absl::Status FlushIfMuch() {
    uint64_t bytes = 0;
    db_->GetIntProperty(rocksdb::DB::Properties::kCurSizeAllMemTables, &bytes);
    const bool much = bytes > options_.arena_block_size + kUnflushedBytesMax;
    return much ? Checked(db_->Flush({})) : absl::OkStatus();
  }

  bool WorthCompacting() const {
    rocksdb::ColumnFamilyMetaData files;
    db_->GetColumnFamilyMetaData(&files);
    uint64_t upper_bytes = 0;  // above the last level: merging them in removes what they outdate
    uint64_t entries = 0;
    uint64_t deletions = 0;
    for (const rocksdb::LevelMetaData& level : files.levels) {
      if (&level != &files.levels.back()) upper_bytes += level.size;
      for (const rocksdb::SstFileMetaData& file : level.files) {
        entries += file.num_entries;
        deletions += file.num_deletions;
      }
    }
    return upper_bytes > kCompactBytesMin &&
           (upper_bytes > files.size / 4 || deletions > entries / 8);
  }

  const std::string directory_;
  const rocksdb::Options options_;
  const bool large_;
  const int64_t free_bytes_min_;
  const std::unique_ptr<rocksdb::DB> db_;
  std::optional<SequenceNote> sequence_note_;  // of a store whose log is strict
  std::atomic<int64_t> ingest_count_ = 0;
  std::atomic<bool> write_failed_ = false;

  // Of a store that is large: whether runs come in.
  Mutex mutex_;
  CondVar changed_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t run_count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread quiet_watch_;
};

// A store that is only looked at.
class ReadOnlyRocksStore final : public OrderedStore {
 public:
  ReadOnlyRocksStore(std::string directory, std::unique_ptr<rocksdb::DB> db)
      : directory_(std::move(directory)), db_(std::move(db)) {}

  std::unique_ptr<StoreCursor> Walk(absl::string_view prefix) const override {
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    auto cursor =
        std::make_unique<RocksCursor>(*db_, options, EndOfPrefix(prefix), directory_, [] {});
    cursor->Seek(prefix);
    return cursor;
  }

  std::unique_ptr<StoreCursor> LookUp() const override {
    rocksdb::ReadOptions options;
    options.prefix_same_as_start = true;
    return std::make_unique<RocksCursor>(*db_, options, "", directory_, [] {});
  }

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override {
    std::string value;
    const rocksdb::Status status = db_->Get({}, ToSlice(key), &value);
    if (status.IsNotFound()) return std::nullopt;
    RETURN_IF_ERROR(FromRocksStatus(status, directory_));
    return value;
  }

  absl::Status Write(const RowBatch&) override { return Refused(); }
  absl::Status DropRange(absl::string_view, absl::string_view) override { return Refused(); }
  absl::Status Compact() override { return Refused(); }

 private:
  absl::Status Refused() const {
    return absl::FailedPreconditionError(absl::StrCat(directory_, " is open for reading only"));
  }

  const std::string directory_;
  const std::unique_ptr<rocksdb::DB> db_;
};

// Whether all writes that were acknowledged are there. Opens the database without changing
// anything, so that what is left of it can still be looked into.
absl::Status CheckSequence(const rocksdb::Options& options, const std::string& directory) {
  const uint64_t noted = SequenceNote::Read(directory);
  if (noted == 0) return absl::OkStatus();
  std::error_code error;
  if (!std::filesystem::exists(directory + "/CURRENT", error)) {
    return absl::DataLossError(absl::StrCat(directory, ": the file CURRENT is missing"));
  }
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, directory, &opened);
  if (!status.ok()) return FromRocksOpenStatus(status, directory);
  const std::unique_ptr<rocksdb::DB> db(opened);
  const uint64_t found = db->GetLatestSequenceNumber();
  if (found >= noted) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(directory, ": writes are missing, of ", noted, " only ", found,
                   " are there (its *.log file was deleted, emptied or overwritten)"));
}

absl::Status PrepareDirectory(const std::string& directory) {
  std::error_code error;
  if (std::filesystem::exists(directory + "/" + kDamagedMark, error)) {
    return absl::DataLossError(absl::StrCat(directory, ": damage was found when it was last read"));
  }
  // RocksDB would begin a new database among the files of one that has lost its root.
  if (!std::filesystem::exists(directory + "/CURRENT", error)) {
    for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string extension = entry->path().extension().string();
      if (extension == ".sst" || extension == ".log") {
        return absl::DataLossError(absl::StrCat(directory, ": the file CURRENT is missing"));
      }
    }
  }
  const std::filesystem::path incoming = directory + "/" + kIncoming;
  std::filesystem::remove_all(incoming, error);
  std::filesystem::create_directory(incoming, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("making ", incoming.string()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<OrderedStore>> OpenRocksStoreReadOnly(const std::string& directory,
                                                                     const RocksBudget& budget) {
  std::error_code error;
  if (!std::filesystem::exists(directory + "/CURRENT", error)) {
    return absl::NotFoundError(absl::StrCat("there is no database in ", directory));
  }
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::OpenForReadOnly(StoreOptions(budget), directory, &opened);
  if (!status.ok()) return FromRocksOpenStatus(status, directory);
  return std::make_unique<ReadOnlyRocksStore>(directory, std::unique_ptr<rocksdb::DB>(opened));
}

absl::StatusOr<std::unique_ptr<RocksBackedStore>> OpenRocksStore(const std::string& directory,
                                                                 const RocksBudget& budget) {
  const rocksdb::Options options = StoreOptions(budget);
  if (budget.strict_log) RETURN_IF_ERROR(CheckSequence(options, directory));
  RETURN_IF_ERROR(PrepareDirectory(directory));
  rocksdb::Env& env = *rocksdb::Env::Default();
  env.SetBackgroundThreads(1, rocksdb::Env::Priority::LOW);
  env.SetBackgroundThreads(1, rocksdb::Env::Priority::HIGH);
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, directory, &db);
  if (!status.ok()) return FromRocksOpenStatus(status, directory);
  return std::make_unique<RocksStore>(directory, options, budget, std::unique_ptr<rocksdb::DB>(db));
}

}  // namespace onefold::index
