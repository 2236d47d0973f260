// Certificate: an X.509 certificate, read.

#ifndef ONEFOLD_COMMON_IDENTITY_CERTIFICATE_H_
#define ONEFOLD_COMMON_IDENTITY_CERTIFICATE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

struct x509_st;  // OpenSSL's X509

namespace onefold::identity {

// Certificates in one PEM text: a fleet has one authority, two or three while they change.
inline constexpr int kCertificatesMax = 16;
inline constexpr size_t kCertificatesPemBytesMax = 64 * 1024;

// A value; copies share what was read. Thread-safe, as it never changes.
//
// Nothing in it is believed because it is there: who checks the signature (the TLS library, or
// IsSignedBy) says so.
class Certificate {
 public:
  // The first certificate in `pem`, which may hold other things beside it.
  // INVALID_ARGUMENT: none, or malformed.
  static absl::StatusOr<Certificate> FromPem(absl::string_view pem);
  // Takes over a reference to `certificate`.
  static absl::StatusOr<Certificate> Adopt(x509_st* certificate);

  std::string ToPem() const;

  // SHA-256 of the whole certificate: 32 raw bytes.
  const std::string& fingerprint() const { return fields_->fingerprint; }
  // SHA-256 of its public key; see PrivateKey::Fingerprint.
  const std::string& key_fingerprint() const { return fields_->key_fingerprint; }
  // "host:…", "user:…"; the name of an authority. Empty unless there is exactly one, of at most 256
  // printable ASCII characters.
  const std::string& common_name() const { return fields_->common_name; }
  // A person's role. As common_name.
  const std::string& organizational_unit() const { return fields_->organizational_unit; }
  // Lower-case hexadecimal.
  const std::string& serial() const { return fields_->serial; }
  absl::Time not_before() const { return fields_->not_before; }
  absl::Time not_after() const { return fields_->not_after; }
  // It may sign certificates.
  bool is_authority() const { return fields_->is_authority; }
  // DNS names and addresses of the subject, in text.
  const std::vector<std::string>& subject_names() const { return fields_->subject_names; }

  // Whether `authority` signed this one. Says nothing about time.
  bool IsSignedBy(const Certificate& authority) const;

  x509_st* get() const { return certificate_.get(); }

 private:
  struct Fields {
    std::string fingerprint;
    std::string key_fingerprint;
    std::string common_name;
    std::string organizational_unit;
    std::string serial;
    absl::Time not_before;
    absl::Time not_after;
    bool is_authority = false;
    std::vector<std::string> subject_names;
  };
  static absl::StatusOr<Fields> Read(x509_st* certificate);

  Certificate(std::shared_ptr<x509_st> certificate, std::shared_ptr<const Fields> fields)
      : certificate_(std::move(certificate)), fields_(std::move(fields)) {}

  std::shared_ptr<x509_st> certificate_;
  std::shared_ptr<const Fields> fields_;
};

// All certificates in `pem`, in order, at least one.
//
// INVALID_ARGUMENT: none, too many (kCertificatesMax), too long, or one is malformed.
absl::StatusOr<std::vector<Certificate>> ParseCertificates(absl::string_view pem);

std::string ToPem(const std::vector<Certificate>& certificates);

}  // namespace onefold::identity

#endif  // ONEFOLD_COMMON_IDENTITY_CERTIFICATE_H_
