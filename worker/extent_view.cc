#include "worker/extent_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/scanner.h"
#include "worker/view_cache.h"

namespace onefold {
namespace {

constexpr int32_t kLookUpBytes = 4096;
// About 300 bytes each.
constexpr size_t kInodesCachedMax = 4096;

}  // namespace

Holder ExtentView::FirstHolder() const {
  if (holder != Holder::kNone) return holder;
  for (const Reference& reference : references) {
    if (reference.holder != Holder::kNone) return reference.holder;
  }
  return Holder::kNone;
}

bool ExtentView::HasSource() const {
  return std::any_of(references.begin(), references.end(),
                     [](const Reference& reference) { return reference.is_source; });
}

ExtentViewer::ExtentViewer(Volume& volume, Scope& scope, Subvolumes& subvolumes,
                           const FileLimits& limits, ViewCache* cache)
    : volume_(volume), scope_(scope), subvolumes_(subvolumes), limits_(limits), cache_(cache) {}

void ExtentViewer::Forget() {
  inodes_.clear();
  if (cache_ != nullptr) cache_->Clear();
}

absl::StatusOr<std::optional<ExtentView>> ExtentViewer::View(uint64_t address,
                                                             uint64_t generation) {
  std::optional<ExtentView> view;
  if (const auto known = cache_ == nullptr ? nullptr : cache_->Find(address)) {
    view = *known;
  } else {
    ASSIGN_OR_RETURN(view, LookAt(address, generation));
    if (view && cache_ != nullptr && !view->changed) cache_->Add(*view);
  }
  if (!view || (generation != 0 && view->generation != generation)) return std::nullopt;
  return view;
}

absl::StatusOr<std::optional<ExtentView>> ExtentViewer::LookAt(uint64_t address,
                                                               uint64_t generation) {
  std::optional<ExtentView> view;
  std::optional<ExtentItem> extent;
  RETURN_IF_ERROR(volume_.Search({.tree = kExtentTree,
                                  .first = {address, kExtentItem, 0},
                                  .last = {address, kExtentItem, UINT64_MAX},
                                  .item_count = 1,
                                  .buffer_bytes = kLookUpBytes},
                                 [&](const TreeItem& item) {
                                   if ((extent = ParseExtentItem(item.body))) {
                                     view.emplace();
                                     view->address = address;
                                     view->disk_bytes = static_cast<int64_t>(item.key.offset);
                                     view->generation = extent->generation;
                                     view->item_references = extent->references;
                                   }
                                   return false;
                                 }));
  if (!view || (generation != 0 && view->generation != generation)) return std::nullopt;
  ASSIGN_OR_RETURN(const bool complete, ViewOnlyReference(*extent, *view));
  if (complete) return view;
  const absl::StatusOr<std::vector<RawReference>> raw = volume_.References(address, kReferencesMax);
  if (absl::IsNotFound(raw.status())) return std::nullopt;
  if (absl::IsResourceExhausted(raw.status())) {
    view->holder = Holder::kTooManyReferences;
    return view;
  }
  if (!raw.ok()) return raw.status();
  view->references.reserve(raw->size());
  for (const RawReference& reference : *raw) {
    ASSIGN_OR_RETURN(const bool refers, ViewReference(reference, *view));
    if (!refers) {  // it vanished between two look-ups
      view->holder = Holder::kDeleted;
      view->changed = true;
    }
  }
  if (view->references.empty() && view->holder == Holder::kNone) return std::nullopt;
  return view;
}

absl::StatusOr<bool> ExtentViewer::ViewOnlyReference(const ExtentItem& item, ExtentView& view) {
  if (ask_for_all_ || !item.only_owner) return false;
  if (ask_about_ != nullptr && ask_about_->contains(view.address)) return false;
  const ExtentItem::Owner& owner = *item.only_owner;
  // The leaf that holds the reference is at least as young as the extent. As the kernel decides it:
  // btrfs_block_can_be_shared(), fs/btrfs/ctree.c.
  const RootItem subvolume = subvolumes_.Find(owner.subvolume);
  if (subvolume.references == 0 || item.generation <= subvolume.last_snapshot) return false;
  const ExtentView plain = view;
  // The file's own offset is known if the reference begins where the extent does.
  ASSIGN_OR_RETURN(
      const bool refers,
      ViewReference({.file = {owner.subvolume, owner.inode}, .file_offset = owner.offset}, view));
  if (refers && view.references.front().length > 0) return true;
  view = plain;
  return false;
}

absl::StatusOr<bool> ExtentViewer::ViewReference(const RawReference& raw, ExtentView& view) {
  Reference reference{.file = raw.file, .file_offset = static_cast<int64_t>(raw.file_offset)};
  // Trees that are no subvolumes (space cache, balance) hold no files: nothing moves there.
  if (raw.file.subvolume != kFsTree &&
      (raw.file.subvolume < kFirstFreeObject || raw.file.subvolume > kLastFreeObject)) {
    reference.holder = Holder::kOutsideFiles;
    view.references.push_back(reference);
    return true;
  }
  const RootItem subvolume = subvolumes_.Find(raw.file.subvolume);
  std::optional<FileExtent> extent;
  const Inode& inode = FindInode(raw.file, reference.file_offset, extent);
  RETURN_IF_ERROR(inode.error);
  if (!extent && inode.found) {
    RETURN_IF_ERROR(FindFileExtent(raw.file, reference.file_offset, extent));
  }
  if (!inode.found || subvolume.references == 0 || inode.item.link_count == 0) {
    reference.holder = Holder::kDeleted;
    view.references.push_back(reference);
    return true;
  }
  if (!extent || extent->disk_address != view.address) return false;
  if (extent->encoding != 0) reference.holder = Holder::kRefused;
  view.compression = extent->compression;
  view.ram_bytes = static_cast<int64_t>(extent->ram_bytes);
  reference.extent_offset = static_cast<int64_t>(extent->offset);
  reference.length = static_cast<int64_t>(extent->length);
  reference.file_bytes = static_cast<int64_t>(inode.item.size);
  reference.preallocated = extent->kind != FileExtent::Kind::kRegular;
  reference.in_readonly_subvolume = subvolume.read_only;
  const bool regular = inode.item.is_regular();
  if (!regular || reference.preallocated) {
    reference.holder = Holder::kUnmatchedBlocks;
  } else if (inode.scope.verdict == Scope::Verdict::kOutside) {
    const bool whole_subvolume_outside = !scope_.Reaches(raw.file.subvolume);
    reference.holder = whole_subvolume_outside && subvolume.has_parent_uuid ? Holder::kSnapshot
                                                                            : Holder::kOutsideFiles;
  } else if (inode.scope.verdict == Scope::Verdict::kExcluded) {
    reference.holder = Holder::kExcluded;
    reference.excluded_by = static_cast<int>(inode.scope.pattern);
  } else if (reference.file_bytes < limits_.min_file_bytes ||
             (limits_.max_file_bytes > 0 && reference.file_bytes > limits_.max_file_bytes)) {
    reference.holder = Holder::kExcluded;
    reference.excluded_by = kExcludedBySize;
  } else if (limits_.skip_readonly_subvolumes && subvolume.read_only) {
    reference.holder = Holder::kReadonlySubvolume;
  } else {
    reference.is_source = extent->encoding == 0;
    if (inode.item.is_immutable_or_append_only()) reference.holder = Holder::kImmutable;
  }
  view.references.push_back(reference);
  return true;
}

const ExtentViewer::Inode& ExtentViewer::FindInode(const InodeId& file, int64_t file_offset,
                                                   std::optional<FileExtent>& extent) {
  if (const auto known = inodes_.find(file); known != inodes_.end()) return known->second;
  Inode inode;
  // One call for small files: inode, names and the extent come one after another in the leaf.
  const uint64_t wanted = static_cast<uint64_t>(file_offset);
  const absl::Status status =
      volume_.Search({.tree = file.subvolume,
                      .first = {file.inode, kInodeItem, 0},
                      .last = file_offset == 0 ? TreeKey{file.inode, kExtentData, 0}
                                               : TreeKey{file.inode, kInodeExtref, UINT64_MAX},
                      .item_count = 3,  // inode, name, extent
                      .buffer_bytes = kLookUpBytes},
                     [&](const TreeItem& item) {
                       switch (item.key.type) {
                         case kInodeItem:
                           if (const auto parsed = ParseInodeItem(item.body)) {
                             inode.item = *parsed;
                             inode.found = true;
                           }
                           return inode.found;
                         case kInodeRef:
                           ParseInodeRef(item.body, item.key.offset, inode.links);
                           return true;
                         case kInodeExtref: ParseInodeExtref(item.body, inode.links); return true;
                         case kExtentData:
                           if (item.key.offset == wanted) extent = ParseFileExtent(item.body);
                           return false;
                         default: return true;
                       }
                     });
  if (!status.ok()) {
    inode.found = false;
    if (!absl::IsNotFound(status)) inode.error = status;
  }
  if (inode.found) {
    inode.scope = scope_.Check(file, inode.links);
    inode.error.Update(inode.scope.error);
  }
  if (inodes_.size() >= kInodesCachedMax) inodes_.clear();
  return inodes_[file] = std::move(inode);
}

absl::Status ExtentViewer::FindFileExtent(const InodeId& file, int64_t file_offset,
                                          std::optional<FileExtent>& extent) {
  const TreeKey key{file.inode, kExtentData, static_cast<uint64_t>(file_offset)};
  const absl::Status status = volume_.Search({.tree = file.subvolume,
                                              .first = key,
                                              .last = key,
                                              .item_count = 1,
                                              .buffer_bytes = kLookUpBytes},
                                             [&](const TreeItem& item) {
                                               extent = ParseFileExtent(item.body);
                                               return false;
                                             });
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::Status ExtentViewer::ForEachFileExtent(
    const InodeId& file, int64_t offset,
    const std::function<bool(int64_t, const FileExtent&)>& visit) {
  const absl::Status status =
      volume_.Search({.tree = file.subvolume,
                      .first = {file.inode, kExtentData, static_cast<uint64_t>(offset)},
                      .last = {file.inode, kExtentData, UINT64_MAX},
                      .item_count = 64,
                      .buffer_bytes = kLookUpBytes},
                     [&](const TreeItem& item) {
                       const auto extent = ParseFileExtent(item.body);
                       const int64_t begin = static_cast<int64_t>(item.key.offset);
                       return !extent || begin < 0 || visit(begin, *extent);
                     });
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

std::string ExtentViewer::PathOf(const InodeId& file) {
  std::optional<FileExtent> ignored;
  const Inode& inode = FindInode(file, 1, ignored);
  return scope_.PathOf(file, inode.links);
}

std::optional<int64_t> ExtentViewer::FileBytes(const InodeId& file) {
  std::optional<FileExtent> ignored;
  const Inode& inode = FindInode(file, 1, ignored);
  if (!inode.found) return std::nullopt;
  return static_cast<int64_t>(inode.item.size);
}

}  // namespace onefold
