#include "worker/mounts.h"

#include <cerrno>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/path.h"

namespace onefold {
namespace {

constexpr char kMountinfo[] = "/proc/self/mountinfo";

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

// The kernel writes space, tab, newline and backslash as "\040" etc.
std::string Unescape(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && IsOctal(text[i + 1]) && IsOctal(text[i + 2]) &&
        IsOctal(text[i + 3])) {
      out.push_back(static_cast<char>((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
                                      (text[i + 3] - '0')));
      i += 3;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

bool HasOption(absl::string_view options, absl::string_view wanted) {
  for (const absl::string_view option : absl::StrSplit(options, ',')) {
    if (option == wanted) return true;
  }
  return false;
}

// id parent device root point options [optional…] - type source super-options
std::optional<Mount> ParseLine(absl::string_view line) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
  size_t dash = 6;
  while (dash < fields.size() && fields[dash] != "-") ++dash;
  if (dash + 1 >= fields.size()) return std::nullopt;
  Mount mount;
  if (!absl::SimpleAtoi(fields[0], &mount.id) || !absl::SimpleAtoi(fields[1], &mount.parent)) {
    return std::nullopt;
  }
  mount.device = std::string(fields[2]);
  mount.root = Unescape(fields[3]);
  mount.point = Unescape(fields[4]);
  mount.type = Unescape(fields[dash + 1]);
  mount.read_only = HasOption(fields[5], "ro") || HasOption(fields.back(), "ro");
  if (mount.point.empty() || mount.point.front() != '/') return std::nullopt;
  return mount;
}

}  // namespace

absl::StatusOr<MountTable> MountTable::Read() {
  std::ifstream file(kMountinfo);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file.is_open() || text.str().empty()) {
    return absl::ErrnoToStatus(errno != 0 ? errno : ENOENT,
                               std::string("cannot read ") + kMountinfo);
  }
  return Parse(text.str());
}

MountTable MountTable::Parse(absl::string_view text) {
  MountTable table;
  std::set<int> ids;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    std::optional<Mount> mount = ParseLine(line);
    if (!mount.has_value() || !ids.insert(mount->id).second) continue;
    table.mounts_.push_back(*std::move(mount));
  }
  for (size_t i = 0; i < table.mounts_.size(); ++i) {
    const Mount& mount = table.mounts_[i];
    if (mount.parent == mount.id || ids.count(mount.parent) == 0) {
      table.tops_.push_back(i);
    } else {
      table.children_.emplace(mount.parent, i);
    }
  }
  return table;
}

// Walks down as the kernel does: of the mounts on the current one, the first to be met on the way
// to `path` is entered. What is mounted deeper on the current one is hidden by it.
const Mount* MountTable::MountOf(absl::string_view path) const {
  const Mount* current = nullptr;
  for (const size_t top : tops_) {
    const Mount& mount = mounts_[top];
    if (!PathBelow(mount.point, path).has_value()) continue;
    if (current == nullptr || mount.point.size() <= current->point.size()) current = &mount;
  }
  // Each step goes to another mount; the bound stands against tables that are no tree.
  for (size_t step = 0; current != nullptr && step < mounts_.size(); ++step) {
    const Mount* next = nullptr;
    const auto [first, last] = children_.equal_range(current->id);
    for (auto it = first; it != last; ++it) {
      const Mount& mount = mounts_[it->second];
      if (!PathBelow(mount.point, path).has_value()) continue;
      if (next == nullptr || mount.point.size() <= next->point.size()) next = &mount;
    }
    if (next == nullptr) break;
    current = next;
  }
  return current;
}

std::vector<const Mount*> MountTable::MountsBelow(absl::string_view path) const {
  std::vector<const Mount*> below;
  for (const Mount& mount : mounts_) {
    const auto rest = PathBelow(path, mount.point);
    if (rest.has_value() && !rest->empty() && MountOf(mount.point) == &mount) {
      below.push_back(&mount);
    }
  }
  return below;
}

std::optional<std::string> MountTable::PathInFilesystem(absl::string_view path) const {
  const Mount* mount = MountOf(path);
  if (mount == nullptr) return std::nullopt;
  return JoinPath(mount->root, *PathBelow(mount->point, path));
}

std::vector<std::string> MountTable::PathsTo(absl::string_view device,
                                             absl::string_view path_in_filesystem,
                                             bool writable_only) const {
  std::vector<std::string> paths;
  for (const Mount& mount : mounts_) {
    if (mount.device != device || (writable_only && mount.read_only)) continue;
    const auto below = PathBelow(mount.root, path_in_filesystem);
    if (!below.has_value()) continue;
    const std::string path = JoinPath(mount.point, *below);
    if (MountOf(path) == &mount) paths.push_back(path);
  }
  return paths;
}

}  // namespace onefold
