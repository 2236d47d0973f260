// Credentials of the fleet's connections: mutual TLS within the fleet, plain text only where no
// network lies between.
//
// Keys and certificates come from files that are watched: a renewed one is used for the next
// connection, without a restart. A key and its certificates lie in one file, so that nobody ever
// sees one without the other.

#ifndef ONEFOLD_COMMON_GRPC_CREDENTIALS_H_
#define ONEFOLD_COMMON_GRPC_CREDENTIALS_H_

#include <grpcpp/channel.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold {

struct TlsFiles {
  std::string identity_file;  // PEM: private key, certificate, and the chain behind it; private
  std::string trusted_file;   // PEM: certificates of the fleet's authorities
  unsigned int reload_seconds = 30;  // how often the files are looked at; at least 1
};

// For the coordinator's port. A client may come without a certificate, to join; one that it shows
// must be of the fleet and in its time. `door` decides about every call before its handler runs.
//
// FAILED_PRECONDITION: the files are not readable, or no key and certificate that belong together.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> FleetServerCredentials(
    const TlsFiles& files, std::shared_ptr<grpc::AuthMetadataProcessor> door);

// For a port without TLS. PERMISSION_DENIED: `address` is neither a Unix socket nor loopback (see
// PlainTextAllowed) and `insecure` is not given.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> PlainServerCredentials(
    absl::string_view address, bool insecure);

// How a client reaches a coordinator. Of a host, from files that are watched:
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> FleetChannelCredentials(
    const TlsFiles& files);
// Of a person, from texts in memory, for a command that ends soon.
std::shared_ptr<grpc::ChannelCredentials> PersonChannelCredentials(
    const std::string& key_pem, const std::string& certificate_pem,
    const std::string& authority_pem);
// Of a host that is about to join: no certificate of its own, and the authority in memory.
std::shared_ptr<grpc::ChannelCredentials> JoiningChannelCredentials(
    const std::string& authority_pem);
// As PlainServerCredentials.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> PlainChannelCredentials(
    absl::string_view address, bool insecure);

// Arguments every channel to a coordinator has: with TLS it must prove to be the fleet's
// coordinator, by identity::kServerName, whatever address was dialled; keepalive that a NAT between
// does not forget.
grpc::ChannelArguments FleetChannelArguments();

}  // namespace onefold

#endif  // ONEFOLD_COMMON_GRPC_CREDENTIALS_H_
