#include "cli/fleet/fleet_command.h"

#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/fleet/connection.h"
#include "cli/fleet/console.h"
#include "cli/fleet/grpc_admin_client.h"
#include "cli/fleet/host_commands.h"
#include "cli/fleet/join_command.h"
#include "cli/fleet/name_command.h"
#include "cli/fleet/policy_commands.h"
#include "cli/fleet/run_commands.h"
#include "cli/fleet/sign_in_commands.h"
#include "cli/fleet/user_commands.h"
#include "cli/fleet/verb.h"
#include "cli/view/view_command.h"
#include "common/clock.h"
#include "common/identity/certificate_request.h"
#include "common/identity/private_key.h"
#include "common/identity/random.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr size_t kRequestIdBytes = 16;

absl::StatusOr<KeyAndRequest> NewKey() {
  ASSIGN_OR_RETURN(const identity::PrivateKey key, identity::PrivateKey::Generate());
  ASSIGN_OR_RETURN(std::string request, identity::MakeCertificateRequest(key));
  return KeyAndRequest{key.ToPem(), std::move(request)};
}

// With the world as it is.
int RunReal(const Verb& verb, const Arguments& arguments) {
  TerminalConsole console;
  Surroundings around = {
      .console = console,
      .clock = SystemClock(),
      .connect = [&console](const ConnectionArguments& given)
          -> absl::StatusOr<std::unique_ptr<AdminClient>> {
        ASSIGN_OR_RETURN(const Connection connection, FindConnection(given));
        if (!connection.warning.empty()) {
          console.Say(absl::StrCat("onefold: ", connection.warning, "\n"));
        }
        return NewGrpcAdminClient(connection, given.insecure);
      },
      .new_request_id =
          [] { return absl::BytesToHexString(identity::RandomBytes(kRequestIdBytes)); },
      .new_key = NewKey,
      .sleep = [](absl::Duration span) { absl::SleepFor(span); },
  };
  return RunVerb(verb, arguments, around);
}

template <const Verb& (*verb)()>
std::string Help() {
  return absl::StrCat(verb().help, kCommonHelp);
}

template <const Verb& (*verb)()>
int Run(const Arguments& arguments) {
  return RunReal(verb(), arguments);
}

template <const Verb& (*verb)()>
constexpr Command Leaf(const char* name, const char* parameters, const char* summary) {
  return {.name = name,
          .parameters = parameters,
          .summary = summary,
          .help = Help<verb>,
          .run = Run<verb>};
}

constexpr char kClosing[] = R"(
All of them take --coordinator, --identity, --insecure and --json; `COMMAND --help` says more.
)";

// ---- onefold fleet ----

constexpr Command kTokenCreate = Leaf<CreateTokenVerb>("create", "", "a token for one new host");
constexpr const Command* kTokenCommands[] = {&kTokenCreate};
constexpr CommandGroup kTokenGroup = {.name = "onefold fleet token",
                                      .introduction = "Tokens with which hosts join the fleet.\n",
                                      .commands = kTokenCommands,
                                      .command_count = std::size(kTokenCommands)};

constexpr Command kUserAdd =
    Leaf<AddUserVerb>("add", "NAME --role ROLE", "a certificate for a person");
constexpr Command kUserList = Leaf<ListUsersVerb>("list", "", "people and what they may do");
constexpr Command kUserRemove =
    Leaf<RemoveUserVerb>("remove", "NAME", "revoke a person's certificate");
constexpr Command kUserLink =
    Leaf<SignInLinkVerb>("link", "NAME", "a link to the web page, good once");
constexpr const Command* kUserCommands[] = {&kUserAdd, &kUserList, &kUserLink, &kUserRemove};
constexpr CommandGroup kUserGroup = {.name = "onefold fleet user",
                                     .introduction = "People who may ask the coordinator.\n",
                                     .commands = kUserCommands,
                                     .command_count = std::size(kUserCommands)};

constexpr Command kList =
    Leaf<ListHostsVerb>("list", "", "hosts, volumes, and what there is to do");
constexpr Command kDrain = Leaf<DrainHostVerb>("drain", "HOST", "no new work for a host");
constexpr Command kResume = Leaf<ResumeHostVerb>("resume", "HOST", "work again for a drained host");
constexpr Command kForget =
    Leaf<ForgetHostVerb>("forget", "HOST", "revoke a host's certificate and forget it");
constexpr Command kToken = {
    .name = "token", .summary = "tokens for new hosts", .group = &kTokenGroup};
constexpr Command kUser = {.name = "user", .summary = "people", .group = &kUserGroup};
constexpr const Command* kFleetCommands[] = {&kFleetJoinCommand, &kList,  &kDrain, &kResume,
                                             &kForget,           &kToken, &kUser};
constexpr CommandGroup kFleetGroup = {.name = "onefold fleet",
                                      .introduction = "The hosts of a fleet, and its people.\n",
                                      .commands = kFleetCommands,
                                      .command_count = std::size(kFleetCommands),
                                      .closing = kClosing};

// ---- onefold policy ----

constexpr Command kApply =
    Leaf<ApplyPolicyVerb>("apply", "FILE", "show what a file changes, and change it");
constexpr Command kPolicyList = Leaf<ListPoliciesVerb>("list", "", "all policies");
constexpr Command kShow = Leaf<ShowPolicyVerb>("show", "NAME", "one policy as YAML");
constexpr Command kDelete = Leaf<DeletePolicyVerb>("delete", "NAME", "delete a policy");
constexpr const Command* kPolicyCommands[] = {&kApply, &kPolicyList, &kShow, &kDelete};
constexpr CommandGroup kPolicyGroup = {
    .name = "onefold policy",
    .introduction = "What is to be deduped when, and how hard.\n",
    .commands = kPolicyCommands,
    .command_count = std::size(kPolicyCommands),
    .closing = kClosing};

// ---- onefold run ----

constexpr Command kNow =
    Leaf<RunNowVerb>("now", "VOLUME | --selector SELECTOR", "start runs at once");
constexpr Command kRunList = Leaf<ListRunsVerb>("list", "", "runs, the newest first");
constexpr Command kWatch = Leaf<WatchRunVerb>("watch", "RUN", "follow a run to its end");
constexpr Command kCancel = Leaf<CancelRunVerb>("cancel", "RUN", "stop a run for good");
constexpr Command kPause = Leaf<PauseRunVerb>("pause", "RUN", "hold a run");
constexpr Command kRunResume = Leaf<ResumeRunVerb>("resume", "RUN", "let a held run go on");
constexpr const Command* kRunCommands[] = {&kNow,    &kRunList, &kShowRunCommand, &kWatch,
                                           &kCancel, &kPause,   &kRunResume};
constexpr CommandGroup kRunGroup = {.name = "onefold run",
                                    .introduction = "Runs of the fleet: one volume each.\n",
                                    .commands = kRunCommands,
                                    .command_count = std::size(kRunCommands),
                                    .closing = kClosing};

}  // namespace

const Command kFleetCommand = {
    .name = "fleet", .summary = "hosts and people of a fleet", .group = &kFleetGroup};
const Command kPolicyCommand = {
    .name = "policy", .summary = "what is deduped when", .group = &kPolicyGroup};
const Command kRunCommand = {.name = "run", .summary = "runs of a fleet", .group = &kRunGroup};

int RunNames(const Arguments& arguments) { return RunReal(NamesVerb(), arguments); }

}  // namespace onefold
