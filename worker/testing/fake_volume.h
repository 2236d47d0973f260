// FakeVolume: a Volume in memory that keeps btrfs's rules and can break any of them on request.
//
// Two layers. Below, trees are ordered maps of item bytes; PutItem puts anything there, hostile
// items included. Above, a small language makes subvolumes, files and extents whose items are
// written as the kernel writes them (btrfs_encoding.h), references follow from the files, and
// Dedupe compares what the files hold and moves their extents, so that a dropped extent is gone
// from the extent tree after the next Commit, and only then.
//
//   FakeVolume volume;
//   const InodeId a = volume.AddFile("a");
//   const uint64_t extent = volume.Append(a, "xyz");   // three blocks
//   volume.AddSubvolume(300, {.name = "snap", .snapshot_of = kFsTree});
//
// Offsets and lengths of the language are in blocks, addresses and file sizes in bytes.
//
// Thread-safe. Hooks are called without a lock and may use the language.

#ifndef ONEFOLD_WORKER_TESTING_FAKE_VOLUME_H_
#define ONEFOLD_WORKER_TESTING_FAKE_VOLUME_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "worker/btrfs_items.h"
#include "worker/testing/blocks.h"
#include "worker/volume.h"

namespace onefold {

inline constexpr uint64_t kTopDirectory = 256;

class FakeVolume final : public Volume {
 public:
  explicit FakeVolume(const VolumeInfo& info = {});
  ~FakeVolume() override;

  // ---- Trees, item by item

  // Puts an item there, in a leaf of the given generation (0: the running one).
  void PutItem(uint64_t tree, const TreeKey& key, std::string body, uint64_t leaf_generation = 0);
  void EraseItem(uint64_t tree, const TreeKey& key);
  void SetLeafGeneration(uint64_t tree, const TreeKey& key, uint64_t leaf_generation);

  // ---- Space

  void AddChunk(uint64_t address, int64_t blocks, uint64_t type = 1 /*data*/);

  struct ExtentOptions {
    uint64_t generation = 0;  // 0: the running one
    bool checksums = true;
    uint8_t compression = 0;
    Blocks data = {};  // unpacked, if compressed
    // Count of the extent item; negative: as many leaves as refer to it.
    int64_t references = -1;
  };
  // An extent with these blocks on disk. Nothing refers to it yet: until a file does, Commit keeps
  // it.
  void AddExtent(uint64_t address, const Blocks& blocks, const ExtentOptions& options);
  void AddExtent(uint64_t address, const Blocks& blocks) { AddExtent(address, blocks, {}); }
  // Somewhere free; returns the address.
  uint64_t AddExtent(const Blocks& blocks, const ExtentOptions& options);
  uint64_t AddExtent(const Blocks& blocks) { return AddExtent(blocks, {}); }
  // The next AddExtent without address goes there or behind.
  void AllocateFrom(uint64_t address);

  // One item of the checksum tree; what was known of its blocks is forgotten.
  void SetChecksums(uint64_t address, const Blocks& blocks, uint64_t leaf_generation = 0);
  void EraseChecksums(uint64_t address, int64_t blocks);
  // Lays the checksum tree out anew: items of at most `blocks_max` blocks, over the borders of
  // extents.
  void RepackChecksums(int64_t blocks_max);
  // What the filesystem stores for a block that holds `number`.
  std::string Checksum(uint64_t number) const;
  std::string Checksums(const Blocks& blocks) const;

  // ---- Subvolumes

  struct SubvolumeOptions {
    uint64_t parent = kFsTree;
    uint64_t directory = kTopDirectory;
    std::string name = "sub";
    bool read_only = false;
    uint64_t snapshot_of = 0;  // 0: empty
  };
  // A snapshot shares the leaves of its origin: its references are not counted in extent items
  // until something in the leaf changes. Each file is a leaf here.
  void AddSubvolume(uint64_t id, const SubvolumeOptions& options);
  // What `btrfs subvolume delete` leaves at once, and once the cleaner is done.
  void BeginDeletingSubvolume(uint64_t id);
  void DeleteSubvolume(uint64_t id);

  // ---- Files

  struct FileOptions {
    uint64_t subvolume = kFsTree;
    uint64_t parent = kTopDirectory;
    uint64_t inode = 0;  // 0: the next free one
    uint64_t flags = 0;  // InodeItem::kImmutable…
    uint32_t mode = 0100644;
    bool nodatasum = false;
  };
  InodeId AddFile(const std::string& name, const FileOptions& options);
  InodeId AddFile(const std::string& name) { return AddFile(name, FileOptions{}); }
  // Returns its inode.
  uint64_t AddDirectory(const std::string& name, const FileOptions& options);
  uint64_t AddDirectory(const std::string& name) { return AddDirectory(name, FileOptions{}); }

  // A further name.
  void Link(const InodeId& file, uint64_t parent, const std::string& name);
  // All names: deleted, but somebody has it open.
  void Unlink(const InodeId& file);
  // Gone, with its references.
  void Remove(const InodeId& file);
  void SetSize(const InodeId& file, int64_t bytes);
  void SetFlags(const InodeId& file, uint64_t flags);
  void SetSwapfile(const InodeId& file);

  struct MapOptions {
    int64_t at = 0;    // offset in the file; negative: at its end
    int64_t from = 0;  // offset into the (unpacked) extent
    int64_t blocks = -1;
    FileExtent::Kind kind = FileExtent::Kind::kRegular;
  };
  // Lets part of a file refer to (part of) an extent. The file grows if need be.
  void MapExtent(const InodeId& file, uint64_t extent, const MapOptions& options);
  // Whole extents, one behind the other from the file's end on.
  void MapExtents(const InodeId& file, const std::vector<uint64_t>& extents);
  // A new extent at the end of the file. Returns its address.
  uint64_t Append(const InodeId& file, const Blocks& blocks);
  uint64_t AppendCompressed(const InodeId& file, const Blocks& data, const Blocks& disk,
                            uint8_t compression);
  // Preallocated, never written; and a write into it later, which changes neither address nor
  // generation.
  uint64_t AppendPreallocated(const InodeId& file, int64_t blocks);
  void WritePreallocated(const InodeId& file, int64_t at, const Blocks& blocks);
  void AppendHole(const InodeId& file, int64_t blocks);
  // As write(2) does: a new extent replaces what was there. Returns its address.
  uint64_t Overwrite(const InodeId& file, int64_t at, const Blocks& blocks);

  // A reference from something that is no subvolume: the space cache, a balance.
  void AddForeignReference(uint64_t extent, const InodeId& owner, int64_t at);

  // What a reader of the file sees.
  Blocks Contents(const InodeId& file);
  // Addresses of the extents of the file in file order, holes left out, repeats joined.
  std::vector<uint64_t> ExtentsOf(const InodeId& file);
  int64_t SizeOf(const InodeId& file);
  std::vector<InodeId> Files();         // all regular ones
  bool ExtentExists(uint64_t address);  // in the extent tree
  Blocks DiskOf(uint64_t address);      // blocks of an extent that exists
  int64_t DataBytes();                  // on disk, of the extent tree
  void SetSpace(const SpaceInfo& space);

  // ---- Answers

  struct Answer {
    int32_t status = 0;
    int64_t bytes = -1;     // with status 0: shares so many only; negative: all
    bool pretends = false;  // says so and moves nothing
  };
  // What the next requests for `destination` are answered, one each; afterwards the truth.
  void AnswerNext(const InodeId& destination, std::vector<Answer> answers);
  void AnswerAlways(const InodeId& destination, const Answer& answer);
  // errno of the next calls as a whole, one each; 0 lets one through.
  void FailCalls(std::vector<int> errors);
  void FailOpen(const InodeId& file, absl::Status status);
  void FailRead(const InodeId& file, absl::Status status);
  // Look-ups in one tree (until OK is given), and of references; from then on no extent item names
  // its file, so that references are looked up.
  void FailSearch(uint64_t tree, absl::Status status);
  void FailReferences(uint64_t address, absl::Status status);
  // What every further attempt to make a scratch file, or to write to one, is answered; OK: the
  // truth.
  void FailScratch(absl::Status make, absl::Status write);
  // How long each dedupe call takes.
  void SetDedupeDelay(std::chrono::microseconds delay);

  struct Destination {
    InodeId file;
    int64_t offset = 0;
  };
  struct DedupeCall {
    InodeId source;
    int64_t offset = 0;
    int64_t length = 0;
    std::vector<Destination> destinations = {};
  };
  // Before the call does anything. `number` counts from 0.
  void BeforeDedupe(std::function<void(const DedupeCall& call, size_t number)> hook);
  void BeforeCommit(std::function<void()> hook);
  void AfterOpen(std::function<void(const InodeId& file)> hook);
  // After References has looked, before it answers. Here too no extent item names its file any
  // more.
  void AfterReferences(std::function<void(uint64_t address)> hook);

  // ---- What was done to it

  std::vector<DedupeCall> dedupe_calls();
  int64_t dedupe_pairs();
  int commit_count();
  int open_files();
  int open_files_max();
  // Calls that met an inode which another one was deduping at that moment: must be none.
  int inode_clashes();
  // Look-ups of references of an extent whose file was being deduped at that moment: must be none.
  int reference_clashes();
  int64_t searches(uint64_t tree);
  int64_t reference_look_ups();
  int64_t items_read(uint64_t tree);

  // The page cache, in pages of 4096 bytes.
  void SetResident(const InodeId& file, int64_t page, int64_t count);
  std::set<int64_t> ResidentPagesOf(const InodeId& file);
  // Lets OpenFile::ResidentPages answer nothing.
  void HideResidentPages();

  // ---- Volume

  const VolumeInfo& info() const override { return info_; }
  absl::Status Search(const TreeRange& range,
                      const std::function<bool(const TreeItem&)>& visit) override;
  absl::StatusOr<std::vector<RawReference>> References(uint64_t address,
                                                       int64_t reference_max) override;
  absl::StatusOr<std::unique_ptr<OpenFile>> Open(const InodeId& file) override;
  absl::StatusOr<std::unique_ptr<ScratchFile>> NewScratchFile(const InodeId& directory) override;
  int Dedupe(OpenFile& source, int64_t offset, int64_t length,
             absl::Span<DedupeDestination> destinations) override;
  absl::StatusOr<int64_t> Commit() override;
  absl::StatusOr<int64_t> Generation() override;
  absl::StatusOr<SpaceInfo> Space() override;

 private:
  class HasId;
  class File;
  class Scratch;

  struct Item {
    std::string body;
    uint64_t leaf_generation = 0;
  };
  struct Extent {
    Blocks disk;
    Blocks data;
    uint64_t generation = 0;
    uint8_t compression = 0;
    int64_t fixed_references = -1;
    std::set<std::pair<InodeId, int64_t>> places = {};  // (file, offset in blocks)
    std::vector<RawReference> foreign = {};
    bool used = false;     // something referred to it once
    bool changed = false;  // its item is written by the next commit
  };
  // Part of a file: blocks [begin, begin + blocks).
  struct Mapping {
    uint64_t extent = 0;
    int64_t from = 0;
    int64_t blocks = 0;
    FileExtent::Kind kind = FileExtent::Kind::kRegular;
  };
  struct Inode {
    InodeItem item;
    std::vector<InodeLink> links = {};
    std::map<int64_t, Mapping> mappings = {};
    uint64_t leaf = 0;  // equal for files that share metadata
    bool nodatasum = false;
    bool swapfile = false;
  };
  struct Subvolume {
    uint64_t last_snapshot = 0;
    SubvolumeOptions options;
    bool being_deleted = false;
    uint64_t next_inode = kTopDirectory + 1;
  };

  InodeId NewInode(const std::string& name, const FileOptions& options, uint32_t mode)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Inode& Find(const InodeId& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Subvolume& FindSubvolume(uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Extent& FindExtent(uint64_t address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Put(uint64_t tree, const TreeKey& key, std::string body, uint64_t leaf_generation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteRoot(uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteInode(const InodeId& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteExtent(uint64_t address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HideOwners() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t NewExtent(const Blocks& blocks, const ExtentOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void InsertExtent(uint64_t address, const Blocks& blocks, const ExtentOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void InsertChecksums(uint64_t address, const Blocks& blocks, uint64_t leaf_generation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RemoveChecksums(uint64_t address, int64_t blocks) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void Map(const InodeId& file, int64_t at, const Mapping& mapping)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes a hole.
  void Clear(const InodeId& file, int64_t at, int64_t blocks) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Grow(const InodeId& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(const InodeId& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The file has a leaf of its own from now on.
  void OwnLeaf(const InodeId& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t EndOf(const InodeId& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t BlockAt(const InodeId& file, int64_t at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The kernel's rules for one destination.
  DedupeDestination Judge(const InodeId& source, int64_t offset, int64_t length,
                          const InodeId& file, const DedupeDestination& destination)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Share(const InodeId& source, int64_t offset, int64_t blocks, const InodeId& file, int64_t to)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Cache(const InodeId& file, int64_t offset, int64_t length)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const VolumeInfo info_;
  const int64_t block_;

  Mutex mutex_;
  std::map<std::pair<uint64_t, TreeKey>, Item> items_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Extent> extents_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Subvolume> subvolumes_ ABSL_GUARDED_BY(mutex_);
  std::map<InodeId, Inode> inodes_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_leaf_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t next_address_ ABSL_GUARDED_BY(mutex_) = uint64_t{1} << 30;
  bool has_chunk_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 100;
  SpaceInfo space_ ABSL_GUARDED_BY(mutex_);

  std::map<InodeId, std::deque<Answer>> answers_ ABSL_GUARDED_BY(mutex_);
  std::map<InodeId, Answer> constant_answers_ ABSL_GUARDED_BY(mutex_);
  std::deque<int> call_errors_ ABSL_GUARDED_BY(mutex_);
  std::map<InodeId, absl::Status> open_errors_ ABSL_GUARDED_BY(mutex_);
  std::map<InodeId, absl::Status> read_errors_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, absl::Status> search_errors_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, absl::Status> reference_errors_ ABSL_GUARDED_BY(mutex_);
  int64_t reference_look_ups_ ABSL_GUARDED_BY(mutex_) = 0;
  bool owners_hidden_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status scratch_error_ ABSL_GUARDED_BY(mutex_);
  absl::Status scratch_write_error_ ABSL_GUARDED_BY(mutex_);
  std::chrono::microseconds dedupe_delay_ ABSL_GUARDED_BY(mutex_){0};
  std::function<void(const DedupeCall&, size_t)> before_dedupe_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> before_commit_ ABSL_GUARDED_BY(mutex_);
  std::function<void(const InodeId&)> after_open_ ABSL_GUARDED_BY(mutex_);
  std::function<void(uint64_t)> after_references_ ABSL_GUARDED_BY(mutex_);

  std::vector<DedupeCall> calls_ ABSL_GUARDED_BY(mutex_);
  std::multiset<InodeId> busy_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, int64_t> searches_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, int64_t> items_read_ ABSL_GUARDED_BY(mutex_);
  std::map<InodeId, std::set<int64_t>> resident_ ABSL_GUARDED_BY(mutex_);
  bool resident_hidden_ ABSL_GUARDED_BY(mutex_) = false;
  int open_ ABSL_GUARDED_BY(mutex_) = 0;
  int open_max_ ABSL_GUARDED_BY(mutex_) = 0;
  int commits_ ABSL_GUARDED_BY(mutex_) = 0;
  int inode_clashes_ ABSL_GUARDED_BY(mutex_) = 0;
  int reference_clashes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_TESTING_FAKE_VOLUME_H_
