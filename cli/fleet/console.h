// Console: where commands of the fleet print and ask. Real: TerminalConsole. Tests: FakeConsole
// (testing/fake_console.h).

#ifndef ONEFOLD_CLI_FLEET_CONSOLE_H_
#define ONEFOLD_CLI_FLEET_CONSOLE_H_

#include "absl/strings/string_view.h"

namespace onefold {

// Not thread-safe.
class Console {
 public:
  virtual ~Console() = default;
  // What was asked for, on standard output at once.
  virtual void Print(absl::string_view text) = 0;
  // What is said about it, on standard error.
  virtual void Say(absl::string_view text) = 0;
  // Whether a person reads Print's text right now.
  virtual bool IsTerminal() const = 0;
  // Whether somebody can be asked.
  virtual bool CanAsk() const = 0;
  // Asks, and waits for a line. True only for "y" or "yes".
  virtual bool Confirm(absl::string_view question) = 0;
  // False once something could not be printed: what was asked for did not arrive.
  virtual bool printed() const = 0;
};

class TerminalConsole final : public Console {
 public:
  void Print(absl::string_view text) override;
  void Say(absl::string_view text) override;
  bool IsTerminal() const override;
  bool CanAsk() const override;
  bool Confirm(absl::string_view question) override;
  bool printed() const override { return printed_; }

 private:
  bool printed_ = true;
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_CONSOLE_H_
