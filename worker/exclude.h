// ExcludeList: `--exclude` patterns that read like .gitignore.
//
//   name      any file or directory of that name, at any depth      *.iso   @eaDir
//   a/b       relative to each given root (a slash in the middle anchors, as in .gitignore)
//   /srv/x    absolute path on this system
//   x/        directories only
//   *  ?  [a-z]  \x    within one component;   **  any number of components
//
// What a directory pattern excludes, it excludes with everything below. Matching works on raw bytes:
// names need not be UTF-8. Thread-safe after construction (immutable).

#ifndef ONEFOLD_WORKER_EXCLUDE_H_
#define ONEFOLD_WORKER_EXCLUDE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold {

class ExcludeList {
 public:
  // Nothing is excluded.
  ExcludeList() = default;

  // INVALID_ARGUMENT with the pattern and what is wrong with it ("[" without "]", a backslash at the
  // end, empty, "!" negation, which is not supported).
  static absl::StatusOr<ExcludeList> Parse(const std::vector<std::string>& patterns);

  // Index of the first pattern that excludes the entry itself (not one of its parents), or nullopt.
  //
  // `path`: components joined by '/', without leading or trailing slash, relative to a given root;
  // `absolute`: the same entry as an absolute path on this system. The entry's parents were asked
  // before and are not excluded.
  std::optional<size_t> Match(absl::string_view path, absl::string_view absolute,
                              bool is_directory) const;

  bool empty() const { return patterns_.empty(); }
  size_t size() const { return patterns_.size(); }
  // As typed.
  const std::string& text(size_t index) const { return patterns_[index].text; }
  // Patterns with a leading slash and no wildcard: paths whose existence can be checked.
  std::vector<std::string> LiteralAbsolutePaths() const;

 private:
  struct Pattern {
    std::string text;                     // as typed
    std::vector<std::string> components;  // "**" stands for any number
    bool absolute = false;                // began with '/'
    bool anchored = false;                // relative to a root: has a slash in the middle
    bool directory_only = false;          // ended with '/'
  };

  std::vector<Pattern> patterns_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_EXCLUDE_H_
