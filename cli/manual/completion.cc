#include "cli/manual/completion.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace onefold {
namespace {

// For bash and zsh.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string FishQuoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

// Words that the usage of `path` begins with: "backup" of "onefold coordinator backup DIR".
std::vector<CompletedWord> WordsOfUsage(const HelpText& help, const std::string& path) {
  std::vector<CompletedWord> words;
  for (absl::string_view line : help.usage) {
    if (!absl::ConsumePrefix(&line, absl::StrCat(path, " "))) continue;
    const std::vector<absl::string_view> parts = absl::StrSplit(line, ' ');
    for (const absl::string_view word : absl::StrSplit(parts[0], '|')) {
      if (std::all_of(word.begin(), word.end(), [](char c) {
            return absl::ascii_islower(static_cast<unsigned char>(c)) || c == '-';
          })) {
        words.push_back({std::string(word), ""});
      }
    }
  }
  words.erase(std::remove_if(words.begin(), words.end(),
                             [](const CompletedWord& word) {
                               return word.word.empty() || word.word[0] == '-';
                             }),
              words.end());
  return words;
}

void AddCommands(const CommandGroup& group, const std::string& path,
                 std::vector<CompletedCommand>& commands) {
  CompletedCommand node{.path = path};
  for (size_t i = 0; i < group.command_count; ++i) {
    node.words.push_back({group.commands[i]->name, group.commands[i]->summary});
  }
  node.words.push_back({"help", "what there is"});
  node.options.push_back({.names = {"-h", "--help"}, .text = "what there is"});
  commands.push_back(node);
  for (size_t i = 0; i < group.command_count; ++i) {
    const Command& command = *group.commands[i];
    const std::string below = absl::StrCat(path, " ", command.name);
    if (command.group != nullptr) {
      AddCommands(*command.group, below, commands);
      continue;
    }
    const HelpText help = ParseHelp(command.help());
    CompletedCommand leaf{
        .path = below, .words = WordsOfUsage(help, below), .options = OptionsOf(help)};
    const std::vector<absl::string_view> parameters = absl::StrSplit(command.parameters, ' ');
    leaf.operands = PlaceKindOf(std::string(absl::StripSuffix(parameters[0], "…")), below);
    const bool has_help =
        std::any_of(leaf.options.begin(), leaf.options.end(),
                    [](const HelpOption& option) { return option.names.back() == "--help"; });
    if (!has_help) leaf.options.push_back({.names = {"-h", "--help"}, .text = "what it does"});
    commands.push_back(leaf);
  }
}

// "'onefold dedupe'|'onefold fleet'|…": what leads one level down.
std::string Steps(const std::vector<CompletedCommand>& commands, const char* separator) {
  std::vector<std::string> steps;
  for (const CompletedCommand& command : commands) {
    if (absl::StrContains(command.path, ' ')) steps.push_back(Quoted(command.path));
  }
  return absl::StrJoin(steps, separator);
}

// "words extents all", "file", "none": what is behind an option that takes a value.
std::string ValueKind(const HelpOption& option, const std::string& path) {
  if (!option.choices.empty()) {
    return absl::StrCat("words ", absl::StrJoin(option.choices, " "));
  }
  const PlaceKind kind = PlaceKindOf(option.value, path);
  return kind.empty() ? "none" : kind;
}

// The lines of the `case "$at $previous"` that bash and zsh have in common.
std::string ValueCases(const std::vector<CompletedCommand>& commands) {
  std::string out;
  for (const CompletedCommand& command : commands) {
    for (const HelpOption& option : command.options) {
      if (option.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) {
        patterns.push_back(Quoted(absl::StrCat(command.path, " ", name)));
      }
      absl::StrAppend(&out, "    ", absl::StrJoin(patterns, "|"),
                      ") kind=", Quoted(ValueKind(option, command.path)), " ;;\n");
    }
  }
  return out;
}

std::string NamesOf(const std::vector<HelpOption>& options) {
  std::vector<std::string> names;
  for (const HelpOption& option : options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return absl::StrJoin(names, " ");
}

constexpr char kBashHead[] = R"SH(# bash completion for onefold; made by `onefold completion bash`.

# Names may hold anything: they are compared and quoted, never given to the shell to expand.
_onefold_names() {
  local name
  while IFS= read -r name; do
    [[ $name == "$current"* ]] && COMPREPLY+=("$(printf '%q' "$name")")
  done < <(timeout 2 onefold completion names "$1" 2>/dev/null)
}

_onefold() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local at=onefold kind= words= options= word i
  COMPREPLY=()
  # "--match=ex" arrives as three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]] && ((COMP_CWORD >= 2)); then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case "$at $word" in
      )SH";

constexpr char kBashTail[] = R"SH(  esac
  if [[ -z $kind ]]; then
    if [[ $current == -* ]]; then
      kind="words $options"
    elif [[ -n $words ]]; then
      kind="words $words"
    else
      kind=$operands
    fi
  fi
  case $kind in
    'words '*) mapfile -t COMPREPLY < <(compgen -W "${kind#words }" -- "$current") ;;
    file) compopt -o default ;;
    directory) compopt -o dirnames ;;
    hosts|volumes|runs|policies) _onefold_names "$kind" ;;
  esac
}

complete -F _onefold onefold
)SH";

constexpr char kZshHead[] = R"SH(#compdef onefold
# zsh completion for onefold; made by `onefold completion zsh`.

_onefold() {
  local current=${words[CURRENT]} previous=${words[CURRENT-1]}
  local at=onefold kind= operands= word i
  local -a names list options
  if [[ $current == --*=* ]]; then
    previous=${current%%=*}
    compset -P '*='
  fi
  for ((i = 2; i < CURRENT; i++)); do
    word=${words[i]}
    case "$at $word" in
      )SH";

constexpr char kZshTail[] = R"SH(  esac
  case $kind in
    'words '*) names=(${=kind#words }); compadd -a names; return ;;
    '')
      if [[ $current == -* ]]; then
        _describe -o option options
        return
      elif (( $#list )); then
        _describe command list
        return
      fi
      kind=$operands
      ;;
  esac
  case $kind in
    file) _files ;;
    directory) _files -/ ;;
    hosts|volumes|runs|policies)
      names=(${(f)"$(timeout 2 onefold completion names $kind 2>/dev/null)"})
      compadd -a names
      ;;
  esac
}

if [[ $funcstack[1] == _onefold ]]; then
  _onefold "$@"
else
  compdef _onefold onefold
fi
)SH";

constexpr char kStepTail[] = R"SH() at="$at $word" ;;
      *) break ;;
    esac
  done
  case "$at $previous" in
)SH";

std::string ZshItem(const std::string& word, const std::string& text) {
  return Quoted(absl::StrCat(absl::StrReplaceAll(word, {{":", "\\:"}}), ":", FirstClause(text)));
}

std::string FishValue(const HelpOption& option, const std::string& path) {
  if (option.value.empty()) return "";
  if (!option.choices.empty()) {
    return absl::StrCat(" -x -a ", FishQuoted(absl::StrJoin(option.choices, " ")));
  }
  const PlaceKind kind = PlaceKindOf(option.value, path);
  if (kind == "file") return " -r -F";
  if (kind == "directory") return " -x -a '(__fish_complete_directories)'";
  if (kind.empty()) return " -x";
  return absl::StrCat(" -x -a '(__onefold_names ", kind, ")'");
}

constexpr char kFishHead[] = R"(# fish completion for onefold; made by `onefold completion fish`.

function __onefold_names
    timeout 2 onefold completion names $argv[1] 2>/dev/null
end

function __onefold_at
    set -l words (commandline -opc)
    set -l at onefold
    for word in $words[2..-1]
        switch "$at $word"
            case )";

constexpr char kFishStepTail[] = R"(
                set at "$at $word"
            case '*'
                break
        end
    end
    test "$at" = "$argv[1]"
end

complete -c onefold -f
)";

}  // namespace

PlaceKind PlaceKindOf(const std::string& value, const std::string& path) {
  if (value == "FILE" || value == "PATH") return "file";
  if (value == "DIR" || value == "DIRECTORY") return "directory";
  if (value == "HOST") return "hosts";
  if (value == "VOLUME") return "volumes";
  if (value == "RUN") return "runs";
  if (value == "POLICY" || (value == "NAME" && absl::StartsWith(path, "onefold policy "))) {
    return "policies";
  }
  return "";
}

std::vector<CompletedCommand> CompletedCommands(const CommandGroup& program) {
  std::vector<CompletedCommand> commands;
  AddCommands(program, program.name, commands);
  return commands;
}

std::string BashCompletion(const std::vector<CompletedCommand>& commands) {
  std::string out = absl::StrCat(kBashHead, Steps(commands, "|"), kStepTail, ValueCases(commands),
                                 "  esac\n  local operands=\n  case $at in\n");
  for (const CompletedCommand& command : commands) {
    std::vector<std::string> words;
    for (const CompletedWord& word : command.words) words.push_back(word.word);
    absl::StrAppend(&out, "    ", Quoted(command.path),
                    ") words=", Quoted(absl::StrJoin(words, " ")),
                    " operands=", Quoted(command.operands),
                    "\n      options=", Quoted(NamesOf(command.options)), " ;;\n");
  }
  return out + kBashTail;
}

std::string ZshCompletion(const std::vector<CompletedCommand>& commands) {
  std::string out = absl::StrCat(kZshHead, Steps(commands, "|"), kStepTail, ValueCases(commands),
                                 "  esac\n  case $at in\n");
  for (const CompletedCommand& command : commands) {
    absl::StrAppend(&out, "    ", Quoted(command.path),
                    ")\n      operands=", Quoted(command.operands), "\n      list=(\n");
    for (const CompletedWord& word : command.words) {
      absl::StrAppend(&out, "        ", ZshItem(word.word, word.summary), "\n");
    }
    absl::StrAppend(&out, "      )\n      options=(\n");
    for (const HelpOption& option : command.options) {
      for (const std::string& name : option.names) {
        absl::StrAppend(&out, "        ", ZshItem(name, option.text), "\n");
      }
    }
    absl::StrAppend(&out, "      ) ;;\n");
  }
  return out + kZshTail;
}

std::string FishCompletion(const std::vector<CompletedCommand>& commands) {
  std::string out = absl::StrCat(kFishHead, Steps(commands, " "), kFishStepTail);
  for (const CompletedCommand& command : commands) {
    const std::string condition = absl::StrCat(
        "complete -c onefold -n ", FishQuoted(absl::StrCat("__onefold_at \"", command.path, "\"")));
    for (const CompletedWord& word : command.words) {
      absl::StrAppend(&out, condition, " -a ", word.word, " -d ", FishQuoted(word.summary), "\n");
    }
    if (command.operands == "file") {
      absl::StrAppend(&out, condition, " -F\n");
    } else if (command.operands == "directory") {
      absl::StrAppend(&out, condition, " -a '(__fish_complete_directories)'\n");
    } else if (!command.operands.empty()) {
      absl::StrAppend(&out, condition, " -a '(__onefold_names ", command.operands, ")'\n");
    }
    for (const HelpOption& option : command.options) {
      absl::StrAppend(&out, condition);
      for (const std::string& name : option.names) {
        absl::StrAppend(&out, absl::StartsWith(name, "--") ? " -l " : " -s ",
                        name.substr(name.find_first_not_of('-')));
      }
      absl::StrAppend(&out, FishValue(option, command.path), " -d ",
                      FishQuoted(FirstClause(option.text)), "\n");
    }
  }
  return out;
}

}  // namespace onefold
