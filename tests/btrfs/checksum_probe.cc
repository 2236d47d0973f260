// checksum_probe MOUNT: computes the checksums of all data of a mounted btrfs from what its files
// read as, and compares them with those in its checksum tree. Prints "KIND BLOCKS DIFFERENT".

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "worker/block_checksums.h"
#include "worker/btrfs_items.h"
#include "worker/btrfs_volume.h"
#include "worker/scanner.h"

namespace onefold {
namespace {

struct Counts {
  int64_t blocks = 0;
  int64_t different = 0;
};

// Of one extent, as one of its references reads.
absl::Status Compare(Volume& volume, ChecksumReader& reader, const ScannedExtent& extent,
                     Counts& counts) {
  const VolumeInfo& info = volume.info();
  auto references = volume.References(extent.address, 1000);
  if (!references.ok()) return references.status();
  for (const RawReference& reference : *references) {
    std::string checksums;
    auto present = reader.Read(extent.address, extent.length / info.block_bytes, checksums);
    if (!present.ok()) return present.status();
    auto file = volume.Open(reference.file);
    if (!file.ok()) return file.status();
    std::string data(extent.length, '\0');
    int64_t got = 0;
    while (got < extent.length) {
      auto count = (*file)->Read(static_cast<int64_t>(reference.file_offset) + got,
                                 absl::MakeSpan(data).subspan(got));
      if (!count.ok()) return count.status();
      if (*count == 0) break;
      got += *count;
    }
    data.resize(got);
    std::string computed;
    AppendBlockChecksums(info.checksum_kind, info.block_bytes, data, computed);
    for (size_t at = 0; at < computed.size(); at += info.checksum_bytes) {
      ++counts.blocks;
      if (computed.compare(at, info.checksum_bytes, checksums, at, info.checksum_bytes) != 0) {
        ++counts.different;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Probe(const char* mount) {
  auto volume = OpenBtrfsVolume(mount, Access::kLooking);
  if (!volume.ok()) return volume.status();
  if (auto committed = (*volume)->Commit(); !committed.ok()) return committed.status();
  auto chunks = DataChunks(**volume);
  if (!chunks.ok()) return chunks.status();
  ChecksumReader reader(**volume);
  Counts counts;
  absl::Status failure;
  for (const AddressRange& chunk : *chunks) {
    absl::Status status = ForEachExtent(**volume, chunk, 0, [&](const ScannedExtent& extent) {
      failure = Compare(**volume, reader, extent, counts);
      return failure.ok();
    });
    status.Update(failure);
    if (!status.ok()) return status;
  }
  std::printf("%d %ld %ld\n", (*volume)->info().checksum_kind, static_cast<long>(counts.blocks),
              static_cast<long>(counts.different));
  return absl::OkStatus();
}

}  // namespace
}  // namespace onefold

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const absl::Status status = onefold::Probe(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
