// The language of FakeVolume: what is there. How it answers is in fake_volume_calls.cc.

#include "worker/testing/fake_volume.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "worker/btrfs_encoding.h"

namespace onefold {
namespace {

constexpr int64_t kChunkBlocks = int64_t{1} << 24;  // 64 GiB of 4 KiB blocks

TreeKey ChecksumKey(uint64_t address) { return {kChecksumObject, kExtentChecksum, address}; }

std::array<uint8_t, 16> UuidOf(uint64_t subvolume) {
  std::array<uint8_t, 16> uuid = {};
  if (subvolume == 0) return uuid;
  uuid[0] = 0xaa;
  std::memcpy(uuid.data() + 8, &subvolume, 8);
  return uuid;
}

}  // namespace

FakeVolume::FakeVolume(const VolumeInfo& info) : info_(info), block_(info.block_bytes) {
  MutexLock lock(&mutex_);
  subvolumes_[kFsTree] = {};
  WriteRoot(kFsTree);
  NewInode("..", {.inode = kTopDirectory}, 040755);
  space_ = {.metadata_total = int64_t{8} << 30,
            .device_bytes = int64_t{1} << 40,
            .unallocated = int64_t{512} << 30};
}

FakeVolume::~FakeVolume() = default;

// ---- Trees

void FakeVolume::Put(uint64_t tree, const TreeKey& key, std::string body,
                     uint64_t leaf_generation) {
  items_[{tree, key}] = {std::move(body), leaf_generation == 0 ? generation_ : leaf_generation};
}

void FakeVolume::PutItem(uint64_t tree, const TreeKey& key, std::string body,
                         uint64_t leaf_generation) {
  MutexLock lock(&mutex_);
  Put(tree, key, std::move(body), leaf_generation);
}

void FakeVolume::EraseItem(uint64_t tree, const TreeKey& key) {
  MutexLock lock(&mutex_);
  items_.erase({tree, key});
}

void FakeVolume::SetLeafGeneration(uint64_t tree, const TreeKey& key, uint64_t leaf_generation) {
  MutexLock lock(&mutex_);
  const auto item = items_.find({tree, key});
  CHECK(item != items_.end());
  item->second.leaf_generation = leaf_generation;
}

// ---- Space

void FakeVolume::AddChunk(uint64_t address, int64_t blocks, uint64_t type) {
  MutexLock lock(&mutex_);
  Put(kChunkTree, {kFirstFreeObject, kChunkItem, address},
      EncodeChunk(static_cast<uint64_t>(blocks * block_), type), 0);
  has_chunk_ = true;
}

void FakeVolume::InsertExtent(uint64_t address, const Blocks& blocks,
                              const ExtentOptions& options) {
  CHECK(blocks.count() > 0 && address % block_ == 0);
  Extent& extent = extents_[address];
  extent = {.disk = blocks,
            .data = options.compression != 0 ? options.data : blocks,
            .generation = options.generation == 0 ? generation_ : options.generation,
            .compression = options.compression,
            .fixed_references = options.references};
  WriteExtent(address);
  items_[{kExtentTree, {address, kExtentItem, static_cast<uint64_t>(blocks.count() * block_)}}]
      .leaf_generation = extent.generation;
  if (options.checksums) InsertChecksums(address, blocks, extent.generation);
}

uint64_t FakeVolume::NewExtent(const Blocks& blocks, const ExtentOptions& options) {
  if (!has_chunk_) {
    Put(kChunkTree, {kFirstFreeObject, kChunkItem, next_address_},
        EncodeChunk(static_cast<uint64_t>(kChunkBlocks * block_), 1), 0);
    has_chunk_ = true;
  }
  const uint64_t address = next_address_;
  next_address_ += static_cast<uint64_t>(blocks.count() * block_);
  InsertExtent(address, blocks, options);
  return address;
}

void FakeVolume::AddExtent(uint64_t address, const Blocks& blocks, const ExtentOptions& options) {
  MutexLock lock(&mutex_);
  InsertExtent(address, blocks, options);
}

uint64_t FakeVolume::AddExtent(const Blocks& blocks, const ExtentOptions& options) {
  MutexLock lock(&mutex_);
  return NewExtent(blocks, options);
}

void FakeVolume::AllocateFrom(uint64_t address) {
  MutexLock lock(&mutex_);
  next_address_ = address;
}

std::string FakeVolume::Checksum(uint64_t number) const {
  std::string bytes;
  if (number == 0 && info_.checksum_kind == kChecksumKindCrc32c) {
    bytes = "\x89\x41\xf9\x98";  // of 4096 zeros, as btrfs stores it
  }
  uint64_t state = number;
  while (bytes.size() < static_cast<size_t>(info_.checksum_bytes)) {
    state += 0x9e3779b97f4a7c15;  // splitmix64
    uint64_t mixed = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    bytes.append(reinterpret_cast<const char*>(&mixed), sizeof(mixed));
  }
  bytes.resize(info_.checksum_bytes);
  return bytes;
}

std::string FakeVolume::Checksums(const Blocks& blocks) const {
  std::string all;
  for (int64_t i = 0; i < blocks.count(); ++i) all += Checksum(blocks[i]);
  return all;
}

void FakeVolume::InsertChecksums(uint64_t address, const Blocks& blocks, uint64_t leaf_generation) {
  RemoveChecksums(address, blocks.count());
  // An item is smaller than a node.
  const int64_t item_max = (info_.node_bytes - 256) / info_.checksum_bytes;
  for (int64_t at = 0; at < blocks.count(); at += item_max) {
    Put(kChecksumTree, ChecksumKey(address + at * block_),
        Checksums(blocks.Cut(at, std::min(item_max, blocks.count() - at))), leaf_generation);
  }
}

void FakeVolume::RemoveChecksums(uint64_t address, int64_t blocks) {
  const uint64_t end = address + static_cast<uint64_t>(blocks * block_);
  const uint64_t reach = static_cast<uint64_t>(info_.node_bytes) * static_cast<uint64_t>(block_);
  auto item = items_.lower_bound({kChecksumTree, ChecksumKey(address - std::min(address, reach))});
  while (item != items_.end() && item->first.first == kChecksumTree &&
         item->first.second.offset < end) {
    const uint64_t begin = item->first.second.offset;
    const uint64_t item_end = begin + item->second.body.size() / info_.checksum_bytes * block_;
    if (item_end <= address) {
      ++item;
      continue;
    }
    const std::string body = item->second.body;
    item = items_.erase(item);
    if (begin < address) {  // what lies before and behind stays
      Put(kChecksumTree, ChecksumKey(begin),
          body.substr(0, (address - begin) / block_ * info_.checksum_bytes), 0);
    }
    if (item_end > end) {
      Put(kChecksumTree, ChecksumKey(end),
          body.substr((end - begin) / block_ * info_.checksum_bytes), 0);
    }
  }
}

void FakeVolume::SetChecksums(uint64_t address, const Blocks& blocks, uint64_t leaf_generation) {
  MutexLock lock(&mutex_);
  RemoveChecksums(address, blocks.count());
  Put(kChecksumTree, ChecksumKey(address), Checksums(blocks), leaf_generation);
}

void FakeVolume::EraseChecksums(uint64_t address, int64_t blocks) {
  MutexLock lock(&mutex_);
  RemoveChecksums(address, blocks);
}

void FakeVolume::RepackChecksums(int64_t blocks_max) {
  MutexLock lock(&mutex_);
  std::map<uint64_t, std::string> blocks;
  for (auto item = items_.lower_bound({kChecksumTree, ChecksumKey(0)});
       item != items_.end() && item->first.first == kChecksumTree;) {
    const std::string& body = item->second.body;
    for (size_t i = 0; i < body.size() / info_.checksum_bytes; ++i) {
      blocks[item->first.second.offset + i * block_] =
          body.substr(i * info_.checksum_bytes, info_.checksum_bytes);
    }
    item = items_.erase(item);
  }
  while (!blocks.empty()) {
    const uint64_t begin = blocks.begin()->first;
    std::string body;
    for (int64_t i = 0; i < blocks_max; ++i) {
      const auto next = blocks.find(begin + i * block_);
      if (next == blocks.end()) break;
      body += next->second;
      blocks.erase(next);
    }
    Put(kChecksumTree, ChecksumKey(begin), body, 0);
  }
}

void FakeVolume::WriteExtent(uint64_t address) {
  Extent& extent = FindExtent(address);
  std::set<std::pair<uint64_t, int64_t>> leaves;
  std::map<std::tuple<uint64_t, uint64_t, uint64_t>, uint32_t> refs;
  for (const auto& [file, at] : extent.places) {
    const Inode& inode = Find(file);
    if (!leaves.insert({inode.leaf, at}).second) continue;
    const uint64_t offset = static_cast<uint64_t>((at - inode.mappings.at(at).from) * block_);
    ++refs[{file.subvolume, file.inode, offset}];
  }
  std::vector<InlineDataRef> inline_refs;
  for (const auto& [place, count] : refs) {
    if (owners_hidden_ || inline_refs.size() == 3) break;  // further ones are items of their own
    inline_refs.push_back({std::get<0>(place), std::get<1>(place), std::get<2>(place), count});
  }
  const int64_t references = extent.fixed_references >= 0
                                 ? extent.fixed_references
                                 : static_cast<int64_t>(leaves.size() + extent.foreign.size());
  Put(kExtentTree, {address, kExtentItem, static_cast<uint64_t>(extent.disk.count() * block_)},
      EncodeDataExtent(static_cast<uint64_t>(references), extent.generation, inline_refs), 0);
  extent.changed = false;
}

void FakeVolume::HideOwners() {
  owners_hidden_ = true;
  for (auto& [address, extent] : extents_) WriteExtent(address);
}

void FakeVolume::WriteChanged() {
  for (auto& [address, extent] : extents_) {
    if (extent.changed) WriteExtent(address);
  }
}

FakeVolume::Extent& FakeVolume::FindExtent(uint64_t address) {
  const auto extent = extents_.find(address);
  CHECK(extent != extents_.end());
  return extent->second;
}

bool FakeVolume::ExtentExists(uint64_t address) {
  MutexLock lock(&mutex_);
  return extents_.count(address) > 0;
}

Blocks FakeVolume::DiskOf(uint64_t address) {
  MutexLock lock(&mutex_);
  return FindExtent(address).disk;
}

int64_t FakeVolume::DataBytes() {
  MutexLock lock(&mutex_);
  int64_t blocks = 0;
  for (const auto& [address, extent] : extents_) blocks += extent.disk.count();
  return blocks * block_;
}

void FakeVolume::SetSpace(const SpaceInfo& space) {
  MutexLock lock(&mutex_);
  space_ = space;
}

// ---- Subvolumes

FakeVolume::Subvolume& FakeVolume::FindSubvolume(uint64_t id) {
  const auto subvolume = subvolumes_.find(id);
  CHECK(subvolume != subvolumes_.end());
  return subvolume->second;
}

void FakeVolume::WriteRoot(uint64_t id) {
  const Subvolume& subvolume = FindSubvolume(id);
  const uint64_t origin = subvolume.options.snapshot_of;
  items_.erase(items_.lower_bound({kRootTree, {id, kRootItem, 0}}),
               items_.upper_bound({kRootTree, {id, kRootItem, UINT64_MAX}}));
  Put(kRootTree, {id, kRootItem, origin == 0 ? 0 : generation_},
      EncodeRoot({.generation = generation_,
                  .read_only = subvolume.options.read_only,
                  .references = subvolume.being_deleted ? 0u : 1u,
                  .last_snapshot = subvolume.last_snapshot,
                  .uuid = UuidOf(id),
                  .parent_uuid = UuidOf(origin)}),
      0);
}

void FakeVolume::AddSubvolume(uint64_t id, const SubvolumeOptions& options) {
  MutexLock lock(&mutex_);
  CHECK(subvolumes_.count(id) == 0);
  subvolumes_[id] = {.options = options};
  if (options.snapshot_of != 0) {
    subvolumes_[id].last_snapshot = generation_;
    FindSubvolume(options.snapshot_of).last_snapshot = generation_;
    WriteRoot(options.snapshot_of);
  }
  WriteRoot(id);
  Put(kRootTree, {id, kRootBackref, options.parent},
      EncodeRootBackref(options.directory, 2, options.name), 0);
  if (options.snapshot_of == 0) {
    NewInode("..", {.subvolume = id, .inode = kTopDirectory}, 040755);
    return;
  }
  subvolumes_[id].next_inode = FindSubvolume(options.snapshot_of).next_inode;
  std::vector<std::pair<InodeId, Inode>> copies;
  for (auto inode = inodes_.lower_bound({options.snapshot_of, 0});
       inode != inodes_.end() && inode->first.subvolume == options.snapshot_of; ++inode) {
    copies.emplace_back(InodeId{id, inode->first.inode}, inode->second);
  }
  for (const auto& [copy, inode] : copies) {
    inodes_[copy] = inode;
    for (const auto& [at, mapping] : inode.mappings) {
      FindExtent(mapping.extent).places.insert({copy, at});
    }
    WriteInode(copy);
  }
}

void FakeVolume::BeginDeletingSubvolume(uint64_t id) {
  MutexLock lock(&mutex_);
  Subvolume& subvolume = FindSubvolume(id);
  subvolume.being_deleted = true;
  items_.erase({kRootTree, {id, kRootBackref, subvolume.options.parent}});
  WriteRoot(id);
}

void FakeVolume::DeleteSubvolume(uint64_t id) {
  MutexLock lock(&mutex_);
  std::vector<InodeId> files;
  for (const auto& [file, inode] : inodes_) {
    if (file.subvolume == id) files.push_back(file);
  }
  for (const InodeId& file : files) Forget(file);
  subvolumes_.erase(id);
  items_.erase(items_.lower_bound({kRootTree, {id, 0, 0}}),
               items_.upper_bound({kRootTree, {id, UINT8_MAX, UINT64_MAX}}));
  items_.erase(items_.lower_bound({id, {0, 0, 0}}), items_.lower_bound({id + 1, {0, 0, 0}}));
  WriteChanged();
}

// ---- Files

FakeVolume::Inode& FakeVolume::Find(const InodeId& file) {
  const auto inode = inodes_.find(file);
  CHECK(inode != inodes_.end());
  return inode->second;
}

InodeId FakeVolume::NewInode(const std::string& name, const FileOptions& options, uint32_t mode) {
  Subvolume& subvolume = FindSubvolume(options.subvolume);
  const InodeId file{options.subvolume, options.inode != 0 ? options.inode : subvolume.next_inode};
  CHECK(inodes_.count(file) == 0);
  subvolume.next_inode = std::max(subvolume.next_inode, file.inode + 1);
  inodes_[file] = {.item = {.link_count = 1, .mode = mode, .flags = options.flags},
                   .links = {{.parent = options.parent, .name = name}},
                   .leaf = next_leaf_++,
                   .nodatasum = options.nodatasum};
  WriteInode(file);
  return file;
}

InodeId FakeVolume::AddFile(const std::string& name, const FileOptions& options) {
  MutexLock lock(&mutex_);
  return NewInode(name, options, options.mode);
}

uint64_t FakeVolume::AddDirectory(const std::string& name, const FileOptions& options) {
  MutexLock lock(&mutex_);
  return NewInode(name, options, 040755).inode;
}

void FakeVolume::WriteInode(const InodeId& file) {
  const Inode& inode = Find(file);
  items_.erase(items_.lower_bound({file.subvolume, {file.inode, 0, 0}}),
               items_.upper_bound({file.subvolume, {file.inode, UINT8_MAX, UINT64_MAX}}));
  Put(file.subvolume, {file.inode, kInodeItem, 0}, EncodeInode(inode.item, generation_), 0);
  std::map<uint64_t, std::vector<std::pair<uint64_t, std::string>>> names;
  for (const InodeLink& link : inode.links) {
    names[link.parent].emplace_back(names[link.parent].size() + 2, link.name);
  }
  for (const auto& [parent, list] : names) {
    Put(file.subvolume, {file.inode, kInodeRef, parent}, EncodeInodeRef(list), 0);
  }
  for (const auto& [at, mapping] : inode.mappings) {
    const Extent& extent = FindExtent(mapping.extent);
    Put(file.subvolume, {file.inode, kExtentData, static_cast<uint64_t>(at * block_)},
        EncodeFileExtent({.kind = mapping.kind,
                          .compression = extent.compression,
                          .ram_bytes = static_cast<uint64_t>(extent.data.count() * block_),
                          .disk_address = mapping.extent,
                          .disk_bytes = static_cast<uint64_t>(extent.disk.count() * block_),
                          .offset = static_cast<uint64_t>(mapping.from * block_),
                          .length = static_cast<uint64_t>(mapping.blocks * block_)},
                         generation_),
        0);
  }
}

void FakeVolume::Link(const InodeId& file, uint64_t parent, const std::string& name) {
  MutexLock lock(&mutex_);
  Inode& inode = Find(file);
  inode.links.push_back({.parent = parent, .name = name});
  ++inode.item.link_count;
  WriteInode(file);
}

void FakeVolume::Unlink(const InodeId& file) {
  MutexLock lock(&mutex_);
  Inode& inode = Find(file);
  inode.links.clear();
  inode.item.link_count = 0;
  WriteInode(file);
}

void FakeVolume::Forget(const InodeId& file) {
  OwnLeaf(file);
  Clear(file, 0, INT64_MAX / block_);
  items_.erase(items_.lower_bound({file.subvolume, {file.inode, 0, 0}}),
               items_.upper_bound({file.subvolume, {file.inode, UINT8_MAX, UINT64_MAX}}));
  inodes_.erase(file);
}

void FakeVolume::Remove(const InodeId& file) {
  MutexLock lock(&mutex_);
  Forget(file);
  WriteChanged();
}

void FakeVolume::SetSize(const InodeId& file, int64_t bytes) {
  MutexLock lock(&mutex_);
  OwnLeaf(file);
  const int64_t end = (bytes + block_ - 1) / block_;
  Clear(file, end, INT64_MAX / block_ - end);
  Find(file).item.size = static_cast<uint64_t>(bytes);
  WriteInode(file);
  WriteChanged();
}

void FakeVolume::SetFlags(const InodeId& file, uint64_t flags) {
  MutexLock lock(&mutex_);
  Find(file).item.flags = flags;
  WriteInode(file);
}

void FakeVolume::SetSwapfile(const InodeId& file) {
  MutexLock lock(&mutex_);
  Find(file).swapfile = true;
}

int64_t FakeVolume::EndOf(const InodeId& file) {
  return (static_cast<int64_t>(Find(file).item.size) + block_ - 1) / block_;
}

void FakeVolume::OwnLeaf(const InodeId& file) {
  Inode& inode = Find(file);
  inode.leaf = next_leaf_++;
  for (const auto& [at, mapping] : inode.mappings) FindExtent(mapping.extent).changed = true;
}

void FakeVolume::Clear(const InodeId& file, int64_t at, int64_t blocks) {
  Inode& inode = Find(file);
  const int64_t end = at + blocks;
  auto next = inode.mappings.upper_bound(at);
  if (next != inode.mappings.begin()) --next;
  while (next != inode.mappings.end() && next->first < end) {
    const int64_t begin = next->first;
    const Mapping old = next->second;
    if (begin + old.blocks <= at) {
      ++next;
      continue;
    }
    Extent& extent = FindExtent(old.extent);
    extent.places.erase({file, begin});
    extent.changed = true;
    next = inode.mappings.erase(next);
    const auto keep = [&](int64_t from, int64_t to) {
      if (from >= to) return;
      inode.mappings[from] = {.extent = old.extent,
                              .from = old.from + (from - begin),
                              .blocks = to - from,
                              .kind = old.kind};
      extent.places.insert({file, from});
    };
    keep(begin, at);
    keep(end, begin + old.blocks);
  }
}

void FakeVolume::Map(const InodeId& file, int64_t at, const Mapping& mapping) {
  OwnLeaf(file);
  Clear(file, at, mapping.blocks);
  Inode& inode = Find(file);
  inode.mappings[at] = mapping;
  Extent& extent = FindExtent(mapping.extent);
  extent.places.insert({file, at});
  extent.used = true;
  extent.changed = true;
  inode.item.size =
      std::max<uint64_t>(inode.item.size, static_cast<uint64_t>((at + mapping.blocks) * block_));
  WriteInode(file);
}

void FakeVolume::MapExtent(const InodeId& file, uint64_t extent, const MapOptions& options) {
  MutexLock lock(&mutex_);
  const int64_t blocks =
      options.blocks >= 0 ? options.blocks : FindExtent(extent).data.count() - options.from;
  Map(file, options.at >= 0 ? options.at : EndOf(file),
      {.extent = extent, .from = options.from, .blocks = blocks, .kind = options.kind});
  WriteChanged();
}

void FakeVolume::MapExtents(const InodeId& file, const std::vector<uint64_t>& extents) {
  MutexLock lock(&mutex_);
  OwnLeaf(file);
  Inode& inode = Find(file);
  int64_t at = EndOf(file);
  for (const uint64_t address : extents) {
    Extent& extent = FindExtent(address);
    inode.mappings[at] = {.extent = address, .blocks = extent.data.count()};
    extent.places.insert({file, at});
    extent.used = true;
    extent.changed = true;
    at += extent.data.count();
  }
  inode.item.size = static_cast<uint64_t>(at * block_);
  WriteInode(file);
  WriteChanged();
}

uint64_t FakeVolume::Append(const InodeId& file, const Blocks& blocks) {
  MutexLock lock(&mutex_);
  const uint64_t extent = NewExtent(blocks, {.checksums = !Find(file).nodatasum});
  Map(file, EndOf(file), {.extent = extent, .blocks = blocks.count()});
  WriteChanged();
  return extent;
}

uint64_t FakeVolume::AppendCompressed(const InodeId& file, const Blocks& data, const Blocks& disk,
                                      uint8_t compression) {
  MutexLock lock(&mutex_);
  const uint64_t extent = NewExtent(disk, {.compression = compression, .data = data});
  Map(file, EndOf(file), {.extent = extent, .blocks = data.count()});
  WriteChanged();
  return extent;
}

uint64_t FakeVolume::AppendPreallocated(const InodeId& file, int64_t blocks) {
  MutexLock lock(&mutex_);
  const uint64_t extent = NewExtent(Blocks::Zeros(blocks), {.checksums = false});
  Map(file, EndOf(file),
      {.extent = extent, .blocks = blocks, .kind = FileExtent::Kind::kPreallocated});
  WriteChanged();
  return extent;
}

void FakeVolume::WritePreallocated(const InodeId& file, int64_t at, const Blocks& blocks) {
  MutexLock lock(&mutex_);
  const auto& mappings = Find(file).mappings;
  const auto found = std::prev(mappings.upper_bound(at));
  Mapping part = found->second;
  CHECK(part.kind == FileExtent::Kind::kPreallocated &&
        at + blocks.count() <= found->first + part.blocks);
  part.from += at - found->first;
  part.blocks = blocks.count();
  part.kind = FileExtent::Kind::kRegular;
  Extent& extent = FindExtent(part.extent);
  for (int64_t i = 0; i < blocks.count(); ++i) {
    extent.disk.Set(part.from + i, blocks[i]);
    extent.data.Set(part.from + i, blocks[i]);
  }
  InsertChecksums(part.extent + static_cast<uint64_t>(part.from * block_), blocks, 0);
  Map(file, at, part);
  WriteChanged();
}

void FakeVolume::AppendHole(const InodeId& file, int64_t blocks) {
  MutexLock lock(&mutex_);
  Find(file).item.size = static_cast<uint64_t>((EndOf(file) + blocks) * block_);
  WriteInode(file);
}

uint64_t FakeVolume::Overwrite(const InodeId& file, int64_t at, const Blocks& blocks) {
  MutexLock lock(&mutex_);
  const uint64_t extent = NewExtent(blocks, {.checksums = !Find(file).nodatasum});
  Map(file, at, {.extent = extent, .blocks = blocks.count()});
  WriteChanged();
  return extent;
}

void FakeVolume::AddForeignReference(uint64_t extent, const InodeId& owner, int64_t at) {
  MutexLock lock(&mutex_);
  FindExtent(extent).foreign.push_back({owner, static_cast<uint64_t>(at * block_)});
  WriteExtent(extent);
}

uint64_t FakeVolume::BlockAt(const InodeId& file, int64_t at) {
  const auto& mappings = Find(file).mappings;
  auto found = mappings.upper_bound(at);
  if (found == mappings.begin()) return 0;
  --found;
  const Mapping& mapping = found->second;
  if (at >= found->first + mapping.blocks || mapping.kind != FileExtent::Kind::kRegular) return 0;
  return FindExtent(mapping.extent).data[mapping.from + at - found->first];
}

Blocks FakeVolume::Contents(const InodeId& file) {
  MutexLock lock(&mutex_);
  Blocks contents = Blocks::Zeros(EndOf(file));
  for (int64_t at = 0; at < contents.count(); ++at) contents.Set(at, BlockAt(file, at));
  return contents;
}

std::vector<uint64_t> FakeVolume::ExtentsOf(const InodeId& file) {
  MutexLock lock(&mutex_);
  std::vector<uint64_t> addresses;
  for (const auto& [at, mapping] : Find(file).mappings) {
    if (addresses.empty() || addresses.back() != mapping.extent)
      addresses.push_back(mapping.extent);
  }
  return addresses;
}

int64_t FakeVolume::SizeOf(const InodeId& file) {
  MutexLock lock(&mutex_);
  return static_cast<int64_t>(Find(file).item.size);
}

std::vector<InodeId> FakeVolume::Files() {
  MutexLock lock(&mutex_);
  std::vector<InodeId> files;
  for (const auto& [file, inode] : inodes_) {
    if (inode.item.is_regular()) files.push_back(file);
  }
  return files;
}

}  // namespace onefold
