#include "cli/fleet/name_command.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/fleet/host_commands.h"
#include "cli/run_summary.h"
#include "common/escape.h"
#include "common/status_macros.h"
#include "common/uuid.h"

namespace onefold {
namespace {

// Nobody chooses among more by pressing Tab.
constexpr size_t kNamesMax = 1000;
constexpr int kRunsMax = 50;

constexpr char kHelp[] = "Usage:  onefold completion names hosts|volumes|runs|policies\n";

std::set<std::string> HostNames(const std::vector<v1::Host>& hosts) {
  std::set<std::string> names;
  for (const v1::Host& host : hosts) {
    names.insert(host.display_name().empty() ? host.host_id() : host.display_name());
  }
  return names;
}

std::set<std::string> VolumeNames(const std::vector<v1::Host>& hosts) {
  std::set<std::string> names;
  for (const v1::Host& host : hosts) {
    for (const v1::MountedVolume& volume : host.volumes()) {
      if (!volume.label().empty()) names.insert(volume.label());
      const auto uuid = VolumeUuidFromBytes(volume.volume_uuid());
      if (uuid.has_value()) names.insert(ToString(*uuid));
    }
  }
  return names;
}

absl::StatusOr<std::set<std::string>> Names(AdminClient& client, const std::string& kind) {
  if (kind == "hosts" || kind == "volumes") {
    ASSIGN_OR_RETURN(const std::vector<v1::Host> hosts, AllHosts(client));
    return kind == "hosts" ? HostNames(hosts) : VolumeNames(hosts);
  }
  std::set<std::string> names;
  if (kind == "runs") {
    v1::ListRunsRequest request;
    request.set_page_size(kRunsMax);
    ASSIGN_OR_RETURN(const v1::ListRunsResponse page, client.ListRuns(request));
    for (const v1::Run& run : page.runs()) names.insert(run.run_id());
    return names;
  }
  if (kind == "policies") {
    ASSIGN_OR_RETURN(const v1::ListPoliciesResponse page,
                     client.ListPolicies(v1::ListPoliciesRequest()));
    for (const v1::Policy& policy : page.policies()) names.insert(policy.name());
    return names;
  }
  return absl::InvalidArgumentError(absl::StrCat("there are no names of '", Escape(kind),
                                                 "'; there are hosts, volumes, runs ",
                                                 "and policies"));
}

absl::StatusOr<int> PrintNames(const VerbCall& call) {
  ASSIGN_OR_RETURN(const std::set<std::string> names,
                   Names(call.client, call.options.operands()[0]));
  std::string text;
  size_t count = 0;
  for (const std::string& name : names) {
    // What cannot be typed as it is shown cannot be completed; and nothing steers a terminal.
    if (name.empty() || name[0] == '-' || Escape(name) != name) continue;
    if (++count > kNamesMax) break;
    absl::StrAppend(&text, name, "\n");
  }
  call.console().Print(text);
  return kExitDone;
}

}  // namespace

const Verb& NamesVerb() {
  static const Verb* const verb = new Verb{.name = "onefold completion names",
                                           .help = kHelp,
                                           .options = {},
                                           .operand_min = 1,
                                           .operand_max = 1,
                                           .run = PrintNames};
  return *verb;
}

}  // namespace onefold
