#include "cli/fleet/verb.h"

#include "absl/strings/str_cat.h"
#include "cli/fleet/admin_json.h"
#include "cli/run_summary.h"
#include "common/escape.h"

namespace onefold {
namespace {

constexpr int kTerminalCellColumnsMax = 44;

std::vector<OptionSpec> WithCommon(const Verb& verb) {
  std::vector<OptionSpec> specs = {
      {"--coordinator", true}, {"--identity", true}, {"--insecure", false}, {"--json", false}};
  specs.insert(specs.end(), verb.options.begin(), verb.options.end());
  return specs;
}

absl::Status CheckOperands(const Verb& verb, const Options& options) {
  const size_t count = options.operands().size();
  if (count < verb.operand_min) return absl::InvalidArgumentError("something is missing");
  if (count > verb.operand_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("what is '", Escape(options.operands()[verb.operand_max]), "' for?"));
  }
  return absl::OkStatus();
}

}  // namespace

const char kCommonHelp[] = R"(
Which coordinator:
  --coordinator ADDRESS    HOST, HOST:PORT or unix:/PATH; else ONEFOLD_COORDINATOR, else what the
                           certificate bundle says, else this machine: its socket in
                           /run/onefold/coordinator.sock, or localhost:7171
  --identity FILE          a certificate bundle of `onefold fleet user add`; else ONEFOLD_IDENTITY,
                           else ~/.config/onefold/user.pem
  --insecure               plain text, also to another machine: anybody on the way may listen
Output:
  --json                   one JSON object a line (see docs/json.md) instead of text
  -h, --help               this text

Exit codes:
  0    done
  1    refused, or nothing could be done: the message says why and what to do
  2    done, but less than asked
  130  interrupted (143 by SIGTERM)
)";

int VerbCall::CellColumnsMax() const {
  return around.console.IsTerminal() ? kTerminalCellColumnsMax : 0;
}

void VerbCall::Print(const std::string& json_text, const std::string& text) const {
  around.console.Print(json ? absl::StrCat(json_text, "\n") : text);
}

std::string ExplainError(const absl::Status& status, const std::string& address) {
  const std::string message = EscapeText(status.message());
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return absl::StrCat("no coordinator answers at ", Escape(address), ": ", message,
                          "\nDoes it run there (systemctl status onefold-coordinator)? "
                          "--coordinator names another.");
    case absl::StatusCode::kDeadlineExceeded:
      return absl::StrCat("the coordinator at ", Escape(address),
                          " did not answer in time: ", message,
                          "\nWhether something was changed is not known; asking again is safe.");
    case absl::StatusCode::kUnauthenticated:
      return absl::StrCat("the coordinator at ", Escape(address), " does not know you: ", message,
                          "\nAn admin of the fleet makes a new certificate: "
                          "onefold fleet user add NAME --role viewer|operator|admin");
    case absl::StatusCode::kPermissionDenied: return absl::StrCat("not allowed: ", message);
    case absl::StatusCode::kUnimplemented:
      return absl::StrCat("what answers at ", Escape(address),
                          " does not know this command: it is older than this program, or no "
                          "coordinator. Update it first.");
    case absl::StatusCode::kResourceExhausted:
      return absl::StrCat("the coordinator has no room for it: ", message,
                          "\nNothing was changed.");
    case absl::StatusCode::kInternal:
      return absl::StrCat("the coordinator at ", Escape(address), " failed: ", message,
                          "\nIts log says more: journalctl -u onefold-coordinator");
    default: return message;
  }
}

int RunVerb(const Verb& verb, const std::vector<std::string>& arguments, Surroundings& around) {
  Console& console = around.console;
  bool json = false;
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument == "--json") json = true;
  }
  const auto refuse = [&](const absl::Status& status, const std::string& words) {
    if (json) console.Print(absl::StrCat(ErrorJson(status), "\n"));
    console.Say(absl::StrCat("onefold: ", words, "\n"));
    return kExitRefused;
  };
  const absl::StatusOr<Options> options = ParseOptions(WithCommon(verb), arguments);
  absl::Status status = options.status();
  if (status.ok()) status = CheckOperands(verb, *options);
  if (!status.ok()) {
    return refuse(status,
                  absl::StrCat(EscapeText(status.message()), "\nTry: ", verb.name, " --help"));
  }
  const absl::StatusOr<std::unique_ptr<AdminClient>> client =
      around.connect({.coordinator = options->Value("--coordinator"),
                      .identity_file = options->Value("--identity"),
                      .insecure = options->Has("--insecure")});
  // Words of our own, with line breaks.
  if (!client.ok()) return refuse(client.status(), std::string(client.status().message()));
  const absl::StatusOr<int> code =
      verb.run({.options = *options, .client = **client, .around = around, .json = json});
  if (!code.ok()) {
    return refuse(code.status(), ExplainError(code.status(), (*client)->address()));
  }
  if (!console.printed()) return refuse(absl::UnknownError("could not write"), "could not write");
  return *code;
}

}  // namespace onefold
