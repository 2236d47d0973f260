#include "coordinator/rocks_ingest.h"

#include <rocksdb/sst_file_writer.h>

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
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

rocksdb::Status WriteTables(const rocksdb::Options& options, const RowBatch& batch,
                            const std::string& stem, std::vector<std::string>& files) {
  const std::vector<uint32_t> sorted = batch.KeyOrder();
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
