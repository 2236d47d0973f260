#include "common/identity/signing.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/identity/openssl.h"
#include "common/identity/random.h"
#include "common/status_macros.h"

namespace onefold::identity {
namespace {

constexpr absl::Duration kBackdated = absl::Hours(24);
constexpr size_t kSerialBytes = 16;
constexpr size_t kDnsNameBytesMax = 253;
constexpr size_t kServerNamesMax = 60;  // certificates are read with at most 64
constexpr char kOrganization[] = "onefold";

struct Extension {
  int kind = 0;
  std::string value;  // as in openssl's x509v3_config(5)
};

// What a certificate is made of.
struct Draft {
  std::string common_name = {};
  std::string organizational_unit = {};  // empty: none
  EVP_PKEY* public_key = nullptr;
  absl::Time not_before;
  absl::Time not_after;
  std::vector<Extension> extensions;
};

bool SetTime(ASN1_TIME* to, absl::Time time) {
  return to != nullptr && ASN1_TIME_set(to, absl::ToTimeT(time)) != nullptr;
}

bool AddEntry(X509_NAME* name, const char* field, absl::string_view value) {
  // Of this type OpenSSL does not hold names to the 64 characters of an old table.
  return X509_NAME_add_entry_by_txt(name, field, V_ASN1_UTF8STRING,
                                    reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

bool SetSubject(X509* certificate, const Draft& draft) {
  X509_NAME* const name = X509_get_subject_name(certificate);
  return AddEntry(name, "O", kOrganization) &&
         (draft.organizational_unit.empty() || AddEntry(name, "OU", draft.organizational_unit)) &&
         AddEntry(name, "CN", draft.common_name);
}

bool SetSerial(X509* certificate) {
  std::string bytes = RandomBytes(kSerialBytes);
  bytes[0] = static_cast<char>((bytes[0] & 0x3f) | 0x40);  // positive, and of one length
  const BigNumberOwner number(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                                        static_cast<int>(bytes.size()), nullptr));
  return number != nullptr &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool AddExtensions(X509* certificate, X509* issuer, absl::Span<const Extension> extensions) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509V3_set_ctx_nodb(&context);
  for (const Extension& extension : extensions) {
    const ExtensionOwner made(
        X509V3_EXT_conf_nid(nullptr, &context, extension.kind, extension.value.c_str()));
    if (made == nullptr || X509_add_ext(certificate, made.get(), -1) != 1) return false;
  }
  return true;
}

// `issuer`: the signing certificate; nullptr: signs itself.
absl::StatusOr<Certificate> Sign(const Draft& draft, X509* issuer, EVP_PKEY* signing_key) {
  CertificateOwner certificate(X509_new());
  if (certificate == nullptr) return OpenSslFailure("making a certificate");
  X509* const made = certificate.get();
  if (issuer == nullptr) issuer = made;
  if (X509_set_version(made, X509_VERSION_3) != 1 || !SetSerial(made) || !SetSubject(made, draft) ||
      X509_set_issuer_name(made, X509_get_subject_name(issuer)) != 1 ||
      !SetTime(X509_getm_notBefore(made), draft.not_before) ||
      !SetTime(X509_getm_notAfter(made), draft.not_after) ||
      X509_set_pubkey(made, draft.public_key) != 1 ||
      !AddExtensions(made, issuer, draft.extensions) ||
      X509_sign(made, signing_key, EVP_sha256()) <= 0) {
    return OpenSslFailure("signing a certificate");
  }
  return Certificate::Adopt(certificate.release());
}

std::vector<Extension> AuthorityExtensions() {
  return {{NID_basic_constraints, "critical,CA:TRUE"},
          {NID_key_usage, "critical,keyCertSign,cRLSign"},
          {NID_subject_key_identifier, "hash"}};
}

// Neither may stand in for the other: a host's certificate never convinces as a server.
std::vector<Extension> LeafExtensions(const char* usage) {
  return {{NID_basic_constraints, "critical,CA:FALSE"},
          {NID_key_usage, "critical,digitalSignature"},
          {NID_ext_key_usage, usage},
          {NID_subject_key_identifier, "hash"},
          {NID_authority_key_identifier, "keyid"}};
}

// As inet_ntop(3) writes it; nullopt unless it is an address.
std::optional<std::string> CanonicalAddress(const std::string& text) {
  for (const int family : {AF_INET, AF_INET6}) {
    unsigned char bytes[sizeof(in6_addr)];
    char canonical[INET6_ADDRSTRLEN] = "";
    if (inet_pton(family, text.c_str(), bytes) == 1 &&
        inet_ntop(family, bytes, canonical, sizeof(canonical)) != nullptr) {
      return canonical;
    }
  }
  return std::nullopt;
}

// Strict, as the names become part of a list in text.
bool IsDnsName(absl::string_view text) {
  return !text.empty() && text.size() <= kDnsNameBytesMax &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_';
         });
}

std::string SubjectNamesText(const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    parts.push_back(absl::StrCat(CanonicalAddress(name) ? "IP:" : "DNS:", name));
  }
  return absl::StrJoin(parts, ",");
}

Draft LeafDraft(const KeyAndCertificate& authority, EVP_PKEY* key, const char* usage,
                absl::Duration lifetime, absl::Time now) {
  return {.public_key = key,
          .not_before = now - kBackdated,
          .not_after = std::min(now + lifetime, authority.certificate.not_after()),
          .extensions = LeafExtensions(usage)};
}

}  // namespace

std::vector<std::string> ServerNames(const std::vector<std::string>& names) {
  std::vector<std::string> all = {kServerName};
  for (const std::string& name : names) {
    const std::optional<std::string> address = CanonicalAddress(name);
    if (!address && !IsDnsName(name)) continue;
    std::string canonical = address.value_or(absl::AsciiStrToLower(name));
    if (all.size() < kServerNamesMax && std::find(all.begin(), all.end(), canonical) == all.end()) {
      all.push_back(std::move(canonical));
    }
  }
  return all;
}

absl::StatusOr<KeyAndCertificate> MakeAuthority(absl::string_view name, absl::Duration lifetime,
                                                absl::Time now) {
  ASSIGN_OR_RETURN(PrivateKey key, PrivateKey::Generate());
  const Draft draft = {.common_name = std::string(name),
                       .public_key = key.get(),
                       .not_before = now - kBackdated,
                       .not_after = now + lifetime,
                       .extensions = AuthorityExtensions()};
  ASSIGN_OR_RETURN(Certificate certificate, Sign(draft, nullptr, key.get()));
  return KeyAndCertificate{std::move(key), std::move(certificate)};
}

absl::StatusOr<Certificate> CrossSign(const KeyAndCertificate& authority, const Certificate& next,
                                      absl::Time now) {
  const Draft draft = {.common_name = next.common_name(),
                       .public_key = X509_get0_pubkey(next.get()),
                       .not_before = now - kBackdated,
                       .not_after = std::min(next.not_after(), authority.certificate.not_after()),
                       .extensions = AuthorityExtensions()};
  return Sign(draft, authority.certificate.get(), authority.key.get());
}

absl::StatusOr<KeyAndCertificate> MakeServerCertificate(const KeyAndCertificate& authority,
                                                        const std::vector<std::string>& names,
                                                        absl::Duration lifetime, absl::Time now) {
  ASSIGN_OR_RETURN(PrivateKey key, PrivateKey::Generate());
  Draft draft = LeafDraft(authority, key.get(), "serverAuth", lifetime, now);
  draft.common_name = kServerName;
  draft.extensions.push_back({NID_subject_alt_name, SubjectNamesText(ServerNames(names))});
  ASSIGN_OR_RETURN(Certificate certificate,
                   Sign(draft, authority.certificate.get(), authority.key.get()));
  return KeyAndCertificate{std::move(key), std::move(certificate)};
}

absl::StatusOr<Certificate> SignHost(const KeyAndCertificate& authority,
                                     const CertificateRequest& request, absl::string_view host_id,
                                     absl::Duration lifetime, absl::Time now) {
  Draft draft =
      LeafDraft(authority, X509_REQ_get0_pubkey(request.get()), "clientAuth", lifetime, now);
  draft.common_name = absl::StrCat(kHostPrefix, host_id);
  return Sign(draft, authority.certificate.get(), authority.key.get());
}

absl::StatusOr<Certificate> SignUser(const KeyAndCertificate& authority,
                                     const CertificateRequest& request, absl::string_view name,
                                     absl::string_view role, absl::Duration lifetime,
                                     absl::Time now) {
  Draft draft =
      LeafDraft(authority, X509_REQ_get0_pubkey(request.get()), "clientAuth", lifetime, now);
  draft.common_name = absl::StrCat(kUserPrefix, name);
  draft.organizational_unit = std::string(role);
  return Sign(draft, authority.certificate.get(), authority.key.get());
}

}  // namespace onefold::identity
