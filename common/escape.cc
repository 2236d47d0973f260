#include "common/escape.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onefold {
namespace {

// One character of UTF-8, or one byte that is none.
struct Character {
  size_t size = 1;
  uint32_t code_point = 0;
  bool valid = false;
};

// The character at the front of `bytes`, which is not empty. Overlong forms, surrogates and values
// above U+10FFFF are no UTF-8.
Character FirstCharacter(absl::string_view bytes) {
  const auto lead = static_cast<uint8_t>(bytes[0]);
  if (lead < 0x80) return {1, lead, true};
  const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes.size() < size) return {};
  uint32_t code_point = lead & (0x7f >> size);
  for (size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if ((byte & 0xc0) != 0x80) return {};
    code_point = code_point << 6 | (byte & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code_point < kSmallest[size] || code_point > 0x10ffff) return {};
  if (code_point >= 0xd800 && code_point <= 0xdfff) return {};
  return {size, code_point, true};
}

struct CodePointRange {
  uint32_t first;
  uint32_t last;
};

// Characters that steer or hide text. The joiners U+200C and U+200D are not among them: scripts and
// emoji need them.
constexpr CodePointRange kTreacherous[] = {
    {0x0080, 0x009f},    // C1 controls: 0x9b is CSI
    {0x00ad, 0x00ad},    // soft hyphen
    {0x061c, 0x061c},    // Arabic letter mark
    {0x180e, 0x180e},    // Mongolian vowel separator
    {0x200b, 0x200b},    // zero width space
    {0x200e, 0x200f},    // direction marks
    {0x2028, 0x202e},    // separators, embeddings and overrides
    {0x2060, 0x206f},    // invisible operators, isolates
    {0xfeff, 0xfeff},    // byte order mark
    {0xfff9, 0xfffb},    // interlinear annotation
    {0xfffe, 0xffff},    // noncharacters
    {0xe0000, 0xe0fff},  // tags, variation selectors supplement
};

// Blocks whose characters are, by and large, two columns wide.
constexpr CodePointRange kWide[] = {
    {0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f000, 0x1faff}, {0x20000, 0x3fffd},
};

template <size_t kSize>
bool Contains(const CodePointRange (&ranges)[kSize], uint32_t code_point) {
  for (const CodePointRange& range : ranges) {
    if (code_point >= range.first && code_point <= range.last) return true;
  }
  return false;
}

std::string EscapeWith(absl::string_view bytes, bool escape_backslash) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character c = FirstCharacter(bytes);
    if (!c.valid || c.code_point < 0x20 || c.code_point == 0x7f) {
      switch (bytes[0]) {
        case '\n': out += "\\n"; break;
        case '\t': out += "\\t"; break;
        case '\r': out += "\\r"; break;
        default:
          absl::StrAppend(&out, "\\x", absl::Hex(static_cast<uint8_t>(bytes[0]), absl::kZeroPad2));
      }
    } else if (c.code_point == '\\' && escape_backslash) {
      out += "\\\\";
    } else if (Contains(kTreacherous, c.code_point)) {
      absl::StrAppend(&out, "\\u{", absl::Hex(c.code_point), "}");
    } else {
      out.append(bytes.data(), c.size);
    }
    bytes.remove_prefix(c.size);
  }
  return out;
}

}  // namespace

std::string Escape(absl::string_view bytes) { return EscapeWith(bytes, true); }

std::string EscapeText(absl::string_view text) { return EscapeWith(text, false); }

bool IsUtf8(absl::string_view bytes) {
  while (!bytes.empty()) {
    const Character c = FirstCharacter(bytes);
    if (!c.valid) return false;
    bytes.remove_prefix(c.size);
  }
  return true;
}

std::string ReplaceNonUtf8(absl::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const Character c = FirstCharacter(bytes);
    if (c.valid) {
      out.append(bytes.data(), c.size);
    } else {
      out += "\xef\xbf\xbd";
    }
    bytes.remove_prefix(c.size);
  }
  return out;
}

int ColumnCount(absl::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const Character c = FirstCharacter(text);
    columns += Contains(kWide, c.code_point) ? 2 : 1;
    text.remove_prefix(c.size);
  }
  return columns;
}

std::string Shorten(absl::string_view text, int column_max) {
  const int columns = ColumnCount(text);
  if (columns <= column_max) return std::string(text);
  if (column_max < 1) return "";
  // The tail tells more than the head: it gets what is odd.
  const int head_max = (column_max - 1) / 2;
  const int tail_max = column_max - 1 - head_max;
  std::string out;
  absl::string_view rest = text;
  int head = 0;
  int left = columns;
  bool in_head = true;
  while (!rest.empty()) {
    const Character c = FirstCharacter(rest);
    const absl::string_view character = rest.substr(0, c.size);
    const int width = ColumnCount(character);
    if (in_head && head + width > head_max) {
      in_head = false;
      out += "…";
    }
    if (in_head || left <= tail_max) out.append(character.data(), character.size());
    if (in_head) head += width;
    left -= width;
    rest.remove_prefix(c.size);
  }
  return out;
}

}  // namespace onefold
