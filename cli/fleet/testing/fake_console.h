// A console that remembers what was printed and has its answers ready.

#ifndef ONEFOLD_CLI_FLEET_TESTING_FAKE_CONSOLE_H_
#define ONEFOLD_CLI_FLEET_TESTING_FAKE_CONSOLE_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "cli/fleet/console.h"

namespace onefold {

class FakeConsole final : public Console {
 public:
  void Print(absl::string_view text) override { absl::StrAppend(&out, text); }
  void Say(absl::string_view text) override { absl::StrAppend(&err, text); }
  bool IsTerminal() const override { return terminal; }
  bool CanAsk() const override { return terminal; }
  bool Confirm(absl::string_view question) override {
    absl::StrAppend(&asked, question, "\n");
    return answer;
  }
  bool printed() const override { return printable; }

  bool terminal = false;
  bool answer = false;
  bool printable = true;
  std::string out;
  std::string err;
  std::string asked;
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_TESTING_FAKE_CONSOLE_H_
