#include "cli/fleet/host_commands.h"

#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/fleet/address.h"
#include "cli/fleet/admin_json.h"
#include "cli/fleet/admin_text.h"
#include "cli/fleet/admin_words.h"
#include "cli/quantity.h"
#include "cli/run_summary.h"
#include "common/escape.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

// A coordinator that pages for ever would fill our memory: 100 times the largest fleet there is.
constexpr size_t kHostsMax = 100'000;
constexpr absl::Duration kTokenTtlMax = absl::Hours(24 * 30);
constexpr int kTokenHostsMax = 1000;

constexpr char kListHelp[] = R"(Usage:  onefold fleet list [OPTIONS]

Shows the hosts of the fleet, their volumes, what they allow to be touched, and what there is to do.
)";

constexpr char kDrainHelp[] = R"(Usage:  onefold fleet drain HOST [OPTIONS]

Gives the host no new work; what it does now stops cleanly and goes on after `onefold fleet resume`.
HOST is a name or an id of `onefold fleet list`. Harmless to repeat.
)";

constexpr char kResumeHelp[] = R"(Usage:  onefold fleet resume HOST [OPTIONS]

Gives a drained host work again. HOST is a name or an id of `onefold fleet list`. Harmless to repeat.
)";

constexpr char kForgetHelp[] = R"(Usage:  onefold fleet forget HOST [--yes] [OPTIONS]

Revokes the host's certificate and forgets the host; it has to join again. The indexes of its volumes
stay, for the host they move to. HOST is a name or an id of `onefold fleet list`.

  --yes                    do it; without, only what would happen is shown
  --dry-run                only show it, and exit with 0
)";

constexpr char kTokenHelp[] = R"(Usage:  onefold fleet token create [--ttl 1h] [--hosts N] [OPTIONS]

Makes a token with which one host may join, once, and prints the command to type there.

  --ttl D                  how long it is good (90m, 1h, 2d); default 1h, at most 30d
  --hosts N                how many hosts may join with it, for those that a machine makes: keep such a
                           token like a password; default 1, at most 1000
)";

std::string NameOf(const v1::Host& host) {
  return Escape(host.display_name().empty() ? host.host_id() : host.display_name());
}

absl::StatusOr<int> ListHosts(const VerbCall& call) {
  ASSIGN_OR_RETURN(const std::vector<v1::Host> hosts, AllHosts(call.client));
  call.Print(HostsJson(hosts), HostsText(hosts, call.Now(), call.CellColumnsMax()));
  return kExitDone;
}

absl::StatusOr<int> DrainHost(const VerbCall& call) {
  v1::DrainHostRequest request;
  request.set_host(call.options.operands()[0]);
  ASSIGN_OR_RETURN(const v1::DrainHostResponse response, call.client.DrainHost(request));
  call.Print(HostJson(response.host(), true),
             absl::StrCat(NameOf(response.host()), " gets no new work.\n"));
  return kExitDone;
}

absl::StatusOr<int> ResumeHost(const VerbCall& call) {
  v1::ResumeHostRequest request;
  request.set_host(call.options.operands()[0]);
  ASSIGN_OR_RETURN(const v1::ResumeHostResponse response, call.client.ResumeHost(request));
  call.Print(HostJson(response.host(), true),
             absl::StrCat(NameOf(response.host()), " gets work again.\n"));
  return kExitDone;
}

absl::StatusOr<v1::Host> FindHost(AdminClient& client, const std::string& name) {
  ASSIGN_OR_RETURN(const std::vector<v1::Host> hosts, AllHosts(client));
  std::vector<v1::Host> found;
  for (const v1::Host& host : hosts) {
    if (host.host_id() == name) return host;
    if (host.display_name() == name) found.push_back(host);
  }
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("there is no host '", Escape(name), "'; see: onefold fleet list"));
  }
  std::string ids;
  for (const v1::Host& host : found) absl::StrAppend(&ids, " ", host.host_id());
  return absl::InvalidArgumentError(
      absl::StrCat("several hosts are called '", Escape(name), "'; say which by its id:", ids));
}

absl::StatusOr<int> ForgetHost(const VerbCall& call) {
  const std::string& name = call.options.operands()[0];
  const bool dry_run = call.options.Has("--dry-run");
  if (dry_run || !call.options.Has("--yes")) {
    ASSIGN_OR_RETURN(const v1::Host host, FindHost(call.client, name));
    call.Print(
        HostJson(host, false),
        absl::StrCat(
            NameOf(host), " (", Escape(host.host_id()), ", ",
            host.volumes_size() == 1 ? "1 volume" : absl::StrCat(host.volumes_size(), " volumes"),
            ") would lose its certificate and be forgotten.\n"));
    call.console().Say("onefold: nothing was changed; --yes does it\n");
    return dry_run ? kExitDone : kExitRefused;
  }
  v1::ForgetHostRequest request;
  request.set_host(name);
  ASSIGN_OR_RETURN(const v1::ForgetHostResponse response, call.client.ForgetHost(request));
  call.Print(HostJson(response.host(), true),
             absl::StrCat(NameOf(response.host()),
                          " is forgotten, and its certificate revoked. To have it back, it joins "
                          "again: onefold fleet token create\n"));
  return kExitDone;
}

absl::StatusOr<int> CreateToken(const VerbCall& call) {
  v1::CreateJoinTokenRequest request;
  if (call.options.Has("--ttl")) {
    ASSIGN_OR_RETURN(const absl::Duration ttl, ParseTimeSpan(call.options.Value("--ttl")), "--ttl");
    if (ttl > kTokenTtlMax) return absl::InvalidArgumentError("--ttl: at most 30 days");
    *request.mutable_ttl() = ProtoOf(ttl);
  }
  int hosts = 1;
  if (call.options.Has("--hosts")) {
    if (!absl::SimpleAtoi(call.options.Value("--hosts"), &hosts) || hosts < 1 ||
        hosts > kTokenHostsMax) {
      return absl::InvalidArgumentError("--hosts: a number from 1 to 1000");
    }
    request.set_host_count_max(hosts);
  }
  request.set_request_id(call.around.new_request_id());
  ASSIGN_OR_RETURN(v1::CreateJoinTokenResponse response, call.client.CreateJoinToken(request));
  if (response.address().empty()) response.set_address(SharedAddress(call.client));
  const bool has_address = !response.address().empty();
  const std::string join =
      has_address ? absl::StrCat(response.token(), "@", response.address()) : "";
  call.Print(JoinTokenJson(response, join),
             absl::StrCat("onefold fleet join ",
                          Escape(has_address ? join : absl::StrCat(response.token(), "@HOST:PORT")),
                          "\n"));
  if (!call.json) {
    if (!has_address) {
      call.console().Say(
          "HOST:PORT is where the new host finds the coordinator (public_address in its "
          "configuration).\n");
    }
    call.console().Say(absl::StrCat("Good for ",
                                    hosts == 1 ? "one host" : absl::StrCat(hosts, " hosts"),
                                    ", until ", TimeWord(TimeOf(response.expire_time())),
                                    ". Add --allow PATH for what may be touched there.\n"));
  }
  return kExitDone;
}

}  // namespace

std::string SharedAddress(const AdminClient& client) {
  const absl::StatusOr<Address> address = ParseAddress(client.address());
  return address.ok() && !address->is_unix && !address->is_loopback ? address->text : "";
}

absl::StatusOr<std::vector<v1::Host>> AllHosts(AdminClient& client) {
  std::vector<v1::Host> hosts;
  v1::ListHostsRequest request;
  do {
    ASSIGN_OR_RETURN(const v1::ListHostsResponse page, client.ListHosts(request));
    hosts.insert(hosts.end(), page.hosts().begin(), page.hosts().end());
    if (page.hosts().empty() && !page.next_page_token().empty()) {
      return absl::InternalError("the coordinator's list of hosts does not end");
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && hosts.size() < kHostsMax);
  return hosts;
}

const Verb& ListHostsVerb() {
  static const Verb* const verb = new Verb{"onefold fleet list", kListHelp, {}, 0, 0, &ListHosts};
  return *verb;
}

const Verb& DrainHostVerb() {
  static const Verb* const verb = new Verb{"onefold fleet drain", kDrainHelp, {}, 1, 1, &DrainHost};
  return *verb;
}

const Verb& ResumeHostVerb() {
  static const Verb* const verb =
      new Verb{"onefold fleet resume", kResumeHelp, {}, 1, 1, &ResumeHost};
  return *verb;
}

const Verb& ForgetHostVerb() {
  static const Verb* const verb = new Verb{"onefold fleet forget",
                                           kForgetHelp,
                                           {{"--yes", false}, {"--dry-run", false}},
                                           1,
                                           1,
                                           &ForgetHost};
  return *verb;
}

const Verb& CreateTokenVerb() {
  static const Verb* const verb = new Verb{"onefold fleet token create",
                                           kTokenHelp,
                                           {{"--ttl", true}, {"--hosts", true}},
                                           0,
                                           0,
                                           &CreateToken};
  return *verb;
}

}  // namespace onefold
