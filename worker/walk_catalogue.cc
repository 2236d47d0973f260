#include "worker/walk_catalogue.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "worker/btrfs_errno.h"
#include "worker/fd_file.h"

namespace onefold {
namespace {

constexpr char kMagic[16] = "onefold walk 1\n";
constexpr size_t kWriteBytes = 1 << 20;

struct Header {
  char magic[16];
  uint64_t generation;
  uint64_t block_bytes;
  uint64_t file_count;
  uint64_t mapping_count;
  uint64_t piece_count;
  uint64_t checksum_bytes;
};
static_assert(sizeof(Header) == 64);
// What lies in the file as it lies in memory. (Little endian: so are all machines it runs on.)
static_assert(sizeof(FileIdentity) == 40 && std::is_trivially_copyable_v<FileIdentity>);
static_assert(sizeof(WalkMapping) == 32 && std::is_trivially_copyable_v<WalkMapping>);
static_assert(sizeof(WalkPiece) == 32 && std::is_trivially_copyable_v<WalkPiece>);

using HashState = std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)>;
HashState NewHash() {
  HashState state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  return state;
}

absl::Status WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return StatusFromErrno(errno, "writing the walk's catalogue");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

// Collects small pieces into large writes, and hashes.
class Writer {
 public:
  explicit Writer(int fd) : fd_(fd), hash_(NewHash()) { buffer_.reserve(kWriteBytes); }

  absl::Status Add(const void* data, size_t bytes) {
    absl::string_view rest(static_cast<const char*>(data), bytes);
    while (!rest.empty()) {
      const size_t part = std::min(rest.size(), kWriteBytes - buffer_.size());
      buffer_.append(rest.data(), part);
      rest.remove_prefix(part);
      if (buffer_.size() == kWriteBytes) RETURN_IF_ERROR(Flush());
    }
    return absl::OkStatus();
  }

  absl::Status End() {
    RETURN_IF_ERROR(Flush());
    const uint64_t digest = XXH3_64bits_digest(hash_.get());
    return WriteAll(fd_, absl::string_view(reinterpret_cast<const char*>(&digest), 8));
  }

 private:
  absl::Status Flush() {
    XXH3_64bits_update(hash_.get(), buffer_.data(), buffer_.size());
    const absl::Status status = WriteAll(fd_, buffer_);
    buffer_.clear();
    return status;
  }

  const int fd_;
  const HashState hash_;
  std::string buffer_;
};

class Reader {
 public:
  explicit Reader(int fd) : fd_(fd), hash_(NewHash()) {}

  bool Read(void* data, size_t bytes, bool hashed = true) {
    char* to = static_cast<char*>(data);
    size_t left = bytes;
    while (left > 0) {
      const ssize_t got = ::read(fd_, to, left);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      to += got;
      left -= static_cast<size_t>(got);
    }
    if (hashed) XXH3_64bits_update(hash_.get(), data, bytes);
    return true;
  }
  template <typename T>
  bool ReadArray(uint64_t count, std::vector<T>& array) {
    array.resize(count);
    return Read(array.data(), count * sizeof(T));
  }
  uint64_t digest() const { return XXH3_64bits_digest(hash_.get()); }

 private:
  const int fd_;
  const HashState hash_;
};

}  // namespace

absl::StatusOr<WalkCatalogue> ReadWalkCatalogue(const std::string& path, uint64_t block_bytes) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status = {};
  if (fd.get() < 0 || fstat(fd.get(), &status) != 0) {
    return StatusFromErrno(errno, absl::StrCat("opening ", path));
  }
  const absl::Status damaged = absl::DataLossError(absl::StrCat(path, " is damaged"));
  Reader reader(fd.get());
  Header header;
  if (!reader.Read(&header, sizeof(header)) ||
      std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.block_bytes != block_bytes) {
    return damaged;
  }
  // The size decides what is allocated, so it is checked before anything is.
  const uint64_t size = static_cast<uint64_t>(status.st_size);
  if (header.file_count >= kNoFile || header.mapping_count >= UINT32_MAX ||
      header.piece_count >= UINT32_MAX || header.checksum_bytes > size ||
      header.generation > INT64_MAX ||
      sizeof(Header) + header.file_count * sizeof(FileIdentity) +
              header.mapping_count * sizeof(WalkMapping) + header.piece_count * sizeof(WalkPiece) +
              header.checksum_bytes + sizeof(uint64_t) !=
          size) {
    return damaged;
  }
  WalkCatalogue catalogue;
  catalogue.generation = header.generation;
  std::vector<WalkMapping> mappings;
  std::vector<WalkPiece> pieces;
  std::string checksums(header.checksum_bytes, '\0');
  uint64_t digest = 0;
  if (!reader.ReadArray(header.file_count, catalogue.files) ||
      !reader.ReadArray(header.mapping_count, mappings) ||
      !reader.ReadArray(header.piece_count, pieces) ||
      !reader.Read(checksums.data(), header.checksum_bytes) ||
      !reader.Read(&digest, sizeof(digest), /*hashed=*/false) || digest != reader.digest()) {
    return damaged;
  }
  catalogue.checksums = ChecksumStore(std::move(checksums));
  const bool sorted =
      std::is_sorted(catalogue.files.begin(), catalogue.files.end(),
                     [](const FileIdentity& a, const FileIdentity& b) {
                       return std::tie(a.subvolume, a.inode) < std::tie(b.subvolume, b.inode);
                     });
  if (!sorted ||
      !WalkMap::Restore(static_cast<uint32_t>(header.file_count), std::move(mappings),
                        std::move(pieces), block_bytes, header.checksum_bytes, catalogue.map)) {
    return damaged;
  }
  return catalogue;
}

absl::Status WriteWalkCatalogue(const std::string& path, uint64_t generation,
                                const std::vector<FileIdentity>& files, const WalkMap& map,
                                const ChecksumStore& checksums) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return StatusFromErrno(errno, absl::StrCat("making ", folder));
  }
  const std::string next = absl::StrCat(path, ".new");
  const Fd fd(open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd.get() < 0) return StatusFromErrno(errno, absl::StrCat("making ", next));

  const uint64_t block = map.block_bytes();
  const auto bytes_of = [&](const WalkPiece& piece) {
    return piece.length / block * kChecksumBytes;
  };
  Header header = {};
  header.generation = generation;
  header.block_bytes = block;
  header.file_count = files.size();
  header.mapping_count = map.mappings().size();
  header.piece_count = map.pieces().size();
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  for (const WalkPiece& piece : map.pieces()) header.checksum_bytes += bytes_of(piece);
  Writer writer(fd.get());
  RETURN_IF_ERROR(writer.Add(&header, sizeof(header)));
  RETURN_IF_ERROR(writer.Add(files.data(), files.size() * sizeof(FileIdentity)));
  RETURN_IF_ERROR(writer.Add(map.mappings().data(), map.mappings().size() * sizeof(WalkMapping)));
  uint64_t at = 0;
  for (WalkPiece piece : map.pieces()) {
    piece.checksum_at = std::exchange(at, at + bytes_of(piece));
    piece.first_reference = 0;
    RETURN_IF_ERROR(writer.Add(&piece, sizeof(piece)));
  }
  for (const WalkPiece& piece : map.pieces()) {
    RETURN_IF_ERROR(
        writer.Add(checksums.At(piece.checksum_at, bytes_of(piece)).data(), bytes_of(piece)));
  }
  RETURN_IF_ERROR(writer.End());
  if (fsync(fd.get()) != 0 || rename(next.c_str(), path.c_str()) != 0) {
    return StatusFromErrno(errno, absl::StrCat("replacing ", path));
  }
  const Fd directory(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) fsync(directory.get());
  return absl::OkStatus();
}

}  // namespace onefold
