#include "common/identity/certificate.h"

#include <arpa/inet.h>
#include <openssl/pem.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "common/check.h"
#include "common/identity/openssl.h"
#include "common/identity/private_key.h"
#include "common/identity/random.h"
#include "common/status_macros.h"

namespace onefold::identity {
namespace {

constexpr size_t kNameBytesMax = 256;
constexpr int kSubjectNamesMax = 64;
constexpr int kSerialBytesMax = 20;  // RFC 5280

bool IsPrintable(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isprint(c); });
}

// The one entry of `kind` in the subject; empty if there is none, several, or an odd one.
std::string SubjectEntry(const X509* certificate, int kind) {
  const X509_NAME* name = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(name, kind, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(name, kind, at) >= 0) return "";
  const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
  const int type = ASN1_STRING_type(value);
  if (type != V_ASN1_UTF8STRING && type != V_ASN1_PRINTABLESTRING) return "";
  const absl::string_view text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                               static_cast<size_t>(ASN1_STRING_length(value)));
  if (text.size() > kNameBytesMax || !IsPrintable(text)) return "";
  return std::string(text);
}

absl::StatusOr<absl::Time> ToTime(const ASN1_TIME* time) {
  std::tm broken_down = {};
  if (time == nullptr || ASN1_TIME_to_tm(time, &broken_down) != 1) {
    return MalformedError("the certificate has an unreadable date");
  }
  return absl::FromTM(broken_down, absl::UTCTimeZone());
}

std::vector<std::string> SubjectNames(const X509* certificate) {
  std::vector<std::string> names;
  GENERAL_NAMES* const all = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  const int count = std::min(sk_GENERAL_NAME_num(all), kSubjectNamesMax);
  for (int i = 0; i < count; ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all, i);
    const ASN1_STRING* value = nullptr;
    if (name->type == GEN_DNS) value = name->d.dNSName;
    if (name->type == GEN_IPADD) value = name->d.iPAddress;
    if (value == nullptr) continue;
    const unsigned char* const data = ASN1_STRING_get0_data(value);
    const int size = ASN1_STRING_length(value);
    if (name->type == GEN_DNS) {
      const absl::string_view text(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
      if (text.size() <= kNameBytesMax && IsPrintable(text)) names.emplace_back(text);
      continue;
    }
    char text[INET6_ADDRSTRLEN] = "";
    if (size == 4 || size == 16) {
      inet_ntop(size == 4 ? AF_INET : AF_INET6, data, text, sizeof(text));
      names.emplace_back(text);
    }
  }
  GENERAL_NAMES_free(all);
  return names;
}

absl::StatusOr<std::string> Serial(const X509* certificate) {
  const ASN1_INTEGER* serial = X509_get0_serialNumber(certificate);
  const int size = ASN1_STRING_length(serial);
  if (size < 1 || size > kSerialBytesMax || ASN1_STRING_type(serial) != V_ASN1_INTEGER) {
    return absl::InvalidArgumentError("the certificate's serial number is out of bounds");
  }
  return absl::BytesToHexString(
      {reinterpret_cast<const char*>(ASN1_STRING_get0_data(serial)), static_cast<size_t>(size)});
}

}  // namespace

absl::StatusOr<Certificate::Fields> Certificate::Read(x509_st* certificate) {
  Fields fields;
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int digest_size = 0;
  EVP_PKEY* const key = X509_get0_pubkey(certificate);
  if (key == nullptr || X509_digest(certificate, EVP_sha256(), digest, &digest_size) != 1) {
    return MalformedError("the certificate's key is unreadable");
  }
  fields.fingerprint.assign(reinterpret_cast<const char*>(digest), digest_size);
  fields.key_fingerprint = KeyFingerprint(key);
  fields.common_name = SubjectEntry(certificate, NID_commonName);
  fields.organizational_unit = SubjectEntry(certificate, NID_organizationalUnitName);
  ASSIGN_OR_RETURN(fields.serial, Serial(certificate));
  ASSIGN_OR_RETURN(fields.not_before, ToTime(X509_get0_notBefore(certificate)));
  ASSIGN_OR_RETURN(fields.not_after, ToTime(X509_get0_notAfter(certificate)));
  fields.is_authority = X509_check_ca(certificate) == 1;
  fields.subject_names = SubjectNames(certificate);
  ERR_clear_error();  // absent extensions leave errors behind
  return fields;
}

absl::StatusOr<Certificate> Certificate::Adopt(x509_st* certificate) {
  std::shared_ptr<X509> owned(certificate, X509_free);
  ASSIGN_OR_RETURN(Fields fields, Read(certificate));
  return Certificate(std::move(owned), std::make_shared<const Fields>(std::move(fields)));
}

absl::StatusOr<Certificate> Certificate::FromPem(absl::string_view pem) {
  if (pem.size() > kCertificatesPemBytesMax) {
    return absl::InvalidArgumentError("the certificate is too long");
  }
  const BioOwner bio = ReadingBio(pem);
  X509* const certificate = PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr);
  if (certificate == nullptr) return MalformedError("no readable certificate");
  return Adopt(certificate);
}

std::string Certificate::ToPem() const {
  const BioOwner bio(BIO_new(BIO_s_mem()));
  CHECK(PEM_write_bio_X509(bio.get(), certificate_.get()) == 1);
  return BioText(bio.get());
}

bool Certificate::IsSignedBy(const Certificate& authority) const {
  const bool is_signed = X509_check_issued(authority.get(), get()) == X509_V_OK &&
                         X509_verify(get(), X509_get0_pubkey(authority.get())) == 1;
  ERR_clear_error();
  return is_signed;
}

absl::StatusOr<std::vector<Certificate>> ParseCertificates(absl::string_view pem) {
  if (pem.size() > kCertificatesPemBytesMax) {
    return absl::InvalidArgumentError("the certificates are too long");
  }
  const BioOwner bio = ReadingBio(pem);
  std::vector<Certificate> certificates;
  while (X509* const next = PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)) {
    ASSIGN_OR_RETURN(Certificate certificate, Certificate::Adopt(next));
    certificates.push_back(std::move(certificate));
    if (certificates.size() > kCertificatesMax) {
      return absl::InvalidArgumentError("too many certificates");
    }
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!at_end) return MalformedError("a certificate is malformed");
  ERR_clear_error();
  if (certificates.empty()) return absl::InvalidArgumentError("no certificate");
  return certificates;
}

std::string ToPem(const std::vector<Certificate>& certificates) {
  std::string pem;
  for (const Certificate& certificate : certificates) pem += certificate.ToPem();
  return pem;
}

}  // namespace onefold::identity
