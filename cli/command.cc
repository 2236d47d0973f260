#include "cli/command.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "cli/run_summary.h"
#include "common/escape.h"
#include "common/nearest_word.h"

namespace onefold {
namespace {

constexpr size_t kListWidthMin = 13;

// Columns on a terminal: bytes that do not continue a character of UTF-8.
size_t Columns(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string NameAndParameters(const Command& command) {
  return absl::StrCat(command.name, *command.parameters == '\0' ? "" : " ", command.parameters);
}

const Command* Find(const CommandGroup& group, const std::string& name) {
  for (size_t i = 0; i < group.command_count; ++i) {
    if (name == group.commands[i]->name) return group.commands[i];
  }
  return nullptr;
}

// Help of what `path` names, as far as there is such a thing.
std::string HelpOf(const CommandGroup& group, const Arguments& path, size_t depth) {
  const Command* command = depth < path.size() ? Find(group, path[depth]) : nullptr;
  if (command == nullptr) return GroupHelp(group);
  return command->group != nullptr ? HelpOf(*command->group, path, depth + 1) : command->help();
}

int RefuseUnknown(const CommandGroup& group, const std::string& name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < group.command_count; ++i) names.push_back(group.commands[i]->name);
  const std::string nearest = NearestWord(name, names);
  const std::string hint = nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?");
  std::fprintf(stderr, "onefold: there is no command '%s'%s\nTry: %s --help\n",
               Escape(name).c_str(), hint.c_str(), group.name);
  return kExitRefused;
}

}  // namespace

std::string GroupHelp(const CommandGroup& group) {
  std::string help = absl::StrCat(group.introduction, "\nUsage:  ", group.name,
                                  " COMMAND [OPTIONS]\n\nCommands:\n");
  size_t width = kListWidthMin;
  for (size_t i = 0; i < group.command_count; ++i) {
    width = std::max(width, Columns(NameAndParameters(*group.commands[i])));
  }
  const auto add = [&](const std::string& name, absl::string_view summary) {
    absl::StrAppend(&help, "  ", name, std::string(width + 2 - Columns(name), ' '), summary, "\n");
  };
  for (size_t i = 0; i < group.command_count; ++i) {
    add(NameAndParameters(*group.commands[i]), group.commands[i]->summary);
  }
  add("help",
      absl::StrCat("this text; `", group.name, " COMMAND --help` has the options of a command"));
  if (*group.closing != '\0') absl::StrAppend(&help, "\n", group.closing);
  return help;
}

int RunCommandOf(const CommandGroup& group, const Arguments& arguments) {
  if (arguments.empty()) {
    std::fputs(GroupHelp(group).c_str(), stderr);
    return kExitRefused;
  }
  const std::string& name = arguments[0];
  if (name == "help" || name == "--help" || name == "-h") {
    return PrintText(HelpOf(group, arguments, 1));
  }
  const Command* command = Find(group, name);
  if (command == nullptr) return RefuseUnknown(group, name);
  const Arguments rest(arguments.begin() + 1, arguments.end());
  if (command->group != nullptr) return RunCommandOf(*command->group, rest);
  if (WantsHelp(rest)) return PrintText(command->help());
  return command->run(rest);
}

bool WantsHelp(const Arguments& arguments) {
  const auto end_of_options = std::find(arguments.begin(), arguments.end(), "--");
  return std::any_of(arguments.begin(), end_of_options, [](const std::string& argument) {
    return argument == "--help" || argument == "-h";
  });
}

int PrintText(const std::string& text) {
  const bool printed = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  return printed ? kExitDone : kExitRefused;
}

}  // namespace onefold
