#include "worker/btrfs_encoding.h"

#include "common/check.h"

namespace onefold {
namespace {

// Appends little-endian integers.
class Bytes {
 public:
  Bytes& U8(uint8_t value) { return Put(value, 1); }
  Bytes& U16(uint16_t value) { return Put(value, 2); }
  Bytes& U32(uint32_t value) { return Put(value, 4); }
  Bytes& U64(uint64_t value) { return Put(value, 8); }
  Bytes& Zeros(size_t count) {
    bytes_.append(count, '\0');
    return *this;
  }
  Bytes& Raw(const std::string& raw) {
    bytes_ += raw;
    return *this;
  }
  Bytes& Raw(const std::array<uint8_t, 16>& raw) {
    bytes_.append(raw.begin(), raw.end());
    return *this;
  }
  std::string Take(size_t expected) {
    CHECK(bytes_.size() == expected);
    return std::move(bytes_);
  }

 private:
  Bytes& Put(uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
    return *this;
  }

  std::string bytes_;
};

constexpr uint8_t kExtentDataRef = 178;
constexpr uint8_t kTreeBlockRef = 176;

}  // namespace

std::string EncodeDataExtent(uint64_t references, uint64_t generation,
                             const std::vector<InlineDataRef>& inline_refs) {
  Bytes bytes;
  bytes.U64(references).U64(generation).U64(/*flags: data*/ 1);
  for (const InlineDataRef& ref : inline_refs) {
    bytes.U8(kExtentDataRef).U64(ref.root).U64(ref.inode).U64(ref.offset).U32(ref.count);
  }
  return bytes.Take(24 + 29 * inline_refs.size());
}

std::string EncodeTreeBlock(uint64_t generation, uint64_t root) {
  return Bytes()
      .U64(1)
      .U64(generation)
      .U64(/*flags: tree block*/ 2)
      .U8(kTreeBlockRef)
      .U64(root)
      .Take(33);
}

std::string EncodeChunk(uint64_t length, uint64_t type) {
  return Bytes()
      .U64(length)
      .U64(kExtentTree)  // owner
      .U64(65536)        // stripe length
      .U64(type)
      .U32(65536)  // alignments
      .U32(65536)
      .U32(4096)  // sector size
      .U16(1)     // stripes
      .U16(1)
      .U64(1)        // device
      .U64(1 << 20)  // offset there
      .Zeros(16)     // its uuid
      .Take(80);
}

std::string EncodeInode(const InodeItem& inode, uint64_t generation) {
  return Bytes()
      .U64(generation)
      .U64(generation)  // of the last change
      .U64(inode.size)
      .U64(inode.size)  // bytes used
      .U64(0)           // block group
      .U32(inode.link_count)
      .U32(0)  // uid, gid
      .U32(0)
      .U32(inode.mode)
      .U64(0)  // device
      .U64(inode.flags)
      .U64(0)  // sequence
      .Zeros(32)
      .Zeros(48)  // four times
      .Take(160);
}

std::string EncodeInodeRef(const std::vector<std::pair<uint64_t, std::string>>& names) {
  Bytes bytes;
  size_t size = 0;
  for (const auto& [index, name] : names) {
    bytes.U64(index).U16(static_cast<uint16_t>(name.size())).Raw(name);
    size += 10 + name.size();
  }
  return bytes.Take(size);
}

std::string EncodeInodeExtref(uint64_t parent, uint64_t index, const std::string& name) {
  return Bytes()
      .U64(parent)
      .U64(index)
      .U16(static_cast<uint16_t>(name.size()))
      .Raw(name)
      .Take(18 + name.size());
}

std::string EncodeRoot(const RootFields& root) {
  return Bytes()
      .Zeros(160)               // an inode item
      .U64(root.generation)     // 160
      .U64(kFirstFreeObject)    // 168: root directory
      .U64(0)                   // 176: address
      .Zeros(16)                // 184: limits
      .U64(root.last_snapshot)  // 200
      .U64(root.read_only)      // 208: flags
      .U32(root.references)     // 216
      .Zeros(18)                // 220: drop progress, levels
      .U8(0)
      .U64(root.generation)  // 239: generation_v2
      .Raw(root.uuid)        // 247
      .Raw(root.parent_uuid)
      .Zeros(16)  // 279: received uuid
      .Zeros(32)  // transactions
      .Zeros(48)  // times
      .Zeros(64)  // reserved
      .Take(439);
}

std::string EncodeRootBackref(uint64_t directory, uint64_t index, const std::string& name) {
  return Bytes()
      .U64(directory)
      .U64(index)
      .U16(static_cast<uint16_t>(name.size()))
      .Raw(name)
      .Take(18 + name.size());
}

std::string EncodeFileExtent(const FileExtent& extent, uint64_t generation) {
  CHECK(extent.kind != FileExtent::Kind::kInline);
  return Bytes()
      .U64(generation)
      .U64(extent.ram_bytes)
      .U8(extent.compression)
      .U8(extent.encoding)
      .U16(0)
      .U8(extent.kind == FileExtent::Kind::kRegular ? 1 : 2)
      .U64(extent.disk_address)
      .U64(extent.disk_bytes)
      .U64(extent.offset)
      .U64(extent.length)
      .Take(53);
}

std::string EncodeInlineExtent(const std::string& data, uint64_t generation) {
  return Bytes()
      .U64(generation)
      .U64(data.size())
      .U8(0)
      .U8(0)
      .U16(0)
      .U8(0)
      .Raw(data)
      .Take(21 + data.size());
}

}  // namespace onefold
