// ExcludeList: `--exclude` patterns that read like .gitignore.
//
//   name      any file or directory of that name, at any depth      *.iso   @eaDir
//   a/b       relative to each given root (a slash in the middle anchors, as in .gitignore)
//   /srv/x    absolute path on this system
//   x/        directories only
//   *  ?  [a-z]  [!a]  [[:digit:]]  \x    within one component;   **  any number of components
//
// What a directory pattern excludes, it excludes with everything below. Matching works on raw
// bytes: names need not be UTF-8, and `?` stands for one byte, as in git. Its time is at most the
// product of the lengths of pattern and path, whatever they are.
//
// The cli builds a list, adds what it knows of this system, and hands it on as const. Thread-safe
// while nobody adds to it.

#ifndef ONEFOLD_WORKER_EXCLUDE_H_
#define ONEFOLD_WORKER_EXCLUDE_H_

#include <bitset>
#include <cstddef>
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

  // INVALID_ARGUMENT with the pattern and what is wrong with it ("[" without "]", a backslash at
  // the end, empty, "!" negation, which is not supported, …).
  static absl::StatusOr<ExcludeList> Parse(const std::vector<std::string>& patterns);

  // Excludes exactly the absolute `path` and what is below it; no character is special.
  void AddLiteral(absl::string_view path);

  // Lets pattern `index` exclude the absolute `path` as well: what it names without its symlinks.
  void AddSpelling(size_t index, absl::string_view path);

  // Patterns with a slash in the middle are relative to `root` (absolute) from now on, beside
  // others given before; without any they are relative to whatever Match's `path` is.
  void AddGivenRoot(absl::string_view root);

  // The directory `path` is also known as `also` (another mount, a symlink that was given):
  // absolute patterns are tried under both names. Both absolute.
  void AddAlias(absl::string_view path, absl::string_view also);

  // Index of the first pattern that excludes the entry itself (not one of its parents), or nullopt.
  //
  // `path`: components joined by '/', without leading or trailing slash, relative to a given root;
  // `absolute`: the same entry as an absolute path on this system. The entry's parents were asked
  // before and are not excluded. An empty `path` is the root itself, which only absolute patterns
  // exclude.
  std::optional<size_t> Match(absl::string_view path, absl::string_view absolute,
                              bool is_directory) const;

  bool empty() const { return patterns_.empty(); }
  size_t size() const { return patterns_.size(); }
  // As typed.
  const std::string& text(size_t index) const { return patterns_[index].text; }
  bool has_absolute() const;

  struct LiteralPath {
    size_t index = 0;  // of the pattern
    std::string path;
  };
  // Patterns with a leading slash and no wildcard: paths whose existence can be checked.
  std::vector<LiteralPath> LiteralAbsolutePaths() const;

 private:
  // One of a set of bytes, or any number of any bytes.
  struct Token {
    bool star = false;
    std::bitset<256> bytes;
  };
  struct Component {
    bool any_depth = false;  // "**"
    std::vector<Token> tokens;
  };
  struct Pattern {
    std::string text;  // as typed
    std::vector<Component> components;
    std::string literal;                 // set if absolute and without wildcard: the path
    std::vector<std::string> spellings;  // other absolute paths it excludes
    bool absolute = false;               // began with '/'
    bool anchored = false;               // relative to a root: has a slash in the middle
    bool directory_only = false;         // ended with '/'
  };
  struct Alias {
    std::string path;
    std::string also;
  };

  static absl::StatusOr<Pattern> ParsePattern(absl::string_view text);
  static absl::StatusOr<Component> ParseComponent(absl::string_view text, std::string* literal);
  static bool ComponentMatches(const Component& component, absl::string_view name);
  static bool PathMatches(const std::vector<Component>& components, absl::string_view path);
  bool AbsoluteMatches(const Pattern& pattern, absl::string_view absolute) const;
  bool AnchoredMatches(const Pattern& pattern, absl::string_view path,
                       absl::string_view absolute) const;

  std::vector<Pattern> patterns_;
  std::vector<std::string> given_roots_;
  std::vector<Alias> aliases_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_EXCLUDE_H_
