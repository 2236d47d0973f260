#include "common/identity/server_context.h"

#include <sys/stat.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/identity/openssl.h"
#include "common/mutex.h"
#include "common/small_file.h"
#include "common/status_macros.h"

namespace onefold::identity {
namespace {

constexpr size_t kIdentityBytesMax = 256 * 1024;
constexpr int kChainMax = 16;

// What a connection shows.
struct Shown {
  KeyOwner key;
  std::vector<CertificateOwner> chain;  // the server's own first
};

absl::StatusOr<Shown> ReadShown(const std::string& file) {
  absl::StatusOr<std::string> pem = ReadSmallFile(file, kIdentityBytesMax);
  if (!pem.ok()) return absl::FailedPreconditionError(pem.status().message());
  ERR_clear_error();
  Shown shown;
  shown.key.reset(PEM_read_bio_PrivateKey(ReadingBio(*pem).get(), nullptr, NoPassphrase, nullptr));
  if (shown.key == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(file, ": no private key without a passphrase (", TakeOpenSslError(), ")"));
  }
  const BioOwner certificates = ReadingBio(*pem);
  while (shown.chain.size() < kChainMax) {
    CertificateOwner next(PEM_read_bio_X509(certificates.get(), nullptr, NoPassphrase, nullptr));
    if (next == nullptr) break;
    shown.chain.push_back(std::move(next));
  }
  ERR_clear_error();
  if (shown.chain.empty() || X509_check_private_key(shown.chain[0].get(), shown.key.get()) != 1) {
    ERR_clear_error();
    return absl::FailedPreconditionError(
        absl::StrCat(file, ": no certificate that belongs to its private key"));
  }
  return shown;
}

// Which file it is, and of when.
struct Version {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec time = {};

  bool operator==(const Version& other) const {
    return device == other.device && inode == other.inode && size == other.size &&
           time.tv_sec == other.time.tv_sec && time.tv_nsec == other.time.tv_nsec;
  }
};

Version VersionOf(const std::string& file) {
  struct stat found = {};
  if (stat(file.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino, found.st_size, found.st_mtim};
}

// Thread-safe.
class WatchedIdentity {
 public:
  explicit WatchedIdentity(std::string file) : file_(std::move(file)) {}

  absl::Status Load() {
    MutexLock lock(&mutex_);
    version_ = VersionOf(file_);
    ASSIGN_OR_RETURN(Shown shown, ReadShown(file_));
    shown_ = std::move(shown);
    return absl::OkStatus();
  }

  bool Show(SSL* connection) {
    MutexLock lock(&mutex_);
    if (const Version now = VersionOf(file_); !(now == version_)) {
      version_ = now;
      if (absl::StatusOr<Shown> shown = ReadShown(file_); shown.ok()) shown_ = *std::move(shown);
    }
    SSL_certs_clear(connection);
    if (SSL_use_certificate(connection, shown_.chain[0].get()) != 1) return false;
    for (size_t i = 1; i < shown_.chain.size(); ++i) {
      if (SSL_add1_chain_cert(connection, shown_.chain[i].get()) != 1) return false;
    }
    return SSL_use_PrivateKey(connection, shown_.key.get()) == 1;
  }

 private:
  const std::string file_;
  Mutex mutex_;
  Version version_ ABSL_GUARDED_BY(mutex_);
  Shown shown_ ABSL_GUARDED_BY(mutex_);
};

int ShowIdentity(SSL* connection, void* identity) {
  return static_cast<WatchedIdentity*>(identity)->Show(connection) ? 1 : 0;
}

void FreeIdentity(void*, void* identity, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<WatchedIdentity*>(identity);
}

}  // namespace

absl::Status PrepareServerContext(ssl_ctx_st* context, const std::string& identity_file) {
  auto watched = std::make_unique<WatchedIdentity>(identity_file);
  RETURN_IF_ERROR(watched->Load());
  static const int place = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeIdentity);
  if (place < 0 || SSL_CTX_set_ex_data(context, place, watched.get()) != 1 ||
      SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
    return OpenSslFailure("TLS");
  }
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_cert_cb(context, ShowIdentity, watched.release());  // the context's from here on
  return absl::OkStatus();
}

}  // namespace onefold::identity
