#include "cli/manual/man_page.h"

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/manual/help_text.h"

namespace onefold {
namespace {

using Kind = HelpBlock::Kind;

// How many bytes of UTF-8 begin with `lead`; our own texts are well-formed.
size_t LengthOf(unsigned char lead) { return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2; }

uint32_t CodePoint(absl::string_view bytes) {
  uint32_t code = static_cast<unsigned char>(bytes[0]) & (0x7fu >> bytes.size());
  for (size_t i = 1; i < bytes.size(); ++i) {
    code = code << 6 | (static_cast<unsigned char>(bytes[i]) & 0x3f);
  }
  return code;
}

std::string PageName(absl::string_view path) { return absl::StrReplaceAll(path, {{" ", "-"}}); }

std::string SectionName(const std::string& heading) {
  return heading == "Exit codes" ? "EXIT STATUS" : absl::AsciiStrToUpper(heading);
}

std::string Body(const HelpText& help) {
  std::string out;
  bool verbatim = false;
  for (const HelpBlock& block : help.blocks) {
    if (verbatim != (block.kind == Kind::kVerbatim)) {
      verbatim = !verbatim;
      absl::StrAppend(&out, verbatim ? ".PP\n.nf\n.RS 4\n" : ".RE\n.fi\n");
    }
    const std::string text = RoffText(block.text);
    switch (block.kind) {
      case Kind::kHeading:
        absl::StrAppend(&out, ".SH \"", RoffText(SectionName(block.text)), "\"\n");
        break;
      case Kind::kParagraph: absl::StrAppend(&out, ".PP\n", text, "\n"); break;
      case Kind::kItem:
        absl::StrAppend(&out, ".TP\n\\fB", RoffText(block.term), "\\fR\n", text, "\n");
        break;
      case Kind::kVerbatim: absl::StrAppend(&out, text, "\n"); break;
    }
  }
  if (verbatim) absl::StrAppend(&out, ".RE\n.fi\n");
  return out;
}

std::string PageText(const std::string& path, const std::string& summary, const std::string& help,
                     const std::vector<std::string>& see_also, const std::string& version) {
  const HelpText parsed = ParseHelp(help);
  const std::string name = RoffText(PageName(path));
  std::string out = absl::StrCat(".TH \"", absl::AsciiStrToUpper(name), "\" \"1\" \"\" \"onefold ",
                                 version, "\" \"onefold manual\"\n.nh\n.ad l\n.SH NAME\n", name,
                                 " \\- ", RoffText(summary), "\n.SH SYNOPSIS\n.nf\n");
  for (const std::string& line : parsed.usage) absl::StrAppend(&out, RoffText(line), "\n");
  absl::StrAppend(&out, ".fi\n.SH DESCRIPTION\n", Body(parsed));
  if (!see_also.empty()) {
    std::vector<std::string> pages;
    for (const std::string& page : see_also) {
      pages.push_back(absl::StrCat(".BR ", RoffText(PageName(page)), " (1)"));
    }
    absl::StrAppend(&out, ".SH \"SEE ALSO\"\n", absl::StrJoin(pages, ",\n"), "\n");
  }
  return out;
}

void AddPages(const CommandGroup& group, const std::string& path, const std::string& parent,
              const std::string& summary, const std::string& version, std::vector<ManPage>& pages) {
  std::vector<std::string> see_also;
  if (!parent.empty()) see_also.push_back(parent);
  for (size_t i = 0; i < group.command_count; ++i) {
    see_also.push_back(absl::StrCat(path, " ", group.commands[i]->name));
  }
  pages.push_back({PageName(path), PageText(path, summary, GroupHelp(group), see_also, version)});
  for (size_t i = 0; i < group.command_count; ++i) {
    const Command& command = *group.commands[i];
    const std::string below = absl::StrCat(path, " ", command.name);
    if (command.group != nullptr) {
      AddPages(*command.group, below, path, command.summary, version, pages);
    } else {
      pages.push_back(
          {PageName(below), PageText(below, command.summary, command.help(), {path}, version)});
    }
  }
}

}  // namespace

std::string RoffText(absl::string_view text) {
  std::string out;
  if (!text.empty() && text[0] == '.') out = "\\&";
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    size_t length = 1;
    if (byte >= 0x80) {
      length = LengthOf(byte);
      absl::StrAppendFormat(&out, "\\[u%04X]", CodePoint(text.substr(i, length)));
    } else if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '`') {
      out += "\\(ga";
    } else if (c == '"') {
      out += "\\(dq";
    } else if (c == '^') {
      out += "\\(ha";
    } else if (c == '~') {
      out += "\\(ti";
    } else {
      out += c;
    }
    i += length;
  }
  return out;
}

std::vector<ManPage> ManPages(const CommandGroup& program, const std::string& version) {
  std::vector<ManPage> pages;
  AddPages(program, program.name, "", "frees space on btrfs: folds equal data into one copy",
           version, pages);
  return pages;
}

}  // namespace onefold
