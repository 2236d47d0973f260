#include "coordinator/rocks_ingest.h"

#include <rocksdb/sst_file_writer.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/bytes.h"
#include "common/status_macros.h"
#include "coordinator/rocks_status.h"

namespace onefold::index {
namespace {

// A key in a form that compares without touching it: its first 16 bytes, and where the rest is.
struct SortKey {
  uint64_t first = 0;
  uint64_t second = 0;
  uint32_t change = 0;
};

uint64_t EightBytes(absl::string_view key, size_t at) {
  if (key.size() >= at + 8) return LoadBig64(key.data() + at);
  char padded[8] = {};
  if (key.size() > at) key.copy(padded, 8, at);
  return LoadBig64(padded);
}

// Indices of changes in key order; of several to one key only the last.
std::vector<uint32_t> SortedChanges(const RowBatch& batch) {
  std::vector<SortKey> keys;
  keys.reserve(batch.size());
  for (uint32_t i = 0; i < batch.size(); ++i) {
    const absl::string_view key = batch[i].key;
    keys.push_back({.first = EightBytes(key, 0), .second = EightBytes(key, 8), .change = i});
  }
  std::sort(keys.begin(), keys.end(), [&](const SortKey& a, const SortKey& b) {
    if (a.first != b.first) return a.first < b.first;
    if (a.second != b.second) return a.second < b.second;
    const int order = batch[a.change].key.compare(batch[b.change].key);
    return order != 0 ? order < 0 : a.change < b.change;
  });
  std::vector<uint32_t> changes;
  changes.reserve(keys.size());
  for (const SortKey& key : keys) {
    if (!changes.empty() && batch[changes.back()].key == batch[key.change].key) {
      changes.back() = key.change;
    } else {
      changes.push_back(key.change);
    }
  }
  return changes;
}

// Writes changes [begin, end) of `sorted` to `file`.
rocksdb::Status WriteTable(const rocksdb::Options& options, const RowBatch& batch,
                           const std::vector<uint32_t>& sorted, size_t begin, size_t end,
                           const std::string& file) {
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(options), options);
  rocksdb::Status status = writer.Open(file);
  for (size_t i = begin; i < end && status.ok(); ++i) {
    const RowBatch::Change change = batch[sorted[i]];
    status = change.is_put ? writer.Put(ToSlice(change.key), ToSlice(change.value))
                           : writer.Delete(ToSlice(change.key));
  }
  return status.ok() ? writer.Finish() : status;
}

rocksdb::Status WriteTables(const rocksdb::Options& options, const RowBatch& batch,
                            const std::string& stem, std::vector<std::string>& files) {
  const std::vector<uint32_t> sorted = SortedChanges(batch);
  size_t begin = 0;
  while (begin < sorted.size()) {
    const char kind = batch[sorted[begin]].key.front();
    size_t end = begin;
    while (end < sorted.size() && batch[sorted[end]].key.front() == kind) ++end;
    files.push_back(absl::StrCat(stem, "-", std::string(1, kind), ".sst"));
    const rocksdb::Status status = WriteTable(options, batch, sorted, begin, end, files.back());
    if (!status.ok()) return status;
    begin = end;
  }
  return rocksdb::Status::OK();
}

}  // namespace

absl::Status IngestBatch(rocksdb::DB& db, const rocksdb::Options& options, const RowBatch& batch,
                         const std::string& directory, const std::string& stem) {
  std::vector<std::string> files;
  rocksdb::Status status = WriteTables(options, batch, stem, files);
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
