#include "cli/fleet/join_command.h"

#include <grpcpp/create_channel.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/fleet/admin_json.h"
#include "cli/fleet/admin_words.h"
#include "cli/fleet/join_arguments.h"
#include "cli/fleet/text_file.h"
#include "cli/fleet/worker_file.h"
#include "cli/run_summary.h"
#include "common/escape.h"
#include "common/grpc_credentials.h"
#include "common/identity/certificate_request.h"
#include "common/identity/first_contact.h"
#include "common/identity/private_file.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"
#include "worker/identity/enrollment_client.h"
#include "worker/identity/host_identity.h"

namespace onefold {
namespace {

constexpr char kDefaultConfigFile[] = "/etc/onefold/worker.yaml";
constexpr char kDefaultStateDirectory[] = "/var/lib/onefold-worker";
constexpr absl::Duration kContactTimeout = absl::Seconds(20);
constexpr absl::Duration kJoinTimeout = absl::Seconds(30);

std::string JoinHelp() {
  return R"(Usage:  onefold fleet join TOKEN@HOST[:PORT] [--allow PATH]… [OPTIONS]

Makes this machine a host of the fleet whose coordinator runs at HOST. An admin makes the token with
`onefold fleet token create`; it is good once. The token also tells how to recognise the coordinator:
nobody in between can take its place.

  --allow PATH            what onefold may touch on this host; may be given several times. Without it
                          the host only reports its volumes
  --name NAME             what people call this host; default: its host name
  --state-directory DIR   where key and certificate are kept; default: that of the configuration file,
                          else /var/lib/onefold-worker
  --config FILE           configuration of the worker; default: /etc/onefold/worker.yaml. It is made, or
                          the lines that have to change are changed and everything else is left
  --rejoin                although this host has joined a fleet before; it becomes a new host
  --if-needed             do nothing, and exit with 0, if this host has joined: for what runs at each start
  --json                  print what was done as JSON

If an answer got lost, say the same again: with the same token, this host stays the same host.

Exit codes:  0 joined · 1 refused: the message says why and what to do
)";
}

std::string HostName() {
  char name[256] = "";
  return gethostname(name, sizeof(name) - 1) == 0 && IsUtf8(name) ? name : "";
}

// Everything that is known before the coordinator is asked.
struct Plan {
  std::string config_file;
  std::string config_text;  // what the file will hold
  std::string state_directory;
};

absl::StatusOr<Plan> MakePlan(const JoinArguments& arguments) {
  Plan plan;
  plan.config_file = arguments.config_file.empty() ? kDefaultConfigFile : arguments.config_file;
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(plan.config_file));
  ASSIGN_OR_RETURN(plan.state_directory, StateDirectoryOf(text), plan.config_file);
  if (!arguments.state_directory.empty()) plan.state_directory = arguments.state_directory;
  if (plan.state_directory.empty()) plan.state_directory = kDefaultStateDirectory;
  ASSIGN_OR_RETURN(plan.config_text,
                   UpdateWorkerFile(text, {.coordinator = ToString(arguments.coordinator),
                                           .name = arguments.name,
                                           .state_directory = arguments.state_directory,
                                           .allow = arguments.allow}),
                   plan.config_file);
  return plan;
}

absl::Status CheckHasNotJoined(const JoinArguments& arguments, const Plan& plan) {
  if (arguments.rejoin) return absl::OkStatus();
  const absl::StatusOr<HostIdentity> host = LoadHostIdentity(plan.state_directory);
  if (absl::IsNotFound(host.status())) return absl::OkStatus();
  // Its certificate had come, and then something went wrong.
  if (host.ok() && IsJoining(plan.state_directory)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this host has joined already (", host.ok() ? host->host_id : host.status().message(),
      ", in ", plan.state_directory, "). If it is to become a new host: --rejoin"));
}

absl::StatusOr<JoinAnswer> AskCoordinator(const JoinArguments& arguments,
                                          const identity::PrivateKey& key) {
  ASSIGN_OR_RETURN(const auto shown,
                   identity::FetchCertificates(arguments.coordinator, kContactTimeout));
  ASSIGN_OR_RETURN(const identity::Certificate authority,
                   identity::FindAuthority(shown, arguments.token.authority_fingerprint));
  ASSIGN_OR_RETURN(const std::string request, identity::MakeCertificateRequest(key));
  const auto channel = grpc::CreateCustomChannel(ToString(arguments.coordinator),
                                                 JoiningChannelCredentials(authority.ToPem()),
                                                 FleetChannelArguments());
  return Join(channel, identity::SecretToText(arguments.token.secret), request,
              arguments.name.empty() ? HostName() : arguments.name, kJoinTimeout);
}

absl::StatusOr<HostIdentity> Enter(const JoinArguments& arguments, const Plan& plan) {
  RETURN_IF_ERROR(CheckHasNotJoined(arguments, plan));
  ASSIGN_OR_RETURN(const identity::PrivateKey key, KeyForJoining(plan.state_directory));
  ASSIGN_OR_RETURN(const JoinAnswer answer, AskCoordinator(arguments, key));
  RETURN_IF_ERROR(SaveHostIdentity(plan.state_directory, key, answer.certificate));
  RETURN_IF_ERROR(ReplaceTextFile(plan.config_file, plan.config_text));
  RETURN_IF_ERROR(ForgetKeyForJoining(plan.state_directory));
  return LoadHostIdentity(plan.state_directory);
}

std::string Advice(const absl::Status& status) {
  if (absl::IsPermissionDenied(status) && geteuid() != 0) return "\nTry it as root: sudo …";
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) {
    return "\nThe token is still good for this host: say the same again.";
  }
  return "";
}

int Refuse(const absl::Status& status) {
  std::fprintf(stderr, "onefold: %s%s\n", EscapeText(status.message()).c_str(),
               Advice(status).c_str());
  return kExitRefused;
}

// A start script or a person: what is to be done next.
std::string NextSteps(const JoinArguments& arguments, const Plan& plan) {
  std::string text;
  for (const std::string& path : arguments.allow) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      absl::StrAppend(&text, "Note: ", Escape(path), " does not exist (yet).\n");
    }
  }
  if (("\n" + plan.config_text).find("\nallow:") == std::string::npos) {
    absl::StrAppend(&text, "It reports its volumes and touches nothing until ",
                    Escape(plan.config_file), " allows something:\n  allow: [/srv/data]\n");
  }
  const std::string config = plan.config_file == kDefaultConfigFile
                                 ? ""
                                 : absl::StrCat(" --config ", Escape(plan.config_file));
  absl::StrAppend(&text, arguments.rejoin ? "Next, stop the worker if it runs, and start it:\n"
                                          : "Next, start it:\n");
  if (config.empty()) {
    absl::StrAppend(&text, arguments.rejoin ? "  systemctl restart onefold-worker\nor:\n"
                                            : "  systemctl enable --now onefold-worker\nor:\n");
  }
  absl::StrAppend(&text, "  onefold worker", config, "\n");
  return text;
}

int RunJoin(const Arguments& arguments) {
  std::signal(SIGPIPE, SIG_IGN);  // a server that hangs up must not end us
  const absl::StatusOr<JoinArguments> parsed = ParseJoin(arguments);
  if (!parsed.ok()) {
    std::fprintf(stderr, "onefold: %s\nTry: onefold fleet join --help\n",
                 EscapeText(parsed.status().message()).c_str());
    return kExitRefused;
  }
  const auto refuse = [&](const absl::Status& status) {
    if (parsed->json) PrintText(absl::StrCat(ErrorJson(status), "\n"));
    return Refuse(status);
  };
  const absl::StatusOr<Plan> plan = MakePlan(*parsed);
  if (!plan.ok()) return refuse(plan.status());
  if (parsed->if_needed && !IsJoining(plan->state_directory)) {
    const absl::StatusOr<HostIdentity> joined = LoadHostIdentity(plan->state_directory);
    if (joined.ok()) {
      return PrintText(absl::StrCat("This host has joined already: ", joined->host_id, ".\n"));
    }
  }
  const absl::StatusOr<HostIdentity> host = Enter(*parsed, *plan);
  if (!host.ok()) return refuse(host.status());
  if (parsed->json) {
    const nlohmann::ordered_json json = {{"schema", "onefold.joined.v1"},
                                         {"host_id", host->host_id},
                                         {"coordinator", ToString(parsed->coordinator)},
                                         {"config_file", ReplaceNonUtf8(plan->config_file)},
                                         {"state_directory", ReplaceNonUtf8(plan->state_directory)},
                                         {"certificate_expires_at", TimeWord(host->not_after)}};
    return PrintText(json.dump(-1, ' ', /*ensure_ascii=*/true) + "\n");
  }
  return PrintText(absl::StrCat("Joined the fleet of ", ToString(parsed->coordinator), " as host ",
                                host->host_id, ".\n", NextSteps(*parsed, *plan)));
}

}  // namespace

const Command kFleetJoinCommand = {.name = "join",
                                   .parameters = "TOKEN@HOST:PORT",
                                   .summary = "make this machine a host of a fleet",
                                   .help = JoinHelp,
                                   .run = RunJoin};

}  // namespace onefold
