// A verb of `onefold fleet`, `policy` or `run`: what options it takes and what it does. Everything
// it touches is handed to it, so that all of it is tested without a coordinator.

#ifndef ONEFOLD_CLI_FLEET_VERB_H_
#define ONEFOLD_CLI_FLEET_VERB_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/fleet/admin_client.h"
#include "cli/fleet/connection.h"
#include "cli/fleet/console.h"
#include "cli/fleet/options.h"
#include "common/clock.h"

namespace onefold {

struct KeyAndRequest {
  std::string key_pem;
  std::string request_pem;  // PKCS#10
};

// What verbs need of the world.
struct Surroundings {
  Console& console;
  Clock& clock;
  // The coordinator that the arguments, the environment and the person's files name.
  std::function<absl::StatusOr<std::unique_ptr<AdminClient>>(const ConnectionArguments&)> connect;
  // Never twice the same.
  std::function<std::string()> new_request_id;
  std::function<absl::StatusOr<KeyAndRequest>()> new_key;
  std::function<void(absl::Duration)> sleep;
};

// What a verb runs with.
struct VerbCall {
  const Options& options;
  AdminClient& client;
  Surroundings& around;
  bool json = false;

  Console& console() const { return around.console; }
  absl::Time Now() const { return around.clock.Now(); }
  // Cells of a table: as wide as they are, except on a terminal.
  int CellColumnsMax() const;
  // Prints either one and a newline, or the other.
  void Print(const std::string& json_text, const std::string& text) const;
};

struct Verb {
  const char* name;  // "onefold fleet drain"
  const char* help;
  std::vector<OptionSpec> options;  // beside the common ones
  size_t operand_min = 0;
  size_t operand_max = 0;
  // Returns the exit code. A failure is explained by RunVerb.
  absl::StatusOr<int> (*run)(const VerbCall& call) = nullptr;
};

// Parses, connects, runs, explains what failed. Returns the exit code.
int RunVerb(const Verb& verb, const std::vector<std::string>& arguments, Surroundings& around);

// The options that every verb has, for its help.
extern const char kCommonHelp[];

// `status` in words that say what to do next.
std::string ExplainError(const absl::Status& status, const std::string& address);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_VERB_H_
