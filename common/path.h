// Absolute paths as text: raw bytes, normalised ("/a/b": no trailing, doubled or dotted parts).

#ifndef ONEFOLD_COMMON_PATH_H_
#define ONEFOLD_COMMON_PATH_H_

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace onefold {

// What follows `root` in `path`: "" if they are equal, "b/c" for "/a" and "/a/b/c"; nullopt if
// `path` is not below `root`. "/ab" is not below "/a".
inline std::optional<absl::string_view> PathBelow(absl::string_view root, absl::string_view path) {
  if (root == "/") root = "";
  if (path == "/") path = "";
  if (path.substr(0, root.size()) != root) return std::nullopt;
  path.remove_prefix(root.size());
  if (path.empty()) return path;
  if (path.front() != '/') return std::nullopt;
  path.remove_prefix(1);
  return path;
}

// `root` and what follows it, the reverse of PathBelow.
inline std::string JoinPath(absl::string_view root, absl::string_view below) {
  if (below.empty()) return std::string(root);
  return absl::StrCat(root == "/" ? "" : root, "/", below);
}

}  // namespace onefold

#endif  // ONEFOLD_COMMON_PATH_H_
