#include "common/grpc_credentials.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/escape.h"
#include "common/identity/certificate.h"
#include "common/identity/network_address.h"
#include "common/identity/private_file.h"
#include "common/identity/private_key.h"
#include "common/identity/signing.h"
#include "common/network_limits.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

int Milliseconds(absl::Duration span) { return static_cast<int>(absl::ToInt64Milliseconds(span)); }

absl::StatusOr<std::string> Read(const std::string& path) {
  ASSIGN_OR_RETURN(std::optional<std::string> contents, identity::ReadPrivateFile(path));
  if (!contents.has_value()) return absl::NotFoundError(absl::StrCat(path, " is absent"));
  return *std::move(contents);
}

// gRPC would only log what is wrong, and fail every handshake.
absl::Status CheckFiles(const TlsFiles& files) {
  ASSIGN_OR_RETURN(const std::string identity_pem, Read(files.identity_file));
  ASSIGN_OR_RETURN(const auto key,
                   identity::PrivateKey::FromPem(identity_pem.substr(0, identity::kPemBytesMax)),
                   files.identity_file);
  ASSIGN_OR_RETURN(const auto chain, identity::ParseCertificates(identity_pem),
                   files.identity_file);
  if (chain.front().key_fingerprint() != key.Fingerprint()) {
    return absl::FailedPreconditionError(
        absl::StrCat(files.identity_file, ": key and certificate do not belong together"));
  }
  ASSIGN_OR_RETURN(const std::string trusted_pem, Read(files.trusted_file));
  return identity::ParseCertificates(trusted_pem).status();
}

absl::Status CheckUsable(const TlsFiles& files) {
  const absl::Status status = CheckFiles(files);
  if (status.ok()) return status;
  return absl::FailedPreconditionError(status.message());
}

std::shared_ptr<grpc::experimental::CertificateProviderInterface> Watch(const TlsFiles& files) {
  return std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.identity_file, files.identity_file, files.trusted_file, files.reload_seconds);
}

absl::Status CheckPlainText(absl::string_view address, bool insecure) {
  if (insecure || PlainTextAllowed(address)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("without TLS only a Unix socket or a loopback address is used, and ",
                   Escape(address), " is neither"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> FleetServerCredentials(
    const TlsFiles& files, std::shared_ptr<grpc::AuthMetadataProcessor> door) {
  RETURN_IF_ERROR(CheckUsable(files));
  grpc::experimental::TlsServerCredentialsOptions options(Watch(files));
  options.watch_identity_key_cert_pairs();
  options.watch_root_certs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  std::shared_ptr<grpc::ServerCredentials> credentials =
      grpc::experimental::TlsServerCredentials(options);
  credentials->SetAuthMetadataProcessor(std::move(door));
  return credentials;
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> PlainServerCredentials(
    absl::string_view address, bool insecure) {
  RETURN_IF_ERROR(CheckPlainText(address, insecure));
  return grpc::InsecureServerCredentials();
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> FleetChannelCredentials(
    const TlsFiles& files) {
  RETURN_IF_ERROR(CheckUsable(files));
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(Watch(files));
  options.watch_identity_key_cert_pairs();
  options.watch_root_certs();
  return grpc::experimental::TlsCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> PersonChannelCredentials(
    const std::string& key_pem, const std::string& certificate_pem,
    const std::string& authority_pem) {
  using grpc::experimental::IdentityKeyCertPair;
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
          authority_pem, std::vector<IdentityKeyCertPair>{
                             {.private_key = key_pem, .certificate_chain = certificate_pem}}));
  options.watch_identity_key_cert_pairs();
  options.watch_root_certs();
  return grpc::experimental::TlsCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> JoiningChannelCredentials(
    const std::string& authority_pem) {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<grpc::experimental::StaticDataCertificateProvider>(authority_pem));
  options.watch_root_certs();
  return grpc::experimental::TlsCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> PlainChannelCredentials(
    absl::string_view address, bool insecure) {
  RETURN_IF_ERROR(CheckPlainText(address, insecure));
  return grpc::InsecureChannelCredentials();
}

grpc::ChannelArguments FleetChannelArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride(identity::kServerName);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(kKeepaliveInterval));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kKeepaliveTimeout));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  return arguments;
}

}  // namespace onefold
