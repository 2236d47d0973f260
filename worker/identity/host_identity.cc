#include "worker/identity/host_identity.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/identity/certificate.h"
#include "common/identity/private_file.h"
#include "common/identity/signing.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

using identity::Certificate;
using identity::ParseCertificates;
using identity::PrivateKey;

std::string JoiningFile(const std::string& directory) { return directory + "/joining.pem"; }

absl::StatusOr<HostIdentity> Check(const PrivateKey& key, const Certificate& certificate,
                                   const std::vector<Certificate>& authorities) {
  absl::string_view id = certificate.common_name();
  if (!absl::ConsumePrefix(&id, identity::kHostPrefix) || id.empty()) {
    return absl::FailedPreconditionError("the certificate is not that of a host");
  }
  if (certificate.key_fingerprint() != key.Fingerprint()) {
    return absl::FailedPreconditionError("key and certificate do not belong together");
  }
  const bool is_signed =
      std::any_of(authorities.begin(), authorities.end(),
                  [&](const Certificate& authority) { return certificate.IsSignedBy(authority); });
  if (!is_signed) {
    return absl::FailedPreconditionError("the certificate is of none of the fleet's authorities");
  }
  return HostIdentity{.host_id = std::string(id),
                      .not_before = certificate.not_before(),
                      .not_after = certificate.not_after()};
}

// What is malformed on this machine is for somebody here to repair.
template <typename T>
absl::StatusOr<T> Local(absl::StatusOr<T> value, const std::string& path) {
  if (value.ok()) return value;
  return absl::FailedPreconditionError(absl::StrCat(path, ": ", value.status().message()));
}

absl::StatusOr<std::string> Read(const std::string& path) {
  ASSIGN_OR_RETURN(std::optional<std::string> text, identity::ReadPrivateFile(path));
  if (!text.has_value()) return absl::NotFoundError(absl::StrCat(path, " is absent"));
  return *std::move(text);
}

}  // namespace

std::string IdentityFile(const std::string& directory) { return directory + "/identity.pem"; }
std::string TrustedFile(const std::string& directory) { return directory + "/trusted.pem"; }

absl::StatusOr<HostIdentity> LoadHostIdentity(const std::string& directory) {
  const std::string identity_file = IdentityFile(directory);
  const std::string trusted_file = TrustedFile(directory);
  ASSIGN_OR_RETURN(const std::string pem, Read(identity_file));
  ASSIGN_OR_RETURN(const std::string trusted_pem, Read(trusted_file));
  ASSIGN_OR_RETURN(
      const PrivateKey key,
      Local(PrivateKey::FromPem(pem.substr(0, identity::kPemBytesMax)), identity_file));
  ASSIGN_OR_RETURN(const Certificate certificate, Local(Certificate::FromPem(pem), identity_file));
  ASSIGN_OR_RETURN(const std::vector<Certificate> authorities,
                   Local(ParseCertificates(trusted_pem), trusted_file));
  return Check(key, certificate, authorities);
}

absl::Status SaveHostIdentity(const std::string& directory, const PrivateKey& key,
                              const HostCertificate& certificate) {
  ASSIGN_OR_RETURN(const Certificate read,
                   Local(Certificate::FromPem(certificate.certificate_pem), "certificate"));
  ASSIGN_OR_RETURN(const std::vector<Certificate> authorities,
                   Local(ParseCertificates(certificate.authority_pem), "authorities"));
  RETURN_IF_ERROR(Check(key, read, authorities).status());
  RETURN_IF_ERROR(identity::MakePrivateDirectory(directory));
  // Whom to trust first: the authorities of the old certificate are among the new ones.
  RETURN_IF_ERROR(identity::WritePrivateFile(TrustedFile(directory), identity::ToPem(authorities)));
  return identity::WritePrivateFile(IdentityFile(directory),
                                    absl::StrCat(key.ToPem(), read.ToPem()));
}

absl::StatusOr<PrivateKey> KeyForJoining(const std::string& directory) {
  RETURN_IF_ERROR(identity::MakePrivateDirectory(directory));
  const std::string path = JoiningFile(directory);
  ASSIGN_OR_RETURN(const std::optional<std::string> pem, identity::ReadPrivateFile(path));
  if (pem.has_value()) {
    absl::StatusOr<PrivateKey> key = PrivateKey::FromPem(*pem);
    if (key.ok()) return key;  // else it is torn: make another one
  }
  ASSIGN_OR_RETURN(PrivateKey key, PrivateKey::Generate());
  RETURN_IF_ERROR(identity::WritePrivateFile(path, key.ToPem()));
  return key;
}

bool IsJoining(const std::string& directory) {
  return access(JoiningFile(directory).c_str(), F_OK) == 0;
}

absl::Status ForgetKeyForJoining(const std::string& directory) {
  const std::string path = JoiningFile(directory);
  if (unlink(path.c_str()) < 0 && errno != ENOENT) return absl::ErrnoToStatus(errno, path);
  return absl::OkStatus();
}

}  // namespace onefold
