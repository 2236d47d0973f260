#include "cli/fleet/grpc_channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/grpc_credentials.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

// A page of 1000 hosts with their volumes, or of runs with their problems.
constexpr int kResponseBytesMax = 64 * 1024 * 1024;

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> NewCoordinatorChannel(const Connection& connection,
                                                                     bool insecure) {
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  if (connection.identity.has_value()) {
    const UserBundle& identity = *connection.identity;
    credentials = PersonChannelCredentials(identity.key_pem, identity.certificate_pem,
                                           identity.authority_pem);
  } else {
    ASSIGN_OR_RETURN(credentials, PlainChannelCredentials(connection.address.text, insecure));
  }
  grpc::ChannelArguments arguments = FleetChannelArguments();
  arguments.SetMaxReceiveMessageSize(kResponseBytesMax);
  // A coordinator is reached directly: proxies of the environment are for the web.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(connection.address.target, credentials, arguments);
}

absl::Status ClarifyCallStatus(const absl::Status& status, bool plain_text) {
  absl::string_view message = status.message();
  // A coordinator that is being stopped cancels what is under way; nobody here does.
  if (absl::IsCancelled(status)) return absl::UnavailableError("it is being stopped");
  if (!absl::IsUnavailable(status)) return status;
  const size_t reason = message.rfind("last error: ");
  if (reason != absl::string_view::npos) message = message.substr(reason);
  absl::ConsumePrefix(&message, "last error: ");
  absl::ConsumePrefix(&message, "UNKNOWN: ");
  absl::ConsumePrefix(&message, "UNAVAILABLE: ");
  if (absl::StrContains(message, "certificate") || absl::StrContains(message, "CERTIFICATE")) {
    return absl::UnauthenticatedError(message);
  }
  const bool hung_up = absl::StrContains(message, "Socket closed") ||
                       absl::StrContains(message, "recvmsg") ||
                       absl::StrContains(message, "Broken pipe");
  if (plain_text && hung_up) {
    return absl::UnavailableError(
        absl::StrCat(message, "; if it wants TLS, a certificate is needed (--identity FILE)"));
  }
  if (!plain_text && absl::StrContains(message, "WRONG_VERSION_NUMBER")) {
    return absl::UnavailableError("it speaks no TLS (--insecure speaks plain text)");
  }
  return absl::UnavailableError(message);
}

}  // namespace onefold
