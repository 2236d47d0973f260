#include "worker/walk_files.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "worker/btrfs_items.h"

namespace onefold {

uint64_t WalkFiles::AddName(absl::string_view name) {
  const uint64_t at = names_.size();
  names_.append(name.data(), name.size());
  return at;
}

uint32_t WalkFiles::AddRoot(uint64_t subvolume) {
  const uint32_t number = static_cast<uint32_t>(directories_.size());
  directories_.push_back({.parent = number, .root = number, .subvolume = subvolume});
  return number;
}

uint32_t WalkFiles::AddDirectory(uint32_t parent, absl::string_view name, uint64_t subvolume) {
  const uint32_t number = static_cast<uint32_t>(directories_.size());
  directories_.push_back({.parent = parent,
                          .root = directories_[parent].root,
                          .name_length = static_cast<uint32_t>(name.size()),
                          .name_at = AddName(name),
                          .subvolume = subvolume});
  return number;
}

void WalkFiles::AddFile(uint32_t directory, absl::string_view name, const FileIdentity& identity,
                        bool immutable) {
  files_.push_back({.identity = identity,
                    .directory = directory,
                    .name_length = static_cast<uint32_t>(name.size()),
                    .name_at = AddName(name),
                    .immutable = immutable});
}

void WalkFiles::SortFiles() {
  std::sort(files_.begin(), files_.end(), [](const WalkFile& a, const WalkFile& b) {
    return std::tie(a.identity.subvolume, a.identity.inode) <
           std::tie(b.identity.subvolume, b.identity.inode);
  });
  // One inode met under two names (roots that meet, hard links) is one file.
  files_.erase(std::unique(files_.begin(), files_.end(),
                           [](const WalkFile& a, const WalkFile& b) {
                             return a.identity.subvolume == b.identity.subvolume &&
                                    a.identity.inode == b.identity.inode;
                           }),
               files_.end());
  // They stay for the whole run, and were made by doubling.
  files_.shrink_to_fit();
  names_.shrink_to_fit();
}

std::string WalkFiles::PathOfDirectory(uint32_t directory) const {
  std::vector<absl::string_view> names;
  size_t bytes = 0;
  for (uint32_t at = directory; directories_[at].parent != at; at = directories_[at].parent) {
    names.push_back(NameOf(directories_[at]));
    bytes += names.back().size() + 1;
  }
  std::string path;
  path.reserve(bytes);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (!path.empty()) path.push_back('/');
    path.append(name->data(), name->size());
  }
  return path;
}

std::string WalkFiles::PathOf(const WalkFile& file) const {
  std::string path = PathOfDirectory(file.directory);
  if (!path.empty()) path.push_back('/');
  absl::StrAppend(&path, NameOf(file));
  return path;
}

namespace walk_id {

InodeId OfDirectory(uint32_t directory, size_t root_count) {
  return {.subvolume = kFsTree,
          .inode = directory < root_count ? kRoots + directory : kDirectories + directory};
}

InodeId OfFile(uint32_t file) { return {.subvolume = kFsTree, .inode = kFiles + file}; }

}  // namespace walk_id

}  // namespace onefold
