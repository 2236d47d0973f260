#include "cli/fleet/sign_in_commands.h"

#include "absl/strings/str_cat.h"
#include "cli/fleet/admin_json.h"
#include "cli/fleet/admin_words.h"
#include "cli/run_summary.h"
#include "common/escape.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr char kLinkHelp[] = R"(Usage:  onefold fleet user link NAME [OPTIONS]

Prints a link with which NAME, whom `fleet user add` made, signs in to the web page: once, within a
day. The browser is then signed in for 30 days, or until NAME is removed or added anew.
)";

absl::StatusOr<int> MakeLink(const VerbCall& call) {
  v1::CreateSignInRequest request;
  request.set_name(call.options.operands()[0]);
  ASSIGN_OR_RETURN(const v1::CreateSignInResponse response, call.client.CreateSignIn(request));
  if (response.page_address().empty()) {
    return absl::FailedPreconditionError(
        "this coordinator serves no web page: see web_listen in its configuration");
  }
  const std::string link = SignInLink(response);
  call.Print(SignInJson(request.name(), link, response), absl::StrCat(link, "\n"));
  if (!call.json && response.has_expire_time()) {
    call.console().Say(
        absl::StrCat("It is good once, until ", TimeWord(TimeOf(response.expire_time())), ".\n"));
  }
  return kExitDone;
}

}  // namespace

std::string SignInLink(const v1::CreateSignInResponse& sign_in) {
  return absl::StrCat(sign_in.page_address(), "/#/sign-in/", sign_in.token());
}

absl::StatusOr<std::string> LinkForNewUser(AdminClient& client, absl::string_view name) {
  v1::CreateSignInRequest request;
  request.set_name(std::string(name));
  const absl::StatusOr<v1::CreateSignInResponse> response = client.CreateSignIn(request);
  if (absl::IsUnimplemented(response.status())) return std::string();
  RETURN_IF_ERROR(response.status());
  return response->page_address().empty() ? std::string() : SignInLink(*response);
}

const Verb& SignInLinkVerb() {
  static const Verb* const verb =
      new Verb{"onefold fleet user link", kLinkHelp, {}, 1, 1, &MakeLink};
  return *verb;
}

}  // namespace onefold
