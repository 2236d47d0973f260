#include "coordinator/rocks_ingest.h"

#include <rocksdb/sst_file_writer.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/keys.h"
#include "coordinator/rocks_status.h"

namespace onefold::index {
namespace {

bool IsExtent(absl::string_view key) {
  return !key.empty() && key.front() == static_cast<char>(Kind::kExtent);
}

// Writes changes [begin, end) of `sorted` to `file`.
rocksdb::Status WriteTable(rocksdb::Options options, const RowBatch& batch,
                           const std::vector<uint32_t>& sorted, size_t begin, size_t end,
                           const std::string& file) {
  // Only tables of extents are likely to stay as they are; the others are merged soon.
  if (!IsExtent(batch[sorted[begin]].key)) {
    options.bottommost_compression = rocksdb::kDisableCompressionOption;
  }
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(options), options);
  rocksdb::Status status = writer.Open(file);
  for (size_t i = begin; i < end && status.ok(); ++i) {
    const RowBatch::Change change = batch[sorted[i]];
    status = change.is_put ? writer.Put(ToSlice(change.key), ToSlice(change.value))
                           : writer.Delete(ToSlice(change.key));
  }
  return status.ok() ? writer.Finish() : status;
}

// Whether rows of one batch share a table: extents do, and so do what lies before and behind them.
bool ShareTable(absl::string_view a, absl::string_view b) { return IsExtent(a) == IsExtent(b); }

// Changes [begin, end) in key order, which become one table.
struct Table {
  size_t begin = 0;
  size_t end = 0;
  std::string file = {};
  rocksdb::Status status = rocksdb::Status::OK();
};

std::vector<Table> TablesOf(const RowBatch& batch, const std::vector<uint32_t>& sorted,
                            const std::string& stem) {
  std::vector<Table> tables;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i == 0 || !ShareTable(batch[sorted[i - 1]].key, batch[sorted[i]].key)) {
      tables.push_back({.begin = i, .file = absl::StrCat(stem, "-", tables.size(), ".sst")});
    }
    tables.back().end = i + 1;
  }
  return tables;
}

rocksdb::Status WriteTables(const rocksdb::Options& options, const RowBatch& batch,
                            const std::vector<uint32_t>& sorted, bool parallel,
                            std::vector<Table>& tables) {
  const auto write = [&](Table& table) {
    table.status = WriteTable(options, batch, sorted, table.begin, table.end, table.file);
  };
  std::vector<std::thread> threads;
  for (Table& table : tables) {
    if (parallel && &table != &tables.back()) {
      threads.emplace_back(write, std::ref(table));
    } else {
      write(table);
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (const Table& table : tables) {
    if (!table.status.ok()) return table.status;
  }
  return rocksdb::Status::OK();
}

}  // namespace

absl::Status IngestBatch(rocksdb::DB& db, const rocksdb::Options& options, const RowBatch& batch,
                         const std::string& directory, const std::string& stem, bool parallel) {
  const std::vector<uint32_t> sorted = batch.KeyOrder();
  std::vector<Table> tables = TablesOf(batch, sorted, stem);
  std::vector<std::string> files;
  for (const Table& table : tables) files.push_back(table.file);
  rocksdb::Status status = WriteTables(options, batch, sorted, parallel, tables);
  if (status.ok()) {
    rocksdb::IngestExternalFileOptions ingest;
    ingest.move_files = true;
    status = db.IngestExternalFile(files, ingest);
  }
  for (const std::string& file : files) {
    std::error_code absent;  // moved away, as a rule
    std::filesystem::remove(file, absent);
  }
  return FromRocksStatus(status, directory);
}

}  // namespace onefold::index
