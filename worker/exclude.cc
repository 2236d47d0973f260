#include "worker/exclude.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/path.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

// Walks the components of a path without copying it.
class PathCursor {
 public:
  explicit PathCursor(absl::string_view path) : rest_(path) { Find(); }

  bool done() const { return rest_.empty(); }
  absl::string_view component() const { return rest_.substr(0, size_); }
  void Next() {
    rest_.remove_prefix(size_);
    Find();
  }

 private:
  void Find() {
    while (!rest_.empty() && rest_.front() == '/') rest_.remove_prefix(1);
    size_ = std::min(rest_.find('/'), rest_.size());
  }

  absl::string_view rest_;
  size_t size_ = 0;
};

struct ByteClass {
  absl::string_view name;
  int (*contains)(int);
};
constexpr ByteClass kByteClasses[] = {
    {"alnum", &std::isalnum}, {"alpha", &std::isalpha}, {"blank", &std::isblank},
    {"cntrl", &std::iscntrl}, {"digit", &std::isdigit}, {"graph", &std::isgraph},
    {"lower", &std::islower}, {"print", &std::isprint}, {"punct", &std::ispunct},
    {"space", &std::isspace}, {"upper", &std::isupper}, {"xdigit", &std::isxdigit},
};

// Takes "[:name:]" from the front of `rest` if it begins one.
absl::StatusOr<bool> ConsumeByteClass(absl::string_view& rest, std::bitset<256>& bytes) {
  if (rest.substr(0, 2) != "[:") return false;
  const size_t end = rest.find(":]", 2);
  if (end == absl::string_view::npos) return false;
  const absl::string_view name = rest.substr(2, end - 2);
  for (const ByteClass& byte_class : kByteClasses) {
    if (byte_class.name != name) continue;
    for (int byte = 0; byte < 128; ++byte) {
      if (byte_class.contains(byte)) bytes.set(byte);
    }
    rest.remove_prefix(end + 2);
    return true;
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no class of characters [:", name, ":]"));
}

// Takes one byte, which a backslash may precede, from the front of a "[…]".
absl::StatusOr<uint8_t> ConsumeSetByte(absl::string_view& rest) {
  if (rest.front() == '\\') rest.remove_prefix(1);
  if (rest.empty()) return absl::InvalidArgumentError("\"[\" without \"]\"");
  const auto byte = static_cast<uint8_t>(rest.front());
  rest.remove_prefix(1);
  return byte;
}

// Takes a "[…]" from behind its "[" to its "]".
absl::StatusOr<std::bitset<256>> ConsumeSet(absl::string_view& rest) {
  std::bitset<256> bytes;
  const bool negated = !rest.empty() && (rest.front() == '!' || rest.front() == '^');
  if (negated) rest.remove_prefix(1);
  for (bool first = true; rest.empty() || first || rest.front() != ']'; first = false) {
    if (rest.empty()) return absl::InvalidArgumentError("\"[\" without \"]\"");
    ASSIGN_OR_RETURN(const bool was_class, ConsumeByteClass(rest, bytes));
    if (was_class) continue;
    ASSIGN_OR_RETURN(const uint8_t low, ConsumeSetByte(rest));
    uint8_t high = low;
    if (rest.size() >= 2 && rest[0] == '-' && rest[1] != ']') {
      rest.remove_prefix(1);
      ASSIGN_OR_RETURN(high, ConsumeSetByte(rest));
    }
    if (high < low) return absl::InvalidArgumentError("a range in \"[…]\" runs backwards");
    for (int byte = low; byte <= high; ++byte) bytes.set(byte);
  }
  rest.remove_prefix(1);
  return negated ? ~bytes : bytes;
}

}  // namespace

// One name of a pattern. Appends its bytes to *literal, or sets that to null if it has a wildcard.
absl::StatusOr<ExcludeList::Component> ExcludeList::ParseComponent(absl::string_view text,
                                                                   std::string* literal) {
  Component component;
  component.any_depth = text == "**";
  bool plain = !component.any_depth;
  std::string bytes;
  while (!text.empty()) {
    char c = text.front();
    text.remove_prefix(1);
    Token token;
    if (c == '*') {
      token.star = true;
      plain = false;
    } else if (c == '?') {
      token.bytes.set();
      plain = false;
    } else if (c == '[') {
      ASSIGN_OR_RETURN(token.bytes, ConsumeSet(text));
      plain = false;
    } else {
      if (c == '\\') {
        if (text.empty()) return absl::InvalidArgumentError("a backslash stands before nothing");
        c = text.front();
        text.remove_prefix(1);
      }
      token.bytes.set(static_cast<uint8_t>(c));
      bytes.push_back(c);
    }
    // "a**b" is "a*b".
    if (!token.star || component.tokens.empty() || !component.tokens.back().star) {
      component.tokens.push_back(token);
    }
  }
  if (plain && (bytes == "." || bytes == "..")) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", bytes, "\" never matches: write the path without it"));
  }
  if (!plain) {
    literal->clear();
  } else if (!literal->empty()) {
    absl::StrAppend(literal, literal->back() == '/' ? "" : "/", bytes);
  }
  return component;
}

absl::StatusOr<ExcludeList::Pattern> ExcludeList::ParsePattern(absl::string_view text) {
  Pattern pattern;
  pattern.text = std::string(text);
  if (text.empty()) return absl::InvalidArgumentError("it is empty");
  if (text.front() == '!') {
    return absl::InvalidArgumentError(
        "\"!\" (take back an exclusion) is not supported; for a name that begins so, write "
        "\"\\!\"");
  }
  if (text.find('\0') != absl::string_view::npos) {
    return absl::InvalidArgumentError("it holds a zero byte, as no path does");
  }
  pattern.absolute = text.front() == '/';
  std::string literal = pattern.absolute ? "/" : "";

  // Cuts at slashes, escaped or not: a name holds none.
  std::string name;
  size_t name_count = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const bool escape = i < text.size() && text[i] == '\\';
    if (escape && i + 1 < text.size() && text[i + 1] != '/') {
      name.append(1, text[i]).append(1, text[i + 1]);
      ++i;
      continue;
    }
    if (escape && i + 1 < text.size()) continue;  // "\/" is "/"
    if (i < text.size() && text[i] != '/') {
      name.push_back(text[i]);
      continue;
    }
    if (name.empty()) continue;  // leading, doubled or trailing
    ++name_count;
    ASSIGN_OR_RETURN(Component component, ParseComponent(name, &literal));
    name.clear();
    // "**/**" is "**".
    const bool repeated =
        component.any_depth && !pattern.components.empty() && pattern.components.back().any_depth;
    if (!repeated) pattern.components.push_back(std::move(component));
  }
  if (name_count == 0) return absl::InvalidArgumentError("it names nothing");
  pattern.directory_only = text.back() == '/';
  pattern.anchored = !pattern.absolute && name_count > 1;
  if (pattern.absolute) pattern.literal = std::move(literal);
  return pattern;
}

absl::StatusOr<ExcludeList> ExcludeList::Parse(const std::vector<std::string>& patterns) {
  ExcludeList list;
  for (const std::string& text : patterns) {
    absl::StatusOr<Pattern> pattern = ParsePattern(text);
    RETURN_IF_ERROR(pattern.status(), "--exclude '", text, "'");
    list.patterns_.push_back(*std::move(pattern));
  }
  return list;
}

void ExcludeList::AddLiteral(absl::string_view path) {
  Pattern pattern;
  pattern.text = std::string(path);
  pattern.absolute = true;
  pattern.spellings.emplace_back(path);
  patterns_.push_back(std::move(pattern));
}

void ExcludeList::AddSpelling(size_t index, absl::string_view path) {
  patterns_[index].spellings.emplace_back(path);
}

void ExcludeList::AddGivenRoot(absl::string_view root) { given_roots_.emplace_back(root); }

void ExcludeList::AddAlias(absl::string_view path, absl::string_view also) {
  if (path != also) aliases_.push_back({std::string(path), std::string(also)});
}

bool ExcludeList::has_absolute() const {
  for (const Pattern& pattern : patterns_) {
    if (pattern.absolute) return true;
  }
  return false;
}

std::vector<ExcludeList::LiteralPath> ExcludeList::LiteralAbsolutePaths() const {
  std::vector<LiteralPath> paths;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    if (!patterns_[i].literal.empty()) paths.push_back({i, patterns_[i].literal});
  }
  return paths;
}

// Both this and PathMatches go back to the latest star only: an earlier one could not do better.
bool ExcludeList::ComponentMatches(const Component& component, absl::string_view name) {
  if (component.any_depth) return true;
  const std::vector<Token>& tokens = component.tokens;
  size_t token = 0;
  size_t at = 0;
  size_t star = tokens.size();  // none yet
  size_t star_at = 0;
  while (at < name.size() || token < tokens.size()) {
    if (token < tokens.size() && tokens[token].star) {
      star = token++;
      star_at = at;
    } else if (token < tokens.size() && at < name.size() &&
               tokens[token].bytes.test(static_cast<uint8_t>(name[at]))) {
      ++token;
      ++at;
    } else if (star < tokens.size() && star_at < name.size()) {
      token = star + 1;
      at = ++star_at;
    } else {
      return false;
    }
  }
  return true;
}

bool ExcludeList::PathMatches(const std::vector<Component>& components, absl::string_view path) {
  PathCursor at(path);
  size_t next = 0;
  size_t star = components.size();  // none yet
  PathCursor star_at(path);
  while (!at.done() || next < components.size()) {
    if (next < components.size() && components[next].any_depth) {
      star = next++;
      // "a/**" is what lies below a, not a itself.
      if (next == components.size()) return !at.done();
      star_at = at;
    } else if (next < components.size() && !at.done() &&
               ComponentMatches(components[next], at.component())) {
      ++next;
      at.Next();
    } else if (star < components.size() && !star_at.done()) {
      next = star + 1;
      star_at.Next();
      at = star_at;
    } else {
      return false;
    }
  }
  return true;
}

bool ExcludeList::AbsoluteMatches(const Pattern& pattern, absl::string_view absolute) const {
  const auto matches = [&](absl::string_view path) {
    if (!pattern.components.empty() && PathMatches(pattern.components, path)) return true;
    for (const std::string& spelling : pattern.spellings) {
      if (spelling == path) return true;
    }
    return false;
  };
  if (matches(absolute)) return true;
  for (const Alias& alias : aliases_) {
    const auto below = PathBelow(alias.path, absolute);
    if (below.has_value() && matches(JoinPath(alias.also, *below))) return true;
  }
  return false;
}

bool ExcludeList::AnchoredMatches(const Pattern& pattern, absl::string_view path,
                                  absl::string_view absolute) const {
  if (given_roots_.empty()) return !path.empty() && PathMatches(pattern.components, path);
  for (const std::string& root : given_roots_) {
    const auto below = PathBelow(root, absolute);
    if (below.has_value() && !below->empty() && PathMatches(pattern.components, *below)) {
      return true;
    }
  }
  return false;
}

std::optional<size_t> ExcludeList::Match(absl::string_view path, absl::string_view absolute,
                                         bool is_directory) const {
  const size_t slash = path.rfind('/');
  const absl::string_view name = slash == absl::string_view::npos ? path : path.substr(slash + 1);
  for (size_t i = 0; i < patterns_.size(); ++i) {
    const Pattern& pattern = patterns_[i];
    if (pattern.directory_only && !is_directory) continue;
    const bool matches = pattern.absolute ? AbsoluteMatches(pattern, absolute)
                         : pattern.anchored
                             ? AnchoredMatches(pattern, path, absolute)
                             : !name.empty() && ComponentMatches(pattern.components[0], name);
    if (matches) return i;
  }
  return std::nullopt;
}

}  // namespace onefold
