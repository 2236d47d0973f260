#include "worker/walk_volume.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/bytes.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "worker/btrfs_errno.h"
#include "worker/btrfs_items.h"
#include "worker/btrfs_resolve.h"
#include "worker/fd_file.h"
#include "worker/fingerprint.h"
#include "worker/open_below.h"
#include "worker/tree_walk.h"
#include "worker/walk_catalogue.h"
#include "worker/walk_reader.h"
#include "worker/walk_trees.h"
#include "worker/xfs_facts.h"

namespace onefold {
namespace {

// Reading is kept at least so often: a kill costs no more than that.
constexpr absl::Duration kSavePause = absl::Minutes(2);
// What is said to be free for metadata: how much there is cannot be asked of every filesystem, and
// the kernel's own answer ends the run.
constexpr int64_t kMetadataTotal = int64_t{2} << 30;

// The index of a walk is another one than that of the filesystem's trees.
VolumeUuid WalkUuid(const VolumeUuid& filesystem) {
  const std::string text = absl::StrCat("walk ", ToBytes(filesystem));
  std::string bytes;
  AppendBig64(bytes, ChecksumDigest(text));
  AppendBig64(bytes, ChecksumDigest(text + "."));
  return *VolumeUuidFromBytes(bytes);
}

class WalkedVolume final : public WalkVolume {
 public:
  WalkedVolume(VolumeInfo info, std::vector<WalkRoot> roots, const WalkOptions& options,
               std::string catalogue_path)
      : info_(info),
        roots_(std::move(roots)),
        options_(options),
        catalogue_path_(std::move(catalogue_path)) {}

  const VolumeInfo& info() const override { return info_; }

  absl::Status Walk(const ExcludeList& excludes, Clock& clock, StopSignal& stop, Progress& progress,
                    OperationGate* gate, const std::function<void(Problem)>& problem) override;
  std::vector<ScopeRoot> Roots() override;
  int64_t changed_count() override { return changed_count_; }
  absl::Status Save() override;

  absl::Status Search(const TreeRange& range,
                      const std::function<bool(const TreeItem&)>& visit) override;
  absl::StatusOr<std::vector<RawReference>> References(uint64_t address,
                                                       int64_t reference_max) override;
  absl::StatusOr<std::unique_ptr<OpenFile>> Open(const InodeId& file) override;
  absl::StatusOr<std::unique_ptr<ScratchFile>> NewScratchFile(const InodeId&) override {
    return absl::FailedPreconditionError("nothing is written to a volume that was walked");
  }
  int Dedupe(OpenFile& source, int64_t offset, int64_t length,
             absl::Span<DedupeDestination> destinations) override;
  absl::StatusOr<int64_t> Commit() override;
  absl::StatusOr<int64_t> Generation() override { return static_cast<int64_t>(generation_.load()); }
  absl::StatusOr<SpaceInfo> Space() override;

 private:
  // What is known. Replaced as a whole: whoever looks keeps what it began with.
  struct State {
    WalkMap map;
    ChecksumStore checksums;
  };
  std::shared_ptr<const State> Now() {
    MutexLock lock(&mutex_);
    return state_;
  }
  void SetState(std::shared_ptr<const State> state) {
    MutexLock lock(&mutex_);
    state_ = std::move(state);
  }
  WalkTrees Trees(const State& state) const {
    return {files_, state.map, state.checksums, roots_.size()};
  }
  bool IsTouched(uint32_t file) {
    MutexLock lock(&mutex_);
    return touched_.contains(file);
  }
  absl::Status Flush();
  // Asks again where files lie that something was shared with.
  void MapTouched();
  std::vector<FileIdentity> Identities() const;

  const VolumeInfo info_;
  const std::vector<WalkRoot> roots_;
  const WalkOptions options_;
  const std::string catalogue_path_;

  // Of the walk.
  WalkFiles files_;
  // Changed by Walk and MapTouched, one at a time.
  Mutex refresh_mutex_;
  std::vector<uint8_t> given_up_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<int64_t> changed_count_{0};

  Mutex mutex_;
  std::shared_ptr<const State> state_ ABSL_GUARDED_BY(mutex_) = std::make_shared<State>();
  absl::flat_hash_set<uint32_t> touched_ ABSL_GUARDED_BY(mutex_);
};

absl::Status WalkedVolume::Flush() {
  // What is not on disk yet has no address.
  for (const WalkRoot& root : roots_) {
    if (syncfs(root.directory.get()) != 0) return StatusFromErrno(errno, "syncing");
  }
  return absl::OkStatus();
}

absl::Status WalkedVolume::Walk(const ExcludeList& excludes, Clock& clock, StopSignal& stop,
                                Progress& progress, OperationGate* gate,
                                const std::function<void(Problem)>& problem) {
  RETURN_IF_ERROR(Flush());
  WalkCatalogue old;
  if (auto known = ReadWalkCatalogue(catalogue_path_, info_.block_bytes); known.ok()) {
    old = *std::move(known);
  } else if (!absl::IsNotFound(known.status()) && !absl::IsDataLoss(known.status())) {
    return known.status();
  }
  // Grows from walk to walk, also when the catalogue was lost in between.
  generation_ =
      std::max(old.generation + 1, static_cast<uint64_t>(absl::ToUnixSeconds(clock.Now())));
  ASSIGN_OR_RETURN(files_, TreeWalk(roots_, excludes, options_.limits, stop, problem).Run());

  given_up_.assign(files_.files().size(), 0);
  WalkReader reader(roots_, files_, info_.block_bytes, options_.thread_count, given_up_, problem);
  std::vector<uint32_t> numbers(files_.files().size());
  for (uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  std::vector<WalkMapping> mappings = reader.Map(numbers, stop);
  if (stop.requested()) return absl::CancelledError("stopped");

  // Both in the order of inodes.
  std::vector<uint32_t> old_file(files_.files().size(), kNoFile);
  for (size_t i = 0, k = 0; i < old_file.size() && k < old.files.size();) {
    const FileIdentity& now = files_.files()[i].identity;
    const FileIdentity& then = old.files[k];
    const auto order = std::tie(now.subvolume, now.inode) <=> std::tie(then.subvolume, then.inode);
    if (order == 0 && now == then) old_file[i] = static_cast<uint32_t>(k);
    if (order <= 0) ++i;
    if (order >= 0) ++k;
  }
  const auto state = std::make_shared<State>();
  state->checksums = std::move(old.checksums);
  state->map = WalkMap::Build(static_cast<uint32_t>(files_.files().size()), std::move(mappings),
                              info_.block_bytes, old.map, old_file, generation_, state->checksums);
  state->checksums.Settle();
  old = {};
  SetState(state);

  int64_t unread_bytes = 0;
  for (const WalkPiece& piece : state->map.pieces()) {
    unread_bytes += piece.is_read() ? 0 : piece.length;
  }
  progress.scan_bytes_total += unread_bytes;
  while (unread_bytes > 0 && !stop.requested()) {
    const bool complete = reader.ReadPieces(state->map, state->checksums, generation_, clock,
                                            kSavePause, stop, progress, gate);
    changed_count_ = reader.changed_count();
    if (complete) break;
    RETURN_IF_ERROR(Save());
  }
  changed_count_ = reader.changed_count();
  RETURN_IF_ERROR(Save());
  return stop.requested() ? absl::CancelledError("stopped") : absl::OkStatus();
}

std::vector<FileIdentity> WalkedVolume::Identities() const {
  std::vector<FileIdentity> identities;
  identities.reserve(files_.files().size());
  for (size_t i = 0; i < files_.files().size(); ++i) {
    identities.push_back(files_.files()[i].identity);
    if (given_up_[i] != 0) identities.back().bytes = -1;  // like no file
  }
  return identities;
}

absl::Status WalkedVolume::Save() {
  RETURN_IF_ERROR(Commit().status());
  const std::shared_ptr<const State> state = Now();
  return WriteWalkCatalogue(catalogue_path_, generation_, Identities(), state->map,
                            state->checksums);
}

std::vector<ScopeRoot> WalkedVolume::Roots() {
  std::vector<ScopeRoot> roots;
  for (uint32_t i = 0; i < roots_.size(); ++i) {
    InodeId id = walk_id::OfDirectory(i, roots_.size());
    if (!roots_[i].file.empty()) {
      // Without its file, one that nothing has.
      const auto file = std::find_if(files_.files().begin(), files_.files().end(),
                                     [&](const WalkFile& found) { return found.directory == i; });
      id = walk_id::OfFile(static_cast<uint32_t>(file - files_.files().begin()));
    }
    roots.push_back({.path = roots_[i].path, .subvolume_id = id.subvolume, .inode = id.inode});
  }
  return roots;
}

absl::Status WalkedVolume::Search(const TreeRange& range,
                                  const std::function<bool(const TreeItem&)>& visit) {
  const uint64_t inode = range.first.object;
  if (range.tree == kFsTree && inode >= walk_id::kFiles && inode - walk_id::kFiles < kNoFile &&
      IsTouched(static_cast<uint32_t>(inode - walk_id::kFiles))) {
    MapTouched();
  }
  const std::shared_ptr<const State> state = Now();
  return Trees(*state).Search(range, visit);
}

absl::StatusOr<std::vector<RawReference>> WalkedVolume::References(uint64_t address,
                                                                   int64_t reference_max) {
  std::shared_ptr<const State> state = Now();
  size_t piece = state->map.FindPiece(address);
  if (piece == state->map.pieces().size()) return absl::NotFoundError("nothing begins there");
  if (static_cast<int64_t>(state->map.ReferencesOf(piece).size()) > reference_max) {
    return absl::ResourceExhaustedError("too many references");
  }
  const absl::Span<const uint32_t> references = state->map.ReferencesOf(piece);
  const bool touched = std::any_of(references.begin(), references.end(), [&](uint32_t reference) {
    return IsTouched(state->map.mappings()[reference].file);
  });
  if (touched) {  // what was shared a moment ago counts already
    MapTouched();
    state = Now();
    piece = state->map.FindPiece(address);
    if (piece == state->map.pieces().size()) return absl::NotFoundError("nothing begins there");
  }
  return Trees(*state).ReferencesOf(piece);
}

absl::StatusOr<std::unique_ptr<OpenFile>> WalkedVolume::Open(const InodeId& file) {
  const uint64_t number = file.inode - walk_id::kFiles;
  if (file.inode < walk_id::kFiles || number >= files_.files().size()) {
    return absl::NotFoundError("no such file");
  }
  int error = 0;
  auto opened = OpenWalked(roots_, files_, static_cast<uint32_t>(number), error);
  if (opened == nullptr) {
    // Replaced, moved, or something else in its place: what was decided on is not there any more.
    if (error == ELOOP || error == ENOTDIR || error == EXDEV) error = ENOENT;
    return StatusFromErrno(error, "opening a file that was walked");
  }
  return opened;
}

int WalkedVolume::Dedupe(OpenFile& source, int64_t offset, int64_t length,
                         absl::Span<DedupeDestination> destinations) {
  {
    MutexLock lock(&mutex_);
    for (const DedupeDestination& destination : destinations) {
      touched_.insert(dynamic_cast<WalkedFile&>(*destination.file).number());
    }
  }
  return DedupeRange(source, offset, length, destinations);
}

absl::StatusOr<int64_t> WalkedVolume::Commit() {
  MapTouched();
  return static_cast<int64_t>(generation_.load());
}

void WalkedVolume::MapTouched() {
  // Held over system calls: whoever comes next needs their result, too.
  MutexLock one_at_a_time(&refresh_mutex_);
  std::vector<uint32_t> touched;
  {
    MutexLock lock(&mutex_);
    touched.assign(touched_.begin(), touched_.end());
  }
  if (touched.empty()) return;
  std::sort(touched.begin(), touched.end());
  StopSignal never;
  WalkReader reader(roots_, files_, info_.block_bytes, options_.thread_count, given_up_,
                    [](Problem) {});
  const std::vector<WalkMapping> changed = reader.Map(touched, never);
  changed_count_ += reader.changed_count();
  const std::shared_ptr<const State> old = Now();
  std::vector<WalkMapping> all;
  all.reserve(old->map.mappings().size() + changed.size());
  auto next = changed.begin();
  auto number = touched.begin();
  for (const WalkMapping& mapping : old->map.mappings()) {
    while (number != touched.end() && *number < mapping.file) ++number;
    if (number != touched.end() && *number == mapping.file) continue;
    while (next != changed.end() && next->file < mapping.file) all.push_back(*next++);
    all.push_back(mapping);
  }
  all.insert(all.end(), next, changed.end());
  // Their contents are the same: what is known of them stays known.
  std::vector<uint32_t> same(files_.files().size());
  for (uint32_t i = 0; i < same.size(); ++i) same[i] = given_up_[i] != 0 ? kNoFile : i;
  auto state = std::make_shared<State>();
  state->checksums = old->checksums;
  state->map = WalkMap::Build(old->map.file_count(), std::move(all), info_.block_bytes, old->map,
                              same, generation_ + 1, state->checksums);
  ++generation_;
  MutexLock lock(&mutex_);
  state_ = std::move(state);
  for (const uint32_t file : touched) touched_.erase(file);
}

absl::StatusOr<SpaceInfo> WalkedVolume::Space() {
  struct statvfs filesystem;
  if (fstatvfs(roots_.front().directory.get(), &filesystem) != 0) {
    return StatusFromErrno(errno, "asking for space");
  }
  const int64_t block = static_cast<int64_t>(filesystem.f_frsize);
  const int64_t data_bytes = Now()->map.BytesRead();
  return SpaceInfo{.data_used = data_bytes,
                   .data_total = data_bytes,
                   .metadata_total = kMetadataTotal,
                   .device_bytes = static_cast<int64_t>(filesystem.f_blocks) * block,
                   .unallocated = static_cast<int64_t>(filesystem.f_bavail) * block};
}

// A root, open.
absl::StatusOr<WalkRoot> OpenRoot(const ScopeRoot& root) {
  WalkRoot walk;
  walk.path = root.path;
  walk.directory = OpenResolved(root.path, O_RDONLY | O_DIRECTORY);
  if (walk.directory.get() < 0 && errno == ENOTDIR) {
    const size_t slash = root.path.rfind('/');
    walk.file = root.path.substr(slash + 1);
    walk.directory =
        OpenResolved(slash == 0 ? "/" : root.path.substr(0, slash), O_RDONLY | O_DIRECTORY);
  }
  struct stat status = {};
  if (walk.directory.get() < 0 || fstat(walk.directory.get(), &status) != 0) {
    return StatusFromErrno(errno, absl::StrCat("opening ", root.path));
  }
  if (walk.file.empty() && status.st_ino != root.inode) {
    return absl::FailedPreconditionError(
        absl::StrCat(root.path, " is another directory than a moment ago"));
  }
  return walk;
}

absl::Status Lock(const std::vector<WalkRoot>& roots) {
  for (const WalkRoot& root : roots) {
    if (!root.file.empty()) continue;
    if (flock(root.directory.get(), LOCK_EX | LOCK_NB) == 0) continue;
    if (errno != EWOULDBLOCK) return StatusFromErrno(errno, absl::StrCat("locking ", root.path));
    return absl::UnavailableError(absl::StrCat("another run of onefold is working on ", root.path,
                                               " (it is locked); wait until it has ended"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<WalkVolume>> OpenWalkVolume(const VolumeUuid& uuid,
                                                           const std::vector<ScopeRoot>& roots,
                                                           const WalkOptions& options,
                                                           Access access) {
  std::vector<WalkRoot> open_roots;
  VolumeInfo info{.uuid = WalkUuid(uuid), .walked = true};
  for (const ScopeRoot& root : roots) {
    ASSIGN_OR_RETURN(WalkRoot walk, OpenRoot(root));
    VolumeUuid found;
    if (const auto subvolume = InspectSubvolume(walk.directory.get()); subvolume.ok()) {
      found = subvolume->uuid;
      ASSIGN_OR_RETURN(const uint32_t bytes, BtrfsBlockBytes(walk.directory.get()));
      info.block_bytes = static_cast<int32_t>(bytes);
    } else {
      ASSIGN_OR_RETURN(const XfsFacts facts, ReadXfsFacts(walk.directory.get()));
      found = facts.uuid;
      info.block_bytes = static_cast<int32_t>(facts.block_bytes);
    }
    if (found != uuid) {
      return absl::FailedPreconditionError(
          absl::StrCat(root.path, " holds another filesystem than a moment ago"));
    }
    open_roots.push_back(std::move(walk));
  }
  if (info.block_bytes < 4096 || info.block_bytes > 65536) {
    return absl::UnimplementedError(
        absl::StrCat(roots.front().path, ": blocks of ", info.block_bytes,
                     " bytes are not known to this version of onefold"));
  }
  if (access == Access::kChanging) RETURN_IF_ERROR(Lock(open_roots));
  const std::string path = absl::StrCat(options.directory, "/", ToString(uuid));
  return std::make_unique<WalkedVolume>(info, std::move(open_roots), options, path);
}

}  // namespace onefold
