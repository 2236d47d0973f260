// How FakeVolume answers: the truth by the kernel's rules, or what a test told it to.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status_macros.h"
#include "worker/testing/fake_volume.h"

namespace onefold {
namespace {

constexpr int64_t kPageBytes = 4096;
constexpr int32_t kDiffers = 1;  // FILE_DEDUPE_RANGE_DIFFERS

bool IsSystemTree(uint64_t tree) {
  return tree == kRootTree || tree == kExtentTree || tree == kChunkTree || tree == kChecksumTree;
}

}  // namespace

class FakeVolume::HasId {
 public:
  virtual ~HasId() = default;
  virtual const InodeId& id() const = 0;
};

class FakeVolume::File final : public OpenFile, public HasId {
 public:
  File(FakeVolume& volume, const InodeId& id) : volume_(volume), id_(id) {
    MutexLock lock(&volume_.mutex_);
    volume_.open_max_ = std::max(volume_.open_max_, ++volume_.open_);
  }
  ~File() override {
    MutexLock lock(&volume_.mutex_);
    --volume_.open_;
  }

  absl::StatusOr<int64_t> Read(int64_t offset, absl::Span<char> buffer) override {
    MutexLock lock(&volume_.mutex_);
    if (const auto error = volume_.read_errors_.find(id_); error != volume_.read_errors_.end()) {
      return error->second;
    }
    const auto inode = volume_.inodes_.find(id_);
    if (inode == volume_.inodes_.end()) return 0;
    const int64_t size = static_cast<int64_t>(inode->second.item.size);
    const int64_t bytes =
        std::clamp<int64_t>(size - offset, 0, static_cast<int64_t>(buffer.size()));
    const int64_t block = volume_.block_;
    for (int64_t at = 0; at < bytes;) {
      const uint64_t number = volume_.BlockAt(id_, (offset + at) / block);
      const int64_t end = std::min(bytes, ((offset + at) / block + 1) * block - offset);
      for (; at < end; ++at) buffer[at] = static_cast<char>(number >> (8 * ((offset + at) % 8)));
    }
    volume_.Cache(id_, offset, bytes);
    return bytes;
  }

  std::vector<bool> ResidentPages(int64_t offset, int64_t length) override {
    MutexLock lock(&volume_.mutex_);
    if (volume_.resident_hidden_) return {};
    const int64_t first = offset / kPageBytes;
    const int64_t end = (offset + length + kPageBytes - 1) / kPageBytes;
    const std::set<int64_t>& pages = volume_.resident_[id_];
    std::vector<bool> resident;
    for (int64_t page = first; page < end; ++page) resident.push_back(pages.count(page) > 0);
    return resident;
  }

  void DropPages(int64_t offset, int64_t length) override {
    MutexLock lock(&volume_.mutex_);
    // Partial pages at both ends stay, as with POSIX_FADV_DONTNEED.
    const int64_t first = (offset + kPageBytes - 1) / kPageBytes;
    const int64_t end = (offset + length) / kPageBytes;
    std::set<int64_t>& pages = volume_.resident_[id_];
    pages.erase(pages.lower_bound(first), pages.lower_bound(end));
  }

  const InodeId& id() const override { return id_; }

 private:
  FakeVolume& volume_;
  const InodeId id_;
};

class FakeVolume::Scratch final : public ScratchFile, public HasId {
 public:
  Scratch(FakeVolume& volume, const InodeId& id) : volume_(volume), file_(volume, id) {}
  ~Scratch() override { volume_.Remove(file_.id()); }

  absl::StatusOr<int64_t> Read(int64_t offset, absl::Span<char> buffer) override {
    return file_.Read(offset, buffer);
  }
  std::vector<bool> ResidentPages(int64_t offset, int64_t length) override {
    return file_.ResidentPages(offset, length);
  }
  void DropPages(int64_t offset, int64_t length) override { file_.DropPages(offset, length); }
  const InodeId& id() const override { return file_.id(); }

  absl::Status Write(int64_t offset, absl::string_view data) override {
    {
      MutexLock lock(&volume_.mutex_);
      RETURN_IF_ERROR(volume_.scratch_write_error_);
    }
    CHECK(offset % volume_.block_ == 0);
    Blocks blocks;
    for (size_t at = 0; at < data.size(); at += volume_.block_) {
      uint64_t number = 0;
      std::memcpy(&number, data.data() + at, std::min<size_t>(8, data.size() - at));
      blocks = blocks + Blocks::Repeated(number, 1);
    }
    volume_.Overwrite(id(), offset / volume_.block_, blocks);
    volume_.SetSize(id(), offset + static_cast<int64_t>(data.size()));
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> DiskBytes() override {
    int64_t bytes = 0;
    for (const uint64_t extent : volume_.ExtentsOf(id())) {
      bytes += volume_.DiskOf(extent).count() * volume_.block_;
    }
    return bytes;
  }

  absl::Status Clear() override {
    volume_.SetSize(id(), 0);
    return absl::OkStatus();
  }

 private:
  FakeVolume& volume_;
  File file_;
};

absl::StatusOr<std::unique_ptr<ScratchFile>> FakeVolume::NewScratchFile(const InodeId& directory) {
  {
    MutexLock lock(&mutex_);
    RETURN_IF_ERROR(scratch_error_);
  }
  const InodeId id = AddFile("scratch", {.subvolume = directory.subvolume});
  Unlink(id);
  return std::make_unique<Scratch>(*this, id);
}

void FakeVolume::FailScratch(absl::Status make, absl::Status write) {
  MutexLock lock(&mutex_);
  scratch_error_ = std::move(make);
  scratch_write_error_ = std::move(write);
}

absl::Status FakeVolume::Search(const TreeRange& range,
                                const std::function<bool(const TreeItem&)>& visit) {
  {
    MutexLock lock(&mutex_);
    ++searches_[range.tree];
    const auto error = search_errors_.find(range.tree);
    if (error != search_errors_.end()) return error->second;
    if (!IsSystemTree(range.tree) && subvolumes_.count(range.tree) == 0) {
      return absl::NotFoundError(absl::StrCat("no tree ", range.tree));
    }
  }
  TreeKey next = range.first;
  while (true) {
    // A buffer full at a time, as the kernel does: what changes meanwhile is seen. Each body has
    // memory of its own, freed after the visit.
    std::vector<std::pair<TreeKey, std::vector<char>>> batch;
    {
      MutexLock lock(&mutex_);
      int64_t bytes = 0;
      for (auto item = items_.lower_bound({range.tree, next});
           item != items_.end() && item->first.first == range.tree &&
           item->first.second <= range.last;
           ++item) {
        if (item->second.leaf_generation < range.leaf_generation_min) continue;
        const std::string& body = item->second.body;
        bytes += 32 + static_cast<int64_t>(body.size());
        if (!batch.empty() && bytes > range.buffer_bytes) break;
        if (range.item_count > 0 && batch.size() == range.item_count) break;
        batch.emplace_back(item->first.second, std::vector<char>(body.begin(), body.end()));
      }
      items_read_[range.tree] += static_cast<int64_t>(batch.size());
    }
    if (batch.empty()) return absl::OkStatus();
    for (auto& [key, body] : batch) {
      const bool goes_on = visit({.key = key, .body = absl::string_view(body.data(), body.size())});
      if (!goes_on) return absl::OkStatus();
      std::vector<char>().swap(body);
    }
    next = batch.back().first;
    if (++next.offset == 0 && ++next.type == 0 && ++next.object == 0) return absl::OkStatus();
    if (next > range.last) return absl::OkStatus();
  }
}

absl::StatusOr<std::vector<RawReference>> FakeVolume::References(uint64_t address,
                                                                 int64_t reference_max) {
  std::vector<RawReference> references;
  std::function<void(uint64_t)> hook;
  {
    MutexLock lock(&mutex_);
    ++reference_look_ups_;
    if (const auto error = reference_errors_.find(address); error != reference_errors_.end()) {
      return error->second;
    }
    const auto extent = extents_.find(address);
    if (extent == extents_.end()) return absl::NotFoundError("no extent begins there");
    for (const auto& [file, at] : extent->second.places) {
      if (busy_.count(file) > 0) ++reference_clashes_;
      references.push_back({.file = file, .file_offset = static_cast<uint64_t>(at * block_)});
    }
    references.insert(references.end(), extent->second.foreign.begin(),
                      extent->second.foreign.end());
    hook = after_references_;
  }
  if (static_cast<int64_t>(references.size()) > reference_max) {
    return absl::ResourceExhaustedError("too many references");
  }
  if (hook) hook(address);
  return references;
}

absl::StatusOr<std::unique_ptr<OpenFile>> FakeVolume::Open(const InodeId& file) {
  std::function<void(const InodeId&)> hook;
  {
    MutexLock lock(&mutex_);
    if (const auto error = open_errors_.find(file); error != open_errors_.end()) {
      return error->second;
    }
    const auto subvolume = subvolumes_.find(file.subvolume);
    const auto inode = inodes_.find(file);
    if (subvolume == subvolumes_.end() || subvolume->second.being_deleted ||
        inode == inodes_.end() || inode->second.item.link_count == 0) {
      return absl::NotFoundError("stale handle");
    }
    hook = after_open_;
  }
  if (hook) hook(file);
  return std::make_unique<File>(*this, file);
}

int FakeVolume::Dedupe(OpenFile& source, int64_t offset, int64_t length,
                       absl::Span<DedupeDestination> destinations) {
  const InodeId from = dynamic_cast<HasId&>(source).id();
  DedupeCall call{.source = from, .offset = offset, .length = length};
  std::set<InodeId> files = {from};
  for (const DedupeDestination& destination : destinations) {
    const InodeId file = dynamic_cast<HasId&>(*destination.file).id();
    call.destinations.push_back({.file = file, .offset = destination.offset});
    files.insert(file);
  }
  size_t number;
  std::function<void(const DedupeCall&, size_t)> hook;
  std::chrono::microseconds delay;
  {
    MutexLock lock(&mutex_);
    number = calls_.size();
    calls_.push_back(call);
    for (const InodeId& file : files) {
      if (busy_.count(file) > 0) ++inode_clashes_;
      busy_.insert(file);
    }
    hook = before_dedupe_;
    delay = dedupe_delay_;
  }
  if (hook) hook(call, number);
  if (delay.count() > 0) std::this_thread::sleep_for(delay);

  MutexLock lock(&mutex_);
  for (const InodeId& file : files) busy_.erase(busy_.find(file));
  if (!call_errors_.empty()) {
    const int error = call_errors_.front();
    call_errors_.pop_front();
    if (error != 0) return error;
  }
  if (destinations.size() > kDedupeDestinationsMax) return ENOMEM;  // more than a page
  const auto inode = inodes_.find(from);
  if (inode == inodes_.end()) return ENOENT;
  if (!inode->second.item.is_regular()) return EINVAL;
  if (offset + length > static_cast<int64_t>(inode->second.item.size)) return EINVAL;
  for (size_t i = 0; i < destinations.size(); ++i) {
    const InodeId& file = call.destinations[i].file;
    Answer answer;
    if (const auto constant = constant_answers_.find(file); constant != constant_answers_.end()) {
      answer = constant->second;
    }
    if (const auto next = answers_.find(file); next != answers_.end() && !next->second.empty()) {
      answer = next->second.front();
      next->second.pop_front();
    }
    DedupeDestination& destination = destinations[i];
    if (answer.status != 0 || answer.pretends) {
      destination.status = answer.status;
      destination.bytes = answer.status == 0 ? length : 0;
      continue;
    }
    const int64_t wanted = answer.bytes < 0 ? length : std::min(answer.bytes, length);
    const DedupeDestination judged = Judge(from, offset, wanted, file, destination);
    destination.status = judged.status;
    destination.bytes = judged.bytes;
  }
  return 0;
}

// mm/filemap.c, fs/remap_range.c, fs/btrfs/reflink.c.
DedupeDestination FakeVolume::Judge(const InodeId& source, int64_t offset, int64_t length,
                                    const InodeId& file, const DedupeDestination& destination) {
  const auto fails = [](int error) { return DedupeDestination{.status = -error}; };
  const auto found = inodes_.find(file);
  if (found == inodes_.end()) return fails(ENOENT);
  const Inode& to = found->second;
  const Inode& from = Find(source);
  if (!to.item.is_regular()) return fails(EINVAL);
  if (length == 0) return {.status = 0, .bytes = 0};
  if (to.item.is_immutable_or_append_only()) return fails(EPERM);
  if (to.swapfile || from.swapfile) return fails(ETXTBSY);
  if (to.nodatasum != from.nodatasum) return fails(EINVAL);
  const int64_t from_size = static_cast<int64_t>(from.item.size);
  const int64_t to_size = static_cast<int64_t>(to.item.size);
  const int64_t at = destination.offset;
  if (offset % block_ != 0 || at % block_ != 0) return fails(EINVAL);
  if (offset + length > from_size || at + length > to_size) return fails(EINVAL);
  const bool both_end = offset + length == from_size && at + length == to_size;
  // Elsewhere a partial last block is left out, and reported as done all the same.
  const int64_t blocks = both_end ? (length + block_ - 1) / block_ : length / block_;
  if (source == file && at < offset + blocks * block_ && offset < at + blocks * block_) {
    return fails(EINVAL);
  }
  Cache(source, offset, length);
  Cache(file, at, length);
  for (int64_t i = 0; i < blocks; ++i) {
    if (BlockAt(source, offset / block_ + i) != BlockAt(file, at / block_ + i)) {
      return {.status = kDiffers};
    }
  }
  Share(source, offset / block_, blocks, file, at / block_);
  // What was cached of the destination is the old extent's: the kernel throws it away.
  std::set<int64_t>& pages = resident_[file];
  pages.erase(pages.lower_bound(at / kPageBytes),
              pages.lower_bound((at + blocks * block_) / kPageBytes));
  return {.status = 0, .bytes = length};
}

void FakeVolume::Share(const InodeId& source, int64_t offset, int64_t blocks, const InodeId& file,
                       int64_t to) {
  std::vector<std::pair<int64_t, Mapping>> pieces;
  for (const auto& [begin, mapping] : Find(source).mappings) {
    const int64_t from = std::max(begin, offset);
    const int64_t end = std::min(begin + mapping.blocks, offset + blocks);
    if (from >= end) continue;
    Mapping piece = mapping;
    piece.from += from - begin;
    piece.blocks = end - from;
    pieces.emplace_back(to + (from - offset), piece);
  }
  const uint64_t size = Find(file).item.size;
  Clear(file, to, blocks);
  for (const auto& [at, piece] : pieces) Map(file, at, piece);
  Find(file).item.size = size;
  OwnLeaf(file);
  WriteInode(file);
}

void FakeVolume::Cache(const InodeId& file, int64_t offset, int64_t length) {
  if (length <= 0) return;
  for (int64_t page = offset / kPageBytes; page <= (offset + length - 1) / kPageBytes; ++page) {
    resident_[file].insert(page);
  }
}

absl::StatusOr<int64_t> FakeVolume::Commit() {
  std::function<void()> hook;
  {
    MutexLock lock(&mutex_);
    hook = before_commit_;
  }
  if (hook) hook();
  MutexLock lock(&mutex_);
  ++commits_;
  for (auto extent = extents_.begin(); extent != extents_.end();) {
    if (!extent->second.used || !extent->second.places.empty() || !extent->second.foreign.empty()) {
      ++extent;
      continue;
    }
    const int64_t blocks = extent->second.disk.count();
    items_.erase(
        {kExtentTree, {extent->first, kExtentItem, static_cast<uint64_t>(blocks * block_)}});
    RemoveChecksums(extent->first, blocks);
    extent = extents_.erase(extent);
  }
  WriteChanged();
  return static_cast<int64_t>(generation_++);
}

absl::StatusOr<int64_t> FakeVolume::Generation() {
  MutexLock lock(&mutex_);
  return static_cast<int64_t>(generation_);
}

absl::StatusOr<SpaceInfo> FakeVolume::Space() {
  MutexLock lock(&mutex_);
  return space_;
}

// ---- Answers

void FakeVolume::AnswerNext(const InodeId& destination, std::vector<Answer> answers) {
  MutexLock lock(&mutex_);
  answers_[destination].assign(answers.begin(), answers.end());
}

void FakeVolume::AnswerAlways(const InodeId& destination, const Answer& answer) {
  MutexLock lock(&mutex_);
  constant_answers_[destination] = answer;
}

void FakeVolume::FailCalls(std::vector<int> errors) {
  MutexLock lock(&mutex_);
  call_errors_.assign(errors.begin(), errors.end());
}

void FakeVolume::FailOpen(const InodeId& file, absl::Status status) {
  MutexLock lock(&mutex_);
  open_errors_[file] = std::move(status);
}

void FakeVolume::FailRead(const InodeId& file, absl::Status status) {
  MutexLock lock(&mutex_);
  read_errors_[file] = std::move(status);
}

void FakeVolume::FailSearch(uint64_t tree, absl::Status status) {
  MutexLock lock(&mutex_);
  if (status.ok()) {
    search_errors_.erase(tree);
  } else {
    search_errors_[tree] = std::move(status);
  }
}

void FakeVolume::FailReferences(uint64_t address, absl::Status status) {
  MutexLock lock(&mutex_);
  reference_errors_[address] = std::move(status);
  HideOwners();
}

void FakeVolume::SetDedupeDelay(std::chrono::microseconds delay) {
  MutexLock lock(&mutex_);
  dedupe_delay_ = delay;
}

void FakeVolume::BeforeDedupe(std::function<void(const DedupeCall& call, size_t number)> hook) {
  MutexLock lock(&mutex_);
  before_dedupe_ = std::move(hook);
}

void FakeVolume::BeforeCommit(std::function<void()> hook) {
  MutexLock lock(&mutex_);
  before_commit_ = std::move(hook);
}

void FakeVolume::AfterOpen(std::function<void(const InodeId& file)> hook) {
  MutexLock lock(&mutex_);
  after_open_ = std::move(hook);
}

void FakeVolume::AfterReferences(std::function<void(uint64_t address)> hook) {
  MutexLock lock(&mutex_);
  after_references_ = std::move(hook);
  HideOwners();
}

// ---- What was done

std::vector<FakeVolume::DedupeCall> FakeVolume::dedupe_calls() {
  MutexLock lock(&mutex_);
  return calls_;
}

int64_t FakeVolume::dedupe_pairs() {
  MutexLock lock(&mutex_);
  int64_t pairs = 0;
  for (const DedupeCall& call : calls_) pairs += static_cast<int64_t>(call.destinations.size());
  return pairs;
}

int FakeVolume::commit_count() {
  MutexLock lock(&mutex_);
  return commits_;
}

int FakeVolume::open_files() {
  MutexLock lock(&mutex_);
  return open_;
}

int FakeVolume::open_files_max() {
  MutexLock lock(&mutex_);
  return open_max_;
}

int FakeVolume::inode_clashes() {
  MutexLock lock(&mutex_);
  return inode_clashes_;
}

int FakeVolume::reference_clashes() {
  MutexLock lock(&mutex_);
  return reference_clashes_;
}

int64_t FakeVolume::searches(uint64_t tree) {
  MutexLock lock(&mutex_);
  return searches_[tree];
}

int64_t FakeVolume::reference_look_ups() {
  MutexLock lock(&mutex_);
  return reference_look_ups_;
}

int64_t FakeVolume::items_read(uint64_t tree) {
  MutexLock lock(&mutex_);
  return items_read_[tree];
}

void FakeVolume::SetResident(const InodeId& file, int64_t page, int64_t count) {
  MutexLock lock(&mutex_);
  for (int64_t i = 0; i < count; ++i) resident_[file].insert(page + i);
}

std::set<int64_t> FakeVolume::ResidentPagesOf(const InodeId& file) {
  MutexLock lock(&mutex_);
  return resident_[file];
}

void FakeVolume::HideResidentPages() {
  MutexLock lock(&mutex_);
  resident_hidden_ = true;
}

}  // namespace onefold
