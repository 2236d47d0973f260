// What a command's help says, as data: manual pages and completions are made from the very text
// that --help prints, so that none of them can fall behind. Pure.
//
// A help text is laid out like this:
//
//   Usage:  onefold health [--trusted FILE] ADDRESS     usage, until an empty line
//   Asks the coordinator …                              a paragraph
//   How:                                                a heading
//     --trusted FILE   certificates of …                an item: its term, two spaces or more, its
//                      authority                        text, which goes on further to the right

#ifndef ONEFOLD_CLI_MANUAL_HELP_TEXT_H_
#define ONEFOLD_CLI_MANUAL_HELP_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace onefold {

struct HelpBlock {
  enum class Kind { kHeading, kParagraph, kItem, kVerbatim };
  Kind kind = Kind::kParagraph;
  std::string term;  // of an item
  std::string text;  // on one line
};

struct HelpText {
  std::vector<std::string> usage;  // "onefold health [--trusted FILE] ADDRESS"
  std::vector<HelpBlock> blocks;
};

HelpText ParseHelp(absl::string_view help);

struct HelpOption {
  std::vector<std::string> names = {};  // "-q", "--quiet"
  std::string value = {};               // "FILE"; empty: takes none
  std::vector<std::string> choices =
      {};  // all that the value may be, where that is a list of words
  std::string text = {};
};

// Items that begin with a dash, each option once.
std::vector<HelpOption> OptionsOf(const HelpText& help);

// `text` up to where its first clause ends: a few words for a list.
std::string FirstClause(absl::string_view text);

}  // namespace onefold

#endif  // ONEFOLD_CLI_MANUAL_HELP_TEXT_H_
