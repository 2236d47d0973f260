#include "common/identity/server_context.h"

#include <openssl/ssl.h>

#include <string>

#include "common/identity/certificate_request.h"
#include "common/identity/openssl.h"
#include "common/identity/private_file.h"
#include "common/identity/signing.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::identity {
namespace {

using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

class ServerContextTest : public ::testing::Test {
 protected:
  void WriteServer() {
    const auto server = *MakeServerCertificate(authority_, {}, absl::Hours(1), kNow);
    ASSERT_THAT(WritePrivateFile(path_, server.key.ToPem() + server.certificate.ToPem() +
                                            authority_.certificate.ToPem()),
                IsOk());
    shown_ = server.certificate.fingerprint();
  }

  // The first certificate that a client sees.
  std::string Seen() {
    const ContextOwner client_context(SSL_CTX_new(TLS_client_method()));
    const ConnectionOwner client(SSL_new(client_context.get()));
    const ConnectionOwner server(SSL_new(context_.get()));
    BIO* to_client = nullptr;
    BIO* to_server = nullptr;
    BIO_new_bio_pair(&to_client, 0, &to_server, 0);
    SSL_set_bio(client.get(), to_client, to_client);
    SSL_set_bio(server.get(), to_server, to_server);
    SSL_set_connect_state(client.get());
    SSL_set_accept_state(server.get());
    for (int i = 0; i < 10; ++i) {
      SSL_do_handshake(client.get());
      SSL_do_handshake(server.get());
    }
    CertificateOwner seen(SSL_get1_peer_certificate(client.get()));
    chain_ = sk_X509_num(SSL_get_peer_cert_chain(client.get()));
    return seen == nullptr ? "" : Certificate::Adopt(seen.release())->fingerprint();
  }

  TempDir folder_;
  const std::string path_ = folder_.path() + "/server.pem";
  const KeyAndCertificate authority_ = *MakeAuthority("fleet", absl::Hours(1), kNow);
  const ContextOwner context_{SSL_CTX_new(TLS_server_method())};
  std::string shown_;
  int chain_ = 0;
};

// Certificates are renewed while the coordinator serves.
TEST_F(ServerContextTest, ShowsWhatTheFileHoldsNow) {
  WriteServer();
  ASSERT_THAT(PrepareServerContext(context_.get(), path_), IsOk());
  EXPECT_EQ(Seen(), shown_);
  EXPECT_EQ(chain_, 2);
  WriteServer();
  EXPECT_EQ(Seen(), shown_);
  // A file that is no good, say half of it, changes nothing.
  ASSERT_THAT(WritePrivateFile(path_, "-----BEGIN"), IsOk());
  EXPECT_EQ(Seen(), shown_);
}

TEST_F(ServerContextTest, RefusesWhatDoesNotBelongTogether) {
  EXPECT_THAT(PrepareServerContext(context_.get(), path_),
              HasCode(absl::StatusCode::kFailedPrecondition));
  const auto server = *MakeServerCertificate(authority_, {}, absl::Hours(1), kNow);
  ASSERT_THAT(WritePrivateFile(path_, authority_.key.ToPem() + server.certificate.ToPem()), IsOk());
  const absl::Status status = PrepareServerContext(context_.get(), path_);
  EXPECT_THAT(status, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(status.message()), HasSubstr("belongs to its private key"));
}

}  // namespace
}  // namespace onefold::identity
