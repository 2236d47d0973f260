// YamlTree: a YAML text as plain values, each with the line it stands in, so that whoever reads a
// file can say where it is wrong. The one place that knows yaml-cpp.
//
// Bounded whatever the text holds: aliases count as often as they are used.

#ifndef ONEFOLD_COMMON_YAML_TREE_H_
#define ONEFOLD_COMMON_YAML_TREE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold {

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  int line = 0;  // from 1
  std::string scalar;
  std::vector<YamlNode> list;
  std::vector<Entry> map;  // in the order of the text; keys are scalars, each once
};

struct YamlNode::Entry {
  std::string key;
  int line = 0;
  YamlNode value;
};

// INVALID_ARGUMENT "line N: name: …", or without the parts that are not known.
absl::Status YamlError(int line, absl::string_view name, absl::string_view why);

// The documents of the text, empty ones left out.
//
// INVALID_ARGUMENT with the line: no YAML, not UTF-8, a key twice, too large or too deep.
absl::StatusOr<std::vector<YamlNode>> ParseYaml(absl::string_view text);

// The text as a scalar that is read back as it is: bare if that is safe, else in double quotes.
std::string YamlScalar(absl::string_view text);

}  // namespace onefold

#endif  // ONEFOLD_COMMON_YAML_TREE_H_
