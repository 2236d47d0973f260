#include "worker/walk_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "common/path.h"
#include "worker/block_checksums.h"
#include "worker/btrfs_errno.h"
#include "worker/fiemap.h"
#include "worker/open_below.h"
#include "worker/parallel.h"

namespace onefold {
namespace {

// Neighbours on disk go to one thread: files a thread maps at a time, pieces it reads.
constexpr size_t kFilesPerTurn = 128;
constexpr size_t kPiecesPerTurn = 32;

int64_t Nanoseconds(const timespec& time) {
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

bool IsSame(const FileIdentity& identity, const struct stat& status) {
  return S_ISREG(status.st_mode) && identity.inode == status.st_ino &&
         identity.bytes == status.st_size && identity.modified_ns == Nanoseconds(status.st_mtim) &&
         identity.changed_ns == Nanoseconds(status.st_ctim);
}

}  // namespace

std::string WalkedPath(const std::vector<WalkRoot>& roots, const WalkFiles& files,
                       uint32_t number) {
  const WalkFile& file = files.files()[number];
  const WalkRoot& root = roots[files.RootOf(file)];
  return root.file.empty() ? JoinPath(root.path, files.PathOf(file)) : root.path;
}

std::unique_ptr<WalkedFile> OpenWalked(const std::vector<WalkRoot>& roots, const WalkFiles& files,
                                       uint32_t number, int& error) {
  const WalkFile& file = files.files()[number];
  const int root = roots[files.RootOf(file)].directory.get();
  const std::string path = files.PathOf(file);
  bool may_read = true;
  Fd fd = OpenBelow(root, path, O_RDONLY | O_NOATIME);
  if (fd.get() < 0 && errno == EPERM) {
    // Of somebody else: reading would change its access time, if the mount keeps that.
    fd = OpenBelow(root, path, O_RDONLY);
    struct statvfs filesystem;
    may_read = fd.get() >= 0 && fstatvfs(fd.get(), &filesystem) == 0 &&
               (filesystem.f_flag & ST_NOATIME) != 0;
  }
  struct stat status = {};
  if (fd.get() < 0 || fstat(fd.get(), &status) != 0) {
    error = errno;
    return nullptr;
  }
  if (!IsSame(file.identity, status)) {
    error = ESTALE;
    return nullptr;
  }
  return std::make_unique<WalkedFile>(std::move(fd), may_read, number);
}

WalkReader::WalkReader(const std::vector<WalkRoot>& roots, const WalkFiles& files,
                       uint64_t block_bytes, int thread_count, std::vector<uint8_t>& given_up,
                       std::function<void(Problem)> problem)
    : roots_(roots),
      files_(files),
      block_bytes_(block_bytes),
      thread_count_(thread_count),
      given_up_(given_up),
      problem_(std::move(problem)) {}

bool WalkReader::IsGivenUp(uint32_t number) {
  MutexLock lock(&mutex_);
  return given_up_[number] != 0;
}

void WalkReader::GiveUp(uint32_t number, int error) {
  MutexLock lock(&mutex_);
  if (std::exchange(given_up_[number], 1) != 0) return;
  if (error == ENOENT || error == ENOTDIR || error == ELOOP || error == ESTALE || error == EXDEV) {
    ++changed_count_;
    return;
  }
  problem_(AccessProblem(WalkedPath(roots_, files_, number), error));
}

std::vector<WalkMapping> WalkReader::Map(absl::Span<const uint32_t> numbers, StopSignal& stop) {
  const size_t turns = (numbers.size() + kFilesPerTurn - 1) / kFilesPerTurn;
  std::vector<std::vector<WalkMapping>> found(turns);
  ForEachInParallel(turns, thread_count_, [&](int, size_t turn) {
    std::vector<FileMapping> mappings;
    UnmappedBytes left_out;
    const size_t end = std::min(numbers.size(), (turn + 1) * kFilesPerTurn);
    for (size_t i = turn * kFilesPerTurn; i < end && !stop.requested(); ++i) {
      const uint32_t number = numbers[i];
      int error = 0;
      const std::unique_ptr<WalkedFile> file = OpenWalked(roots_, files_, number, error);
      if (file == nullptr || !file->may_read()) {
        GiveUp(number, file == nullptr ? error : EPERM);
        continue;
      }
      mappings.clear();
      const uint64_t bytes = static_cast<uint64_t>(files_.files()[number].identity.bytes);
      if (!ReadFileMap(file->fd(), bytes, block_bytes_, mappings, left_out).ok()) {
        GiveUp(number, EOPNOTSUPP);
        continue;
      }
      for (const FileMapping& mapping : mappings) {
        if (mapping.compressed && mapping.length > kCompressedBytesMax) continue;
        found[turn].push_back(
            {.file_offset = mapping.file_offset,
             .address = mapping.compressed ? CompressedAddress(mapping.address) : mapping.address,
             .length = mapping.length,
             .file = number,
             .shared = mapping.shared});
      }
    }
  });
  size_t count = 0;
  for (const auto& part : found) count += part.size();
  std::vector<WalkMapping> all;
  all.reserve(count);
  for (auto& part : found) {
    all.insert(all.end(), part.begin(), part.end());
    part = {};
  }
  return all;
}

// One thread that reads, with the file it read from last.
class WalkReader::Worker {
 public:
  Worker(WalkReader& reader, Progress& progress) : reader_(reader), progress_(progress) {}

  // False: none of the files it lies in can be read.
  bool Read(const WalkMap& map, size_t number, char* checksums) {
    const WalkPiece& piece = map.pieces()[number];
    for (const uint32_t reference : map.ReferencesOf(number)) {
      const WalkMapping& mapping = map.mappings()[reference];
      if (mapping.address > piece.address || mapping.end() < piece.end()) continue;
      if (ReadFrom(mapping, piece, checksums)) return true;
    }
    return false;
  }

 private:
  bool Open(uint32_t number) {
    if (file_ != nullptr && file_->number() == number) return true;
    file_ = nullptr;
    if (reader_.IsGivenUp(number)) return false;
    int error = 0;
    file_ = OpenWalked(reader_.roots_, reader_.files_, number, error);
    if (file_ == nullptr) reader_.GiveUp(number, error);
    return file_ != nullptr;
  }

  bool ReadFrom(const WalkMapping& mapping, const WalkPiece& piece, char* checksums) {
    if (!Open(mapping.file)) return false;
    const int64_t offset = static_cast<int64_t>(mapping.OffsetAt(piece.address));
    const int64_t wanted = std::min<int64_t>(
        piece.length, reader_.files_.files()[mapping.file].identity.bytes - offset);
    if (buffer_.size() < piece.length) buffer_.resize(piece.length);  // most are far below the most
    const std::vector<bool> resident = file_->ResidentPages(offset, wanted);
    int64_t done = 0;
    while (done < wanted) {
      const auto got = file_->Read(
          offset + done, absl::MakeSpan(buffer_.data() + done, static_cast<size_t>(wanted - done)));
      if (!got.ok() || *got <= 0) {
        reader_.GiveUp(mapping.file, absl::IsDataLoss(got.status()) ? EIO : ESTALE);
        break;
      }
      done += *got;
    }
    progress_.file_bytes_read += done;
    Restore(offset, resident);
    if (done < wanted) return false;
    // Behind the end of a file its last block is zeros, on disk as well.
    std::memset(buffer_.data() + done, 0, piece.length - static_cast<size_t>(done));
    checksums_.clear();
    AppendBlockChecksums(kChecksumKindCrc32c, static_cast<int32_t>(reader_.block_bytes_),
                         absl::string_view(buffer_.data(), piece.length), checksums_);
    std::memcpy(checksums, checksums_.data(), checksums_.size());
    return true;
  }

  // Drops pages that were not there before.
  void Restore(int64_t offset, const std::vector<bool>& resident) {
    constexpr int64_t kPage = 4096;
    for (size_t i = 0; i < resident.size();) {
      size_t end = i;
      while (end < resident.size() && resident[end] == resident[i]) ++end;
      if (!resident[i]) {
        file_->DropPages(offset + static_cast<int64_t>(i) * kPage,
                         static_cast<int64_t>(end - i) * kPage);
      }
      i = end;
    }
  }

  WalkReader& reader_;
  Progress& progress_;
  std::string buffer_;
  std::string checksums_;
  std::unique_ptr<WalkedFile> file_;
};

bool WalkReader::ReadPieces(WalkMap& map, ChecksumStore& checksums, uint64_t generation,
                            Clock& clock, absl::Duration time, StopSignal& stop, Progress& progress,
                            OperationGate* gate) {
  std::vector<uint32_t> pieces;
  for (size_t i = 0; i < map.pieces().size(); ++i) {
    const absl::Span<const uint32_t> references = map.ReferencesOf(i);
    if (!map.pieces()[i].is_read() &&
        std::any_of(references.begin(), references.end(), [&](uint32_t reference) {
          return given_up_[map.mappings()[reference].file] == 0;
        })) {
      pieces.push_back(static_cast<uint32_t>(i));
    }
  }
  const absl::Duration end = clock.Monotonic() + time;
  std::vector<std::unique_ptr<Worker>> workers(static_cast<size_t>(std::max(1, thread_count_)));
  std::atomic<bool> complete{true};
  const size_t turns = (pieces.size() + kPiecesPerTurn - 1) / kPiecesPerTurn;
  ForEachInParallel(turns, thread_count_, [&](int thread, size_t turn) {
    if (stop.requested() || clock.Monotonic() > end) {
      complete = false;
      return;
    }
    std::unique_ptr<Worker>& worker = workers[static_cast<size_t>(thread)];
    if (worker == nullptr) worker = std::make_unique<Worker>(*this, progress);
    const size_t last = std::min(pieces.size(), (turn + 1) * kPiecesPerTurn);
    for (size_t i = turn * kPiecesPerTurn; i < last; ++i) {
      if (stop.requested()) {
        complete = false;
        return;
      }
      const WalkPiece& piece = map.pieces()[pieces[i]];
      if (gate != nullptr) gate->Wait(piece.length, 0, stop);
      if (worker->Read(map, pieces[i], checksums.SettledAt(piece.checksum_at))) {
        map.MarkRead(pieces[i], generation);
      }
      progress.scan_bytes_done += piece.length;
    }
  });
  return complete;
}

}  // namespace onefold
