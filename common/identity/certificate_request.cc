#include "common/identity/certificate_request.h"

#include <openssl/pem.h>

#include "common/check.h"
#include "common/identity/openssl.h"
#include "common/status_macros.h"

namespace onefold::identity {

absl::StatusOr<std::string> MakeCertificateRequest(const PrivateKey& key) {
  const RequestOwner request(X509_REQ_new());
  if (request == nullptr || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      X509_REQ_sign(request.get(), key.get(), EVP_sha256()) <= 0) {
    return OpenSslFailure("making a certificate request");
  }
  const BioOwner bio(BIO_new(BIO_s_mem()));
  CHECK(PEM_write_bio_X509_REQ(bio.get(), request.get()) == 1);
  return BioText(bio.get());
}

absl::StatusOr<CertificateRequest> CertificateRequest::FromPem(absl::string_view pem) {
  if (pem.size() > kPemBytesMax) {
    return absl::InvalidArgumentError("the certificate request is too long");
  }
  const BioOwner bio = ReadingBio(pem);
  RequestOwner request(PEM_read_bio_X509_REQ(bio.get(), nullptr, NoPassphrase, nullptr));
  if (request == nullptr) return MalformedError("no readable certificate request");
  EVP_PKEY* const key = X509_REQ_get0_pubkey(request.get());
  RETURN_IF_ERROR(CheckKeyKind(key), "certificate request");
  if (X509_REQ_verify(request.get(), key) != 1) {
    return MalformedError("the certificate request is not signed by its own key");
  }
  std::string fingerprint = KeyFingerprint(key);
  return CertificateRequest(std::shared_ptr<X509_REQ>(request.release(), X509_REQ_free),
                            std::move(fingerprint));
}

}  // namespace onefold::identity
