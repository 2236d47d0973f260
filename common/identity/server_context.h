// What a TLS server that is not gRPC shows: key and certificates from a file that may change.

#ifndef ONEFOLD_COMMON_IDENTITY_SERVER_CONTEXT_H_
#define ONEFOLD_COMMON_IDENTITY_SERVER_CONTEXT_H_

#include <string>

#include "absl/status/status.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace onefold::identity {

// Makes a fresh `context` a server's, TLS 1.2 or later, with what `identity_file` holds: PEM, a
// private key of any kind, its certificate and the chain behind it. When the file has changed, the
// next connection sees the new one; if that is no good, still the one before.
//
// FAILED_PRECONDITION: it cannot be read, or holds no key and certificate that belong together.
absl::Status PrepareServerContext(ssl_ctx_st* context, const std::string& identity_file);

}  // namespace onefold::identity

#endif  // ONEFOLD_COMMON_IDENTITY_SERVER_CONTEXT_H_
