#include "coordinator/rocks_ingest.h"

#include <rocksdb/sst_file_writer.h>

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/keys.h"
#include "coordinator/rocks_status.h"

namespace onefold::index {
namespace {

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

// Whether rows of one batch share a table: extents do, and so do what lies before and behind them.
bool ShareTable(absl::string_view a, absl::string_view b) {
  const auto is_extent = [](absl::string_view key) {
    return !key.empty() && key.front() == static_cast<char>(Kind::kExtent);
  };
  return is_extent(a) == is_extent(b);
}

rocksdb::Status WriteTables(const rocksdb::Options& options, const RowBatch& batch,
                            const std::string& stem, std::vector<std::string>& files) {
  const std::vector<uint32_t> sorted = batch.KeyOrder();
  size_t begin = 0;
  while (begin < sorted.size()) {
    size_t end = begin + 1;
    while (end < sorted.size() && ShareTable(batch[sorted[begin]].key, batch[sorted[end]].key)) {
      ++end;
    }
    files.push_back(absl::StrCat(stem, "-", files.size(), ".sst"));
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
