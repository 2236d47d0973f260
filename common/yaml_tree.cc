#include "common/yaml_tree.h"

#include <yaml-cpp/yaml.h>

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

// A configuration or a thousand policies; yaml-cpp needs about 50 times as much memory.
constexpr size_t kTextBytesMax = size_t{1} << 20;
constexpr int kNodesMax = 100'000;
constexpr int kDepthMax = 16;

// Bytes of the UTF-8 sequence that `text` begins with, 0 if there is none.
size_t SequenceBytes(absl::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  if (byte(0) < 0x80) return 1;
  const size_t size = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Not the shortest form, a surrogate, or beyond Unicode.
  if ((byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) > 0x9f) ||
      (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f)) {
    return 0;
  }
  return size;
}

absl::Status CheckText(absl::string_view text) {
  if (text.size() > kTextBytesMax) return absl::InvalidArgumentError("more than 1 MiB of YAML");
  int line = 1;
  while (!text.empty()) {
    const size_t size = SequenceBytes(text);
    if (size == 0 || text[0] == '\0') return YamlError(line, "", "this is not UTF-8");
    if (text[0] == '\n') ++line;
    text.remove_prefix(size);
  }
  return absl::OkStatus();
}

class Converter {
 public:
  absl::Status Convert(const YAML::Node& from, int depth, YamlNode& to) {
    to.line = from.Mark().line + 1;
    if (++nodes_ > kNodesMax) return YamlError(to.line, "", "too many values");
    if (depth > kDepthMax) return YamlError(to.line, "", "nested too deeply");
    switch (from.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null: return absl::OkStatus();
      case YAML::NodeType::Scalar:
        to.kind = YamlNode::Kind::kScalar;
        to.scalar = from.Scalar();
        return absl::OkStatus();
      case YAML::NodeType::Sequence:
        to.kind = YamlNode::Kind::kList;
        for (const YAML::Node& item : from) {
          RETURN_IF_ERROR(Convert(item, depth + 1, to.list.emplace_back()));
        }
        return absl::OkStatus();
      case YAML::NodeType::Map: to.kind = YamlNode::Kind::kMap; return ConvertMap(from, depth, to);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ConvertMap(const YAML::Node& from, int depth, YamlNode& to) {
    std::set<std::string> keys;
    for (const auto& item : from) {
      const int line = item.first.Mark().line + 1;
      if (!item.first.IsScalar()) return YamlError(line, "", "a key must be a word");
      const std::string& key = item.first.Scalar();
      if (!keys.insert(key).second) return YamlError(line, key, "is given twice");
      YamlNode::Entry& entry = to.map.emplace_back();
      entry.key = key;
      entry.line = line;
      RETURN_IF_ERROR(Convert(item.second, depth + 1, entry.value));
    }
    return absl::OkStatus();
  }

  int nodes_ = 0;
};

absl::StatusOr<std::vector<YAML::Node>> Load(absl::string_view text) {
  // yaml-cpp reports by exceptions; they end here. A quotation mark that is never closed would make
  // a value of all that follows, without an error: so the end is marked.
  try {
    return YAML::LoadAll(absl::StrCat(text, "\n...\n"));
  } catch (const YAML::Exception& error) {
    if (error.msg == YAML::ErrorMsg::DOC_IN_SCALAR) {
      return YamlError(error.mark.line + 1, "", "a quotation mark above is never closed");
    }
    return YamlError(error.mark.line + 1, "", absl::StrCat("this is not YAML: ", error.msg));
  }
}

}  // namespace

absl::Status YamlError(int line, absl::string_view name, absl::string_view why) {
  std::string message = line > 0 ? absl::StrCat("line ", line, ": ") : "";
  if (!name.empty()) absl::StrAppend(&message, name, ": ");
  return absl::InvalidArgumentError(absl::StrCat(message, why));
}

absl::StatusOr<std::vector<YamlNode>> ParseYaml(absl::string_view text) {
  RETURN_IF_ERROR(CheckText(text));
  ASSIGN_OR_RETURN(const std::vector<YAML::Node> loaded, Load(text));
  Converter converter;
  std::vector<YamlNode> documents;
  for (const YAML::Node& document : loaded) {
    YamlNode node;
    RETURN_IF_ERROR(converter.Convert(document, 0, node));
    if (node.kind != YamlNode::Kind::kNull) documents.push_back(std::move(node));
  }
  return documents;
}

std::string YamlScalar(absl::string_view text) {
  double number = 0;
  bool bare = !text.empty() && (absl::ascii_isalnum(text[0]) || text[0] == '/' || text[0] == '.');
  for (const char c : text) {
    bare = bare && (absl::ascii_isalnum(c) || absl::StrContains("_./=+-", c));
  }
  const std::string lower = absl::AsciiStrToLower(text);
  for (const absl::string_view word :
       {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}) {
    bare = bare && lower != word;
  }
  if (bare && !absl::SimpleAtod(text, &number)) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", std::string(1, c));
    } else if (absl::ascii_iscntrl(c)) {
      absl::StrAppendFormat(&quoted, "\\x%02x", static_cast<unsigned char>(c));
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "\"";
}

}  // namespace onefold
