#include "cli/fleet/policy_commands.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/fleet/admin_json.h"
#include "cli/fleet/admin_text.h"
#include "cli/fleet/admin_words.h"
#include "cli/run_summary.h"
#include "common/escape.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr size_t kPolicyBytesMax = 1 << 20;  // as the coordinator

constexpr char kApplyHelp[] = R"(Usage:  onefold policy apply FILE [--yes | --dry-run] [OPTIONS]

Makes the policies in FILE (- for standard input) those of the fleet, all of them in one step; other
policies stay. Shows first what changes and which volumes each one selects, and asks.

  --yes                    do not ask; needed where nobody can be asked
  --dry-run                only show it

A policy in YAML; more of them are divided by a line "---":

  name: nightly
  select: label:site=berlin      # or all, host=nas1, label=data, uuid=…; commas: all of them hold
  roots: [./home]                # below each volume's mount point; absent: all the host allows
  excludes: ["*.iso"]
  schedule: "0 2 * * *"          # or @daily, …; absent: only by `onefold run now`
  time_zone: Europe/Berlin
  window: "22:00-06:00"          # work stops cleanly at its end and goes on in the next
  throttle: {threads: 2, read_per_second: 50MiB, load: 4.0}
  at_once: {hosts: 4}
)";

constexpr char kListHelp[] = R"(Usage:  onefold policy list [OPTIONS]

Shows all policies, how many volumes each selects now and when it is due next.
)";

constexpr char kShowHelp[] = R"(Usage:  onefold policy show NAME [OPTIONS]

Prints a policy as YAML, fit for `onefold policy apply`.
)";

constexpr char kDeleteHelp[] = R"(Usage:  onefold policy delete NAME [--yes] [OPTIONS]

Deletes a policy. Runs it has made go on.

  --yes                    do it; without, only what would happen is shown
  --dry-run                only show it, and exit with 0
)";

absl::StatusOr<std::string> ReadPolicyFile(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(nullptr, &std::fclose);
  std::FILE* file = stdin;
  if (path != "-") {
    opened.reset(std::fopen(path.c_str(), "re"));
    file = opened.get();
  }
  if (file == nullptr) {
    return absl::NotFoundError(absl::StrCat(Escape(path), ": ", std::strerror(errno)));
  }
  std::string text(kPolicyBytesMax + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  if (std::ferror(file) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(Escape(path), ": ", std::strerror(errno)));
  }
  if (text.size() > kPolicyBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(Escape(path), ": larger than 1 MiB"));
  }
  if (!IsUtf8(text)) return absl::InvalidArgumentError(absl::StrCat(Escape(path), ": is no UTF-8"));
  return text;
}

bool Changes(const v1::ApplyPoliciesResponse& response) {
  return std::any_of(response.changes().begin(), response.changes().end(), [](const auto& change) {
    return change.kind() != v1::ApplyPoliciesResponse::Change::KIND_UNCHANGED;
  });
}

// Whether both say the same but for the volumes, which come and go.
bool SameChanges(const v1::ApplyPoliciesResponse& a, const v1::ApplyPoliciesResponse& b) {
  return std::equal(a.changes().begin(), a.changes().end(), b.changes().begin(), b.changes().end(),
                    [](const auto& x, const auto& y) {
                      return x.name() == y.name() && x.kind() == y.kind() && x.diff() == y.diff();
                    });
}

absl::StatusOr<int> ApplyPolicy(const VerbCall& call) {
  const bool yes = call.options.Has("--yes");
  const bool dry_run = call.options.Has("--dry-run");
  if (yes && dry_run) return absl::InvalidArgumentError("--yes and --dry-run: one of them");
  v1::ApplyPoliciesRequest request;
  ASSIGN_OR_RETURN(*request.mutable_yaml(), ReadPolicyFile(call.options.operands()[0]));
  request.set_dry_run(true);
  ASSIGN_OR_RETURN(const v1::ApplyPoliciesResponse shown, call.client.ApplyPolicies(request));
  if (dry_run || !Changes(shown)) {
    call.Print(PolicyChangesJson(shown, false), PolicyChangesText(shown));
    if (!call.json) {
      call.console().Say(Changes(shown) ? "onefold: nothing was changed; --yes does it\n"
                                        : "onefold: everything is as it should be\n");
    }
    return kExitDone;
  }
  if (!yes) {
    call.Print(PolicyChangesJson(shown, false), PolicyChangesText(shown));
    if (call.json || !call.console().CanAsk()) {
      call.console().Say("onefold: nothing was changed; --yes does it\n");
      return kExitRefused;
    }
    if (!call.console().Confirm("Apply this?")) {
      call.console().Say("onefold: nothing was changed\n");
      return kExitRefused;
    }
  }
  request.set_dry_run(false);
  ASSIGN_OR_RETURN(const v1::ApplyPoliciesResponse done, call.client.ApplyPolicies(request));
  if (yes) {
    call.Print(PolicyChangesJson(done, true), PolicyChangesText(done));
  } else if (!SameChanges(shown, done)) {
    call.console().Say("onefold: somebody else changed policies meanwhile; what was applied is:\n");
    call.Print("", PolicyChangesText(done));
  }
  if (!call.json) call.console().Say("onefold: applied\n");
  return kExitDone;
}

absl::StatusOr<int> ListPolicies(const VerbCall& call) {
  ASSIGN_OR_RETURN(const v1::ListPoliciesResponse response, call.client.ListPolicies({}));
  const std::vector<v1::Policy> policies(response.policies().begin(), response.policies().end());
  call.Print(PoliciesJson(policies), PoliciesText(policies, call.Now(), call.CellColumnsMax()));
  return kExitDone;
}

absl::StatusOr<v1::Policy> FindPolicy(AdminClient& client, const std::string& name) {
  ASSIGN_OR_RETURN(const v1::ListPoliciesResponse response, client.ListPolicies({}));
  for (const v1::Policy& policy : response.policies()) {
    if (policy.name() == name) return policy;
  }
  return absl::NotFoundError(
      absl::StrCat("there is no policy '", Escape(name), "'; see: onefold policy list"));
}

// Lines as they are, but nothing in them can steer a terminal.
std::string YamlText(const std::string& yaml) {
  std::string text;
  for (const absl::string_view line : absl::StrSplit(yaml, '\n')) {
    absl::StrAppend(&text, EscapeText(line), "\n");
  }
  while (text.size() > 1 && text[text.size() - 2] == '\n') text.pop_back();
  return text;
}

absl::StatusOr<int> ShowPolicy(const VerbCall& call) {
  ASSIGN_OR_RETURN(const v1::Policy policy, FindPolicy(call.client, call.options.operands()[0]));
  call.Print(PolicyJson(policy, false), YamlText(policy.yaml()));
  return kExitDone;
}

absl::StatusOr<int> DeletePolicy(const VerbCall& call) {
  const bool dry_run = call.options.Has("--dry-run");
  ASSIGN_OR_RETURN(const v1::Policy policy, FindPolicy(call.client, call.options.operands()[0]));
  if (dry_run || !call.options.Has("--yes")) {
    call.Print(PolicyJson(policy, false),
               absl::StrCat(YamlText(policy.yaml()), "would be deleted; it selects ",
                            policy.volume_count(),
                            policy.volume_count() == 1 ? " volume.\n" : " volumes.\n"));
    call.console().Say("onefold: nothing was changed; --yes does it\n");
    return dry_run ? kExitDone : kExitRefused;
  }
  v1::DeletePolicyRequest request;
  request.set_name(policy.name());
  RETURN_IF_ERROR(call.client.DeletePolicy(request).status());
  call.Print(PolicyJson(policy, true), absl::StrCat(Escape(policy.name()), " is deleted.\n"));
  return kExitDone;
}

}  // namespace

const Verb& ApplyPolicyVerb() {
  static const Verb* const verb = new Verb{"onefold policy apply",
                                           kApplyHelp,
                                           {{"--yes", false}, {"--dry-run", false}},
                                           1,
                                           1,
                                           &ApplyPolicy};
  return *verb;
}

const Verb& ListPoliciesVerb() {
  static const Verb* const verb =
      new Verb{"onefold policy list", kListHelp, {}, 0, 0, &ListPolicies};
  return *verb;
}

const Verb& ShowPolicyVerb() {
  static const Verb* const verb = new Verb{"onefold policy show", kShowHelp, {}, 1, 1, &ShowPolicy};
  return *verb;
}

const Verb& DeletePolicyVerb() {
  static const Verb* const verb = new Verb{"onefold policy delete",
                                           kDeleteHelp,
                                           {{"--yes", false}, {"--dry-run", false}},
                                           1,
                                           1,
                                           &DeletePolicy};
  return *verb;
}

}  // namespace onefold
