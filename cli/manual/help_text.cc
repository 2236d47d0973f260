#include "cli/manual/help_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace onefold {
namespace {

using Kind = HelpBlock::Kind;

constexpr size_t kItemIndent = 2;
constexpr absl::string_view kUsage = "Usage:";

bool IsChoice(absl::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) || c == '-';
  });
}

// "a|b" as words; none unless all of them are words.
std::vector<std::string> Choices(absl::string_view value) {
  if (!absl::StrContains(value, '|')) return {};
  std::vector<std::string> words = absl::StrSplit(value, '|');
  return std::all_of(words.begin(), words.end(), IsChoice) ? words : std::vector<std::string>();
}

// What `usage` writes behind `name`: "viewer|operator" for "--role".
std::vector<std::string> ChoicesInUsage(const HelpText& help, const std::string& name) {
  for (const std::string& line : help.usage) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" []"));
    const auto at = std::find(words.begin(), words.end(), name);
    if (at != words.end() && at + 1 != words.end()) return Choices(*(at + 1));
  }
  return {};
}

class Parser {
 public:
  void Add(absl::string_view line) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    const size_t indent = static_cast<size_t>(text.data() - line.data());
    if (text.empty()) {
      open_ = in_usage_ = false;
    } else if (in_usage_ || absl::StartsWith(text, kUsage)) {
      in_usage_ = true;
      help_.usage.emplace_back(absl::StripAsciiWhitespace(absl::StripPrefix(text, kUsage)));
    } else if (indent == 0) {
      AddAtMargin(text);
    } else if (indent == kItemIndent) {
      AddItem(text);
    } else if (open_) {
      Continue(text);
    } else {
      Begin({Kind::kVerbatim, "", std::string(text)});
    }
  }

  HelpText Take() { return std::move(help_); }

 private:
  void Begin(HelpBlock block) {
    open_ = block.kind == Kind::kParagraph || block.kind == Kind::kItem;
    help_.blocks.push_back(std::move(block));
  }

  void Continue(absl::string_view text) {
    std::string& whole = help_.blocks.back().text;
    absl::StrAppend(&whole, whole.empty() ? "" : " ", text);
  }

  void AddAtMargin(absl::string_view text) {
    const size_t wide_colon = text.find(":  ");  // "Exit codes:  0 done"
    if (open_ && help_.blocks.back().kind == Kind::kParagraph) {
      Continue(text);
    } else if (absl::EndsWith(text, ":")) {
      Begin({Kind::kHeading, "", std::string(absl::StripSuffix(text, ":"))});
    } else if (wide_colon != absl::string_view::npos) {
      Begin({Kind::kHeading, "", std::string(text.substr(0, wide_colon))});
      Begin({Kind::kParagraph, "",
             std::string(absl::StripAsciiWhitespace(text.substr(wide_colon + 1)))});
    } else {
      Begin({Kind::kParagraph, "", std::string(text)});
    }
  }

  void AddItem(absl::string_view text) {
    const size_t gap = text.rfind("  ");
    if (gap != absl::string_view::npos) {
      Begin({Kind::kItem, std::string(absl::StripTrailingAsciiWhitespace(text.substr(0, gap))),
             std::string(text.substr(gap + 2))});
    } else if (absl::StartsWith(text, "-")) {
      Begin({Kind::kItem, std::string(text), ""});
    } else {
      Begin({Kind::kVerbatim, "", std::string(text)});
    }
  }

  HelpText help_;
  bool in_usage_ = false;
  bool open_ = false;  // the last block may go on
};

}  // namespace

HelpText ParseHelp(absl::string_view help) {
  Parser parser;
  for (const absl::string_view line : absl::StrSplit(help, '\n')) parser.Add(line);
  return parser.Take();
}

std::vector<HelpOption> OptionsOf(const HelpText& help) {
  std::vector<HelpOption> options;
  for (const HelpBlock& block : help.blocks) {
    if (block.kind != Kind::kItem || !absl::StartsWith(block.term, "-")) continue;
    HelpOption option{.text = block.text};
    for (const absl::string_view spelling : absl::StrSplit(block.term, ", ")) {
      const size_t end = std::min(spelling.find_first_of(" ="), spelling.size());
      option.names.emplace_back(spelling.substr(0, end));
      if (end < spelling.size()) option.value = std::string(spelling.substr(end + 1));
    }
    option.choices = Choices(option.value);
    if (option.choices.empty() && !option.value.empty()) {
      option.choices = ChoicesInUsage(help, option.names.back());
    }
    const bool known = std::any_of(options.begin(), options.end(), [&](const HelpOption& other) {
      return other.names.back() == option.names.back();
    });
    if (!known) options.push_back(std::move(option));
  }
  return options;
}

std::string FirstClause(absl::string_view text) {
  size_t end = text.size();
  for (const absl::string_view stop : {"; ", ": ", " (", ". "}) {
    end = std::min(end, text.find(stop));
  }
  return std::string(text.substr(0, end));
}

}  // namespace onefold
