#include "coordinator/identity/authority.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/identity/private_file.h"
#include "common/identity/random.h"
#include "common/status_macros.h"

namespace onefold::identity {
namespace {

// Two changes within the life of a certificate are plenty; more would only be a longer handshake.
constexpr size_t kEarlierMax = 3;
constexpr size_t kNameTailBytes = 4;
constexpr absl::Duration kTrustSlack = absl::Hours(48);

std::vector<std::string> WithLoopback(std::vector<std::string> names) {
  for (const char* name : {"localhost", "127.0.0.1", "::1"}) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  }
  return names;
}

// Each authority has a name of its own: chains are found by names.
absl::StatusOr<KeyAndCertificate> NewAuthority(absl::Time now) {
  const std::string tail = RandomBytes(kNameTailBytes);
  return MakeAuthority(absl::StrCat("onefold fleet ", absl::BytesToHexString(tail)),
                       Authority::kAuthorityLifetime, now);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Authority>> Authority::Open(const std::string& directory,
                                                           std::vector<std::string> server_names,
                                                           absl::Time now) {
  RETURN_IF_ERROR(MakePrivateDirectory(directory));
  server_names = WithLoopback(std::move(server_names));
  const std::string path = directory + "/authority.pem";
  ASSIGN_OR_RETURN(const std::optional<std::string> pem, ReadPrivateFile(path));
  std::unique_ptr<Authority> authority;
  if (pem.has_value()) {
    ASSIGN_OR_RETURN(authority, Read(directory, std::move(server_names), *pem), path);
  } else {
    ASSIGN_OR_RETURN(const auto trusted, ReadPrivateFile(directory + "/trusted.pem"));
    if (trusted.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " is gone, and hosts trust it: restore it from a backup; or remove ",
                       directory, " to begin anew, then every host and person must join again"));
    }
    ASSIGN_OR_RETURN(KeyAndCertificate made, NewAuthority(now));
    authority.reset(new Authority(directory, std::move(server_names), std::move(made)));
    RETURN_IF_ERROR(authority->WriteAuthority());
  }
  RETURN_IF_ERROR(authority->WriteTrusted());
  RETURN_IF_ERROR(authority->Maintain(now));
  return authority;
}

absl::StatusOr<std::unique_ptr<Authority>> Authority::Read(const std::string& directory,
                                                           std::vector<std::string> server_names,
                                                           const std::string& pem) {
  // A key may stand only at the beginning, so that whatever follows is far below the key's bound.
  ASSIGN_OR_RETURN(PrivateKey key, PrivateKey::FromPem(pem.substr(0, kPemBytesMax)));
  ASSIGN_OR_RETURN(const std::vector<Certificate> all, ParseCertificates(pem));
  const Certificate& first = all.front();
  if (!first.is_authority() || first.key_fingerprint() != key.Fingerprint()) {
    return absl::InvalidArgumentError("the first certificate is not that of the key");
  }
  std::unique_ptr<Authority> authority(
      new Authority(directory, std::move(server_names), {std::move(key), first}));
  for (size_t i = 1; i < all.size(); ++i) {
    const bool signs_itself = all[i].IsSignedBy(all[i]);
    (signs_itself ? authority->earlier_ : authority->bridges_).push_back(all[i]);
  }
  return authority;
}

absl::Status Authority::Maintain(absl::Time now) {
  if (current_.certificate.not_after() - now < kAuthorityRenewal) {
    RETURN_IF_ERROR(Rotate(/*distrust=*/false, now));
  }
  RETURN_IF_ERROR(DropEarlier(now));
  ASSIGN_OR_RETURN(const bool is_good, IsServerCertificateGood(now));
  return is_good ? absl::OkStatus() : RenewServerCertificate(now);
}

absl::Status Authority::Rotate(bool distrust, absl::Time now) {
  ASSIGN_OR_RETURN(KeyAndCertificate next, NewAuthority(now));
  Authority changed(directory_, server_names_, std::move(next));
  if (!distrust) {
    changed.earlier_ = earlier_;
    changed.earlier_.insert(changed.earlier_.begin(), current_.certificate);
    if (changed.earlier_.size() > kEarlierMax) {
      return absl::FailedPreconditionError(
          "the authority was changed several times lately, and hosts may know only the first of "
          "them: wait until they have renewed their certificates");
    }
    ASSIGN_OR_RETURN(Certificate bridge, CrossSign(current_, changed.current_.certificate, now));
    // Who knows an even older one goes over the older bridges.
    changed.bridges_ = bridges_;
    changed.bridges_.insert(changed.bridges_.begin(), std::move(bridge));
  }
  RETURN_IF_ERROR(changed.WriteAuthority());
  current_ = std::move(changed.current_);
  earlier_ = std::move(changed.earlier_);
  bridges_ = std::move(changed.bridges_);
  RETURN_IF_ERROR(WriteTrusted());
  return RenewServerCertificate(now);
}

absl::Status Authority::DropEarlier(absl::Time now) {
  // It has signed nothing since the current one began, a day after its not_before at the latest.
  const absl::Time over = current_.certificate.not_before() + kClientLifetime + kTrustSlack;
  if (earlier_.empty() || now < over) return absl::OkStatus();
  std::vector<Certificate> earlier;
  std::vector<Certificate> bridges;
  earlier.swap(earlier_);
  bridges.swap(bridges_);
  if (const absl::Status status = WriteAuthority(); !status.ok()) {
    earlier.swap(earlier_);
    bridges.swap(bridges_);
    return status;
  }
  RETURN_IF_ERROR(WriteTrusted());
  return RenewServerCertificate(now);
}

absl::StatusOr<Certificate> Authority::SignHost(const CertificateRequest& request,
                                                absl::string_view host_id, absl::Time now) const {
  return identity::SignHost(current_, request, host_id, kClientLifetime, now);
}

absl::StatusOr<Certificate> Authority::SignUser(const CertificateRequest& request,
                                                absl::string_view name, Role role,
                                                absl::Time now) const {
  return identity::SignUser(current_, request, name, ToString(role), kClientLifetime, now);
}

std::string Authority::TrustedPem() const {
  return absl::StrCat(current_.certificate.ToPem(), ToPem(earlier_));
}

absl::Status Authority::WriteAuthority() const {
  return WritePrivateFile(authority_file(),
                          absl::StrCat(current_.key.ToPem(), current_.certificate.ToPem(),
                                       ToPem(earlier_), ToPem(bridges_)));
}

absl::Status Authority::WriteTrusted() const {
  const std::string wanted = TrustedPem();
  ASSIGN_OR_RETURN(const std::optional<std::string> present, ReadPrivateFile(trusted_file()));
  return present == wanted ? absl::OkStatus() : WritePrivateFile(trusted_file(), wanted);
}

absl::StatusOr<bool> Authority::IsServerCertificateGood(absl::Time now) const {
  ASSIGN_OR_RETURN(const std::optional<std::string> pem, ReadPrivateFile(server_file()));
  if (!pem.has_value()) return false;
  const auto key = PrivateKey::FromPem(pem->substr(0, kPemBytesMax));
  const auto chain = ParseCertificates(*pem);
  if (!key.ok() || !chain.ok()) return false;  // it is made anew
  const Certificate& shown = chain->front();
  return shown.key_fingerprint() == key->Fingerprint() && shown.IsSignedBy(current_.certificate) &&
         shown.subject_names() == ServerNames(server_names_) &&
         chain->size() == 2 + bridges_.size() + earlier_.size() &&
         shown.not_after() - now >= kServerRenewal;
}

absl::Status Authority::RenewServerCertificate(absl::Time now) const {
  ASSIGN_OR_RETURN(const KeyAndCertificate server,
                   MakeServerCertificate(current_, server_names_, kServerLifetime, now));
  // Bridges stand before the authority itself: the first issuer that fits is taken. Earlier
  // authorities are for those who come with an older token and look for its fingerprint.
  return WritePrivateFile(
      server_file(), absl::StrCat(server.key.ToPem(), server.certificate.ToPem(), ToPem(bridges_),
                                  current_.certificate.ToPem(), ToPem(earlier_)));
}

}  // namespace onefold::identity
