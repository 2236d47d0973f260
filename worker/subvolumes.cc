#include "worker/subvolumes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/status_macros.h"
#include "worker/fingerprint.h"

namespace onefold {
namespace {

bool IsSubvolume(uint64_t id) {
  return id == kFsTree || (id >= kFirstFreeObject && id <= kLastFreeObject);
}

}  // namespace

absl::Status Subvolumes::Load() {
  absl::flat_hash_map<uint64_t, RootItem> items;
  RETURN_IF_ERROR(
      volume_.Search({.tree = kRootTree,
                      .first = {kFsTree, kRootItem, 0},
                      .last = {kLastFreeObject, kRootItem, UINT64_MAX}},
                     [&](const TreeItem& item) {
                       if (item.key.type != kRootItem || !IsSubvolume(item.key.object)) {
                         return true;
                       }
                       if (auto root = ParseRootItem(item.body)) {
                         items[item.key.object] = *root;
                       }
                       return true;
                     }),
      "listing subvolumes");
  MutexLock lock(&mutex_);
  items_ = std::move(items);
  return absl::OkStatus();
}

uint64_t Subvolumes::SetDigest() {
  std::vector<std::string> lines;
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, item] : items_) {
      std::string line;
      AppendBig64(line, id);
      line.append(item.uuid.begin(), item.uuid.end());
      line.push_back(static_cast<char>(item.read_only | (item.references > 0) << 1));
      lines.push_back(std::move(line));
    }
  }
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines) all += line;
  return ChecksumDigest(all);
}

RootItem Subvolumes::Find(uint64_t subvolume) {
  {
    MutexLock lock(&mutex_);
    if (const auto found = items_.find(subvolume); found != items_.end()) return found->second;
  }
  std::optional<RootItem> item;
  const absl::Status status = volume_.Search({.tree = kRootTree,
                                              .first = {subvolume, kRootItem, 0},
                                              .last = {subvolume, kRootItem, UINT64_MAX},
                                              .item_count = 1,
                                              .buffer_bytes = 4096},
                                             [&](const TreeItem& found) {
                                               item = ParseRootItem(found.body);
                                               return false;
                                             });
  // What is not there is not part of the set, and forgotten.
  if (!status.ok() || !item) return {};
  MutexLock lock(&mutex_);
  items_[subvolume] = *item;
  return *item;
}

}  // namespace onefold
