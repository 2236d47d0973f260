#include "cli/fleet/console.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/ascii.h"

namespace onefold {
namespace {

bool Write(std::FILE* file, absl::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
}

}  // namespace

void TerminalConsole::Print(absl::string_view text) {
  if (!Write(stdout, text)) printed_ = false;
}

void TerminalConsole::Say(absl::string_view text) { (void)Write(stderr, text); }

bool TerminalConsole::IsTerminal() const { return isatty(STDOUT_FILENO) != 0; }

bool TerminalConsole::CanAsk() const {
  return isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
}

bool TerminalConsole::Confirm(absl::string_view question) {
  constexpr size_t kAnswerBytesMax = 64;
  Say(question);
  Say(" [y/N] ");
  std::string answer;
  for (int c = std::fgetc(stdin); c != EOF && c != '\n'; c = std::fgetc(stdin)) {
    if (answer.size() < kAnswerBytesMax) answer.push_back(static_cast<char>(c));
  }
  answer = absl::AsciiStrToLower(absl::StripAsciiWhitespace(answer));
  return answer == "y" || answer == "yes";
}

}  // namespace onefold
