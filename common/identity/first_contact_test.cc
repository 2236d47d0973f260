#include "common/identity/first_contact.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "common/check.h"
#include "common/identity/signing.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::identity {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

// Listens on a loopback port and answers every connection with `answer`, then closes it.
class RudeServer {
 public:
  explicit RudeServer(std::string answer) : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    CHECK(listen(listener_, 4) == 0);
    CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    if (answer.empty()) return;  // leaves callers waiting
    thread_ = std::thread([this, answer = std::move(answer)] {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      (void)!send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
      char ignored[4096];
      (void)!recv(connection, ignored, sizeof(ignored), 0);
      close(connection);
    });
  }
  ~RudeServer() {
    shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    close(listener_);
  }
  HostAndPort address() const { return {.host = "127.0.0.1", .port = port_}; }

 private:
  const int listener_;
  int port_ = 0;
  std::thread thread_;
};

TEST(FirstContactTest, NotTls) {
  const RudeServer server("HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_THAT(FetchCertificates(server.address(), absl::Seconds(10)),
              HasCode(absl::StatusCode::kUnavailable));
}

TEST(FirstContactTest, SilentServerEndsInTime) {
  const RudeServer server("");
  EXPECT_THAT(FetchCertificates(server.address(), absl::Milliseconds(20)),
              HasCode(absl::StatusCode::kDeadlineExceeded));
}

TEST(FirstContactTest, NobodyThere) {
  HostAndPort address;
  {
    const RudeServer server("");
    address = server.address();
  }
  EXPECT_THAT(FetchCertificates(address, absl::Seconds(10)),
              HasCode(absl::StatusCode::kUnavailable));
}

// Only the very certificate counts, and only if it may sign.
TEST(FirstContactTest, AuthorityIsFoundByItsFingerprint) {
  const KeyAndCertificate ours = *MakeAuthority("fleet", absl::Hours(1), kNow);
  const KeyAndCertificate theirs = *MakeAuthority("fleet", absl::Hours(1), kNow);
  const Certificate server = MakeServerCertificate(ours, {}, absl::Hours(1), kNow)->certificate;
  EXPECT_THAT(FindAuthority({server, ours.certificate}, ours.certificate.fingerprint()), IsOk());
  EXPECT_THAT(FindAuthority({server, theirs.certificate}, ours.certificate.fingerprint()),
              HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(FindAuthority({server}, server.fingerprint()),
              HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(FindAuthority({}, ""), HasCode(absl::StatusCode::kPermissionDenied));
}

}  // namespace
}  // namespace onefold::identity
