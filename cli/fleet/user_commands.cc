#include "cli/fleet/user_commands.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/fleet/address.h"
#include "cli/fleet/admin_json.h"
#include "cli/fleet/admin_words.h"
#include "cli/fleet/host_commands.h"
#include "cli/fleet/sign_in_commands.h"
#include "cli/fleet/table.h"
#include "cli/fleet/user_bundle.h"
#include "cli/run_summary.h"
#include "common/escape.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr size_t kUserNameBytesMax = 64;

constexpr char kAddHelp[] =
    R"(Usage:  onefold fleet user add NAME --role viewer|operator|admin [OPTIONS]

Makes a person's certificate and writes it, with its key, into a file that only you may read. Whoever
has it may do what the role says. An earlier certificate of that NAME is no longer good then. Where the
coordinator serves the web page, a link is printed with which NAME signs in to it, once, within a day.

  --role ROLE              viewer: looks · operator: also starts, stops and drains · admin: everything
  --output FILE            the file; default onefold-NAME.pem
  --install                keep it as your own: ~/.config/onefold/user.pem
  --web                    no file: only a link to the web page
  --address HOST[:PORT]    where the person finds the coordinator, if it does not know that itself
)";

constexpr char kListHelp[] = R"(Usage:  onefold fleet user list [OPTIONS]

Shows the people who have a certificate of the fleet, and what they may do.
)";

constexpr char kRemoveHelp[] = R"(Usage:  onefold fleet user remove NAME [--yes] [OPTIONS]

Revokes a person's certificate: no call of theirs is answered any more, and what they have open ends
within seconds. With several coordinators that share an authority, say it to each.

  --yes                    do it; without, only what would happen is shown
  --dry-run                only show it, and exit with 0
)";

absl::Status CheckUserName(const std::string& name) {
  const auto is_bad = [](char c) {
    return !absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-' && c != '_';
  };
  if (name.size() > kUserNameBytesMax ||
      std::find_if(name.begin(), name.end(), is_bad) != name.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", Escape(name), "' is no name: letters, digits, '.', '-', '_', at most ",
                     kUserNameBytesMax));
  }
  return absl::OkStatus();
}

// Where the bundle goes; makes the folder of the person's own one.
absl::StatusOr<std::string> BundlePath(const Options& options, const std::string& name) {
  if (!options.Has("--install")) {
    return options.Has("--output") ? options.Value("--output")
                                   : absl::StrCat("onefold-", name, ".pem");
  }
  if (options.Has("--output"))
    return absl::InvalidArgumentError("--output and --install: one of them");
  const std::string path = DefaultBundlePath();
  if (path.empty()) return absl::FailedPreconditionError("HOME is not set; say --output FILE");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder.parent_path(), error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::FailedPreconditionError(
        absl::StrCat(Escape(folder.string()), ": ", std::strerror(errno)));
  }
  return path;
}

// Somebody who only uses a browser: the key of the certificate is thrown away.
absl::StatusOr<int> AddWebUser(const VerbCall& call, const std::string& name, v1::UserRole role) {
  if (call.options.Has("--output") || call.options.Has("--install")) {
    return absl::InvalidArgumentError("--web writes no file: without --output and --install");
  }
  ASSIGN_OR_RETURN(const KeyAndRequest key, call.around.new_key());
  v1::CreateUserRequest request;
  request.set_name(name);
  request.set_role(role);
  request.set_certificate_request_pem(key.request_pem);
  ASSIGN_OR_RETURN(const v1::CreateUserResponse response, call.client.CreateUser(request));
  ASSIGN_OR_RETURN(const std::string link, LinkForNewUser(call.client, name));
  if (link.empty()) {
    return absl::FailedPreconditionError(
        "this coordinator serves no web page: see web_listen in its configuration");
  }
  call.Print(UserJson(name, role, "", response.address(), link, response),
             absl::StrCat(Escape(link), "\n"));
  if (!call.json) {
    call.console().Say("Whoever opens it first, within a day, is signed in as that person.\n");
  }
  return kExitDone;
}

absl::StatusOr<int> AddUser(const VerbCall& call) {
  const std::string& name = call.options.operands()[0];
  RETURN_IF_ERROR(CheckUserName(name));
  const auto role = RoleFromWord(call.options.Value("--role"));
  if (!role.has_value()) {
    return absl::InvalidArgumentError("--role is needed: viewer, operator or admin");
  }
  UserBundle bundle;
  bundle.name = name;
  bundle.role = RoleWord(*role);
  if (call.options.Has("--address")) {
    ASSIGN_OR_RETURN(const Address address, ParseAddress(call.options.Value("--address")),
                     "--address");
    bundle.coordinator = address.text;
  }
  if (call.options.Has("--web")) return AddWebUser(call, name, *role);
  ASSIGN_OR_RETURN(const std::string path, BundlePath(call.options, name));
  absl::StatusOr<UserBundleFile> file = UserBundleFile::Create(path);
  if (absl::IsAlreadyExists(file.status())) {
    return absl::AlreadyExistsError(
        absl::StrCat(Escape(path), " exists; move it away, or say --output FILE"));
  }
  RETURN_IF_ERROR(file.status());
  ASSIGN_OR_RETURN(const KeyAndRequest key, call.around.new_key());
  v1::CreateUserRequest request;
  request.set_name(name);
  request.set_role(*role);
  request.set_certificate_request_pem(key.request_pem);
  ASSIGN_OR_RETURN(const v1::CreateUserResponse response, call.client.CreateUser(request));
  if (bundle.coordinator.empty()) bundle.coordinator = response.address();
  if (bundle.coordinator.empty()) bundle.coordinator = SharedAddress(call.client);
  if (response.has_expire_time()) bundle.expires = TimeWord(TimeOf(response.expire_time()));
  bundle.key_pem = key.key_pem;
  bundle.certificate_pem = response.certificate_pem();
  bundle.authority_pem = response.authority_pem();
  ASSIGN_OR_RETURN(const std::string text, FormatUserBundle(bundle));
  RETURN_IF_ERROR(file->Write(text));
  ASSIGN_OR_RETURN(const std::string link, LinkForNewUser(call.client, name),
                   "the file is written, but there is no link to the web page");
  call.Print(UserJson(name, *role, path, bundle.coordinator, link, response),
             absl::StrCat(Escape(path), "\n"));
  if (!call.json && !link.empty()) {
    call.console().Say(
        absl::StrCat("To sign in to the web page, once, within a day:\n  ", Escape(link), "\n"));
  }
  if (!call.json && !call.options.Has("--install")) {
    call.console().Say(absl::StrCat("Give this file to ", name,
                                    " over a safe way, to be kept as ~/.config/onefold/user.pem "
                                    "(chmod 600).\nWhoever has it is ",
                                    bundle.role, " until ", bundle.expires, ".\n"));
  }
  if (!call.json && bundle.coordinator.empty()) {
    call.console().Say(
        "It does not say where the coordinator is: set public_address there, or say --address.\n");
  }
  return kExitDone;
}

absl::StatusOr<int> ListUsers(const VerbCall& call) {
  ASSIGN_OR_RETURN(const v1::ListUsersResponse response, call.client.ListUsers({}));
  const std::vector<v1::User> users(response.users().begin(), response.users().end());
  Table table({"NAME", "ROLE", "CERTIFICATE ENDS"}, call.CellColumnsMax());
  for (const v1::User& user : users) {
    table.AddRow(
        {user.name(), RoleWord(user.role()), TimeWord(TimeOf(user.certificate_expire_time()))});
  }
  call.Print(UsersJson(users),
             users.empty() ? "Nobody has a certificate: onefold fleet user add NAME --role ROLE\n"
                           : table.Text());
  return kExitDone;
}

absl::StatusOr<v1::User> FindUser(AdminClient& client, const std::string& name) {
  ASSIGN_OR_RETURN(const v1::ListUsersResponse response, client.ListUsers({}));
  for (const v1::User& user : response.users()) {
    if (user.name() == name) return user;
  }
  return absl::NotFoundError(absl::StrCat("there is nobody called '", Escape(name),
                                          "'; `onefold fleet user list` shows them"));
}

absl::StatusOr<int> RemoveUser(const VerbCall& call) {
  const std::string& name = call.options.operands()[0];
  const bool dry_run = call.options.Has("--dry-run");
  if (dry_run || !call.options.Has("--yes")) {
    ASSIGN_OR_RETURN(const v1::User user, FindUser(call.client, name));
    call.Print(RemovedUserJson(user, false),
               absl::StrCat("The certificate of ", Escape(name), " (", RoleWord(user.role()),
                            ") would be revoked.\n"));
    if (!dry_run) call.console().Say("onefold: nothing was changed; --yes does it\n");
    return dry_run ? kExitDone : kExitRefused;
  }
  v1::RemoveUserRequest request;
  request.set_name(name);
  ASSIGN_OR_RETURN(const v1::RemoveUserResponse response, call.client.RemoveUser(request));
  call.Print(RemovedUserJson(response.user(), true),
             absl::StrCat(Escape(name), " is removed, and the certificate revoked.\n"));
  return kExitDone;
}

}  // namespace

const Verb& AddUserVerb() {
  static const Verb* const verb = new Verb{"onefold fleet user add",
                                           kAddHelp,
                                           {{"--role", true},
                                            {"--output", true},
                                            {"--install", false},
                                            {"--web", false},
                                            {"--address", true}},
                                           1,
                                           1,
                                           &AddUser};
  return *verb;
}

const Verb& ListUsersVerb() {
  static const Verb* const verb =
      new Verb{"onefold fleet user list", kListHelp, {}, 0, 0, &ListUsers};
  return *verb;
}

const Verb& RemoveUserVerb() {
  static const Verb* const verb = new Verb{"onefold fleet user remove",
                                           kRemoveHelp,
                                           {{"--yes", false}, {"--dry-run", false}},
                                           1,
                                           1,
                                           &RemoveUser};
  return *verb;
}

}  // namespace onefold
