#include "worker/scope.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

// About 200 bytes each: a few MiB. Cleared when full; filling it again costs one look-up a
// directory.
constexpr size_t kDirectoriesCachedMax = 16384;
// Directories deeper than this are taken for a loop in a damaged tree.
constexpr int kDepthMax = 8192;
constexpr int32_t kLookUpBytes = 4096;
constexpr uint64_t kTopDirectory = kFirstFreeObject;

}  // namespace

Scope::Scope(Volume& volume, const std::vector<ScopeRoot>& roots, const ExcludeList& excludes)
    : volume_(volume), roots_(roots), excludes_(excludes) {}

Scope::Answer Scope::Check(const InodeId& file, absl::Span<const InodeLink> links) {
  Answer answer;
  for (const ScopeRoot& root : roots_) {  // a file that was named itself
    if (root.subvolume_id != file.subvolume || root.inode != file.inode) continue;
    const auto pattern = excludes_.Match("", root.path, /*is_directory=*/false);
    if (!pattern) return {.verdict = Verdict::kInside};
    answer = {.verdict = Verdict::kExcluded, .pattern = *pattern};
  }
  if (excludes_.empty()) {
    // Every inode of a subvolume is below its top directory.
    const Directory top = Find({file.subvolume, kTopDirectory});
    if (top.verdict == Verdict::kInside) return {.verdict = Verdict::kInside};
    if (top.error.ok() && !Reaches(file.subvolume)) return {.verdict = Verdict::kOutside};
  }
  for (const InodeLink& link : links) {
    const Directory parent = Find({file.subvolume, link.parent});
    answer.error.Update(parent.error);
    if (parent.verdict == Verdict::kOutside) continue;
    const Directory entry = Below(parent, link.name, /*is_directory=*/false);
    if (entry.verdict == Verdict::kInside) return {.verdict = Verdict::kInside};
    answer.verdict = Verdict::kExcluded;
    answer.pattern = entry.pattern;
  }
  return answer;
}

std::string Scope::PathOf(const InodeId& file, absl::Span<const InodeLink> links) {
  for (const InodeLink& link : links) {
    const Directory parent = Find({file.subvolume, link.parent});
    if (parent.verdict != Verdict::kInside) continue;
    Directory entry = Below(parent, link.name, /*is_directory=*/false);
    if (entry.verdict == Verdict::kInside) return std::move(entry.path);
  }
  for (const ScopeRoot& root : roots_) {
    if (root.subvolume_id == file.subvolume && root.inode == file.inode) return root.path;
  }
  return absl::StrCat("inode ", file.inode, " of subvolume ", file.subvolume);
}

bool Scope::Reaches(uint64_t subvolume) {
  for (const ScopeRoot& root : roots_) {
    if (root.subvolume_id == subvolume) return true;
  }
  return Find({subvolume, kTopDirectory}).verdict != Verdict::kOutside;
}

std::optional<Scope::Directory> Scope::Known(const InodeId& directory) {
  for (const ScopeRoot& root : roots_) {
    if (root.subvolume_id != directory.subvolume || root.inode != directory.inode) continue;
    Directory found{.verdict = Verdict::kInside, .path = root.path, .root_bytes = root.path.size()};
    if (const auto pattern = excludes_.Match("", root.path, /*is_directory=*/true)) {
      found.verdict = Verdict::kExcluded;
      found.pattern = *pattern;
    }
    return found;
  }
  MutexLock lock(&mutex_);
  const auto found = directories_.find(directory);
  if (found == directories_.end()) return std::nullopt;
  return found->second;
}

Scope::Directory Scope::Find(const InodeId& directory) {
  // Upwards until something is known, then down again along the same names.
  std::vector<std::pair<InodeId, std::string>> steps;  // a directory and its name in the next one
  Directory current;                                   // outside: what lies above the top
  for (InodeId at = directory; static_cast<int>(steps.size()) < kDepthMax;) {
    if (const auto known = Known(at)) {
      current = *known;
      break;
    }
    auto parent = ParentOf(at);
    if (!parent.ok()) {  // nothing is known of any of them, so nothing is remembered
      current.error = parent.status();
      return current;
    }
    if (!*parent) {
      steps.emplace_back(at, "");
      break;
    }
    steps.emplace_back(at, std::move((*parent)->second));
    at = (*parent)->first;
  }
  while (!steps.empty()) {
    if (!steps.back().second.empty()) {
      current = Below(current, steps.back().second, /*is_directory=*/true);
    }
    MutexLock lock(&mutex_);
    if (directories_.size() >= kDirectoriesCachedMax) directories_.clear();
    directories_[steps.back().first] = current;
    steps.pop_back();
  }
  return current;
}

absl::StatusOr<std::optional<std::pair<InodeId, std::string>>> Scope::ParentOf(
    const InodeId& directory) {
  std::optional<std::pair<InodeId, std::string>> parent;
  if (directory.inode == kTopDirectory) {
    const absl::Status status = volume_.Search(
        {.tree = kRootTree,
         .first = {directory.subvolume, kRootBackref, 0},
         .last = {directory.subvolume, kRootBackref, UINT64_MAX},
         .item_count = 1,
         .buffer_bytes = kLookUpBytes},
        [&](const TreeItem& item) {
          if (auto backref = ParseRootBackref(item.body)) {
            parent = {InodeId{item.key.offset, backref->directory}, std::move(backref->name)};
          }
          return false;
        });
    RETURN_IF_ERROR(status);
    return parent;
  }
  const absl::Status status = volume_.Search(
      {.tree = directory.subvolume,
       .first = {directory.inode, kInodeRef, 0},
       .last = {directory.inode, kInodeExtref, UINT64_MAX},
       .item_count = 1,
       .buffer_bytes = kLookUpBytes},
      [&](const TreeItem& item) {
        std::vector<InodeLink> links;  // a directory has one name
        if (item.key.type == kInodeRef) {
          ParseInodeRef(item.body, item.key.offset, links);
        } else if (item.key.type == kInodeExtref) {
          ParseInodeExtref(item.body, links);
        }
        if (!links.empty()) {
          parent = {InodeId{directory.subvolume, links[0].parent}, std::move(links[0].name)};
        }
        return links.empty();
      });
  // Its subvolume is gone: it hangs nowhere.
  if (!absl::IsNotFound(status)) RETURN_IF_ERROR(status);
  return parent;
}

Scope::Directory Scope::Below(const Directory& parent, const std::string& name,
                              bool is_directory) const {
  if (parent.verdict != Verdict::kInside) return parent;
  Directory entry = parent;
  if (entry.path != "/") entry.path += '/';
  entry.path += name;
  if (excludes_.empty()) return entry;
  absl::string_view relative = absl::string_view(entry.path).substr(parent.root_bytes);
  if (!relative.empty() && relative.front() == '/') relative.remove_prefix(1);
  if (const auto pattern = excludes_.Match(relative, entry.path, is_directory)) {
    entry.verdict = Verdict::kExcluded;
    entry.pattern = *pattern;
  }
  return entry;
}

}  // namespace onefold
