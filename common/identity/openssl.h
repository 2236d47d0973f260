// OpenSSL's objects with owners, and its errors as our status. For the .cc files of this folder.

#ifndef ONEFOLD_COMMON_IDENTITY_OPENSSL_H_
#define ONEFOLD_COMMON_IDENTITY_OPENSSL_H_

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace onefold::identity {

template <auto kFree>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using BioOwner = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using KeyOwner = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using RequestOwner = std::unique_ptr<X509_REQ, Freer<X509_REQ_free>>;
using CertificateOwner = std::unique_ptr<X509, Freer<X509_free>>;
using ExtensionOwner = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>>;
using BigNumberOwner = std::unique_ptr<BIGNUM, Freer<BN_free>>;
using ContextOwner = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;
using ConnectionOwner = std::unique_ptr<SSL, Freer<SSL_free>>;

// The last error of this thread, for people; the thread's errors are forgotten.
inline std::string TakeOpenSslError() {
  char text[256] = "unknown";
  if (const unsigned long code = ERR_peek_last_error(); code != 0) {
    ERR_error_string_n(code, text, sizeof(text));
  }
  ERR_clear_error();
  return text;
}

inline absl::Status MalformedError(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, " (", TakeOpenSslError(), ")"));
}

// Out of memory, or the library is not what it should be.
inline absl::Status OpenSslFailure(absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, ": ", TakeOpenSslError()));
}

inline BioOwner ReadingBio(absl::string_view text) {
  return BioOwner(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

inline std::string BioText(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

// Never asks anybody for a passphrase.
inline int NoPassphrase(char*, int, int, void*) { return 0; }

}  // namespace onefold::identity

#endif  // ONEFOLD_COMMON_IDENTITY_OPENSSL_H_
