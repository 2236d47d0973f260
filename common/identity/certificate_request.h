// CertificateRequest: a public key and the proof that the sender has the private one (PKCS#10).

#ifndef ONEFOLD_COMMON_IDENTITY_CERTIFICATE_REQUEST_H_
#define ONEFOLD_COMMON_IDENTITY_CERTIFICATE_REQUEST_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/identity/private_key.h"

struct X509_req_st;  // OpenSSL's X509_REQ

namespace onefold::identity {

// PEM. Holds the key and nothing else: who the certificate speaks for is the authority's to say.
absl::StatusOr<std::string> MakeCertificateRequest(const PrivateKey& key);

// A value; copies share what was read.
class CertificateRequest {
 public:
  // Names and extensions in it are not looked at.
  //
  // INVALID_ARGUMENT: malformed, longer than kPemBytesMax, not on P-256, or not signed by its key.
  static absl::StatusOr<CertificateRequest> FromPem(absl::string_view pem);

  // See PrivateKey::Fingerprint.
  const std::string& key_fingerprint() const { return key_fingerprint_; }

  X509_req_st* get() const { return request_.get(); }

 private:
  CertificateRequest(std::shared_ptr<X509_req_st> request, std::string key_fingerprint)
      : request_(std::move(request)), key_fingerprint_(std::move(key_fingerprint)) {}

  std::shared_ptr<X509_req_st> request_;
  std::string key_fingerprint_;
};

}  // namespace onefold::identity

#endif  // ONEFOLD_COMMON_IDENTITY_CERTIFICATE_REQUEST_H_
