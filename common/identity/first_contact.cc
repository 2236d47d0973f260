#include "common/identity/first_contact.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/identity/openssl.h"
#include "common/identity/signing.h"
#include "common/status_macros.h"

namespace onefold::identity {
namespace {

// gRPC servers speak HTTP/2 and nothing else.
constexpr unsigned char kApplicationProtocol[] = "\x02h2";

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

class Deadline {
 public:
  explicit Deadline(absl::Duration timeout) : end_(absl::Now() + timeout) {}

  // Waits until `fd` is ready for `events`.
  absl::Status Wait(int fd, short events) const {
    while (true) {
      const int64_t millis = absl::ToInt64Milliseconds(end_ - absl::Now());
      if (millis <= 0) return absl::DeadlineExceededError("no answer in time");
      pollfd entry = {.fd = fd, .events = events, .revents = 0};
      const int ready = poll(&entry, 1, static_cast<int>(std::min<int64_t>(millis, 60'000)));
      if (ready > 0) return absl::OkStatus();
      if (ready < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, "waiting");
    }
  }

 private:
  const absl::Time end_;
};

absl::Status Unreachable(const HostAndPort& address, int error) {
  return absl::UnavailableError(
      absl::StrCat("cannot connect to ", ToString(address), ": ", std::strerror(error)));
}

absl::StatusOr<Socket> ConnectTo(const addrinfo& to, const HostAndPort& address,
                                 const Deadline& deadline) {
  Socket socket(::socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return Unreachable(address, errno);
  if (connect(socket.get(), to.ai_addr, to.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) return Unreachable(address, errno);
  RETURN_IF_ERROR(deadline.Wait(socket.get(), POLLOUT), ToString(address));
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) < 0) error = errno;
  if (error != 0) return Unreachable(address, error);
  return socket;
}

absl::StatusOr<Socket> Connect(const HostAndPort& address, const Deadline& deadline) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot find ", address.host, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, &freeaddrinfo);
  absl::Status status = absl::UnavailableError(absl::StrCat(address.host, " has no address"));
  for (const addrinfo* to = found; to != nullptr; to = to->ai_next) {
    absl::StatusOr<Socket> socket = ConnectTo(*to, address, deadline);
    if (socket.ok()) return socket;
    status = socket.status();
  }
  return status;
}

absl::Status Handshake(SSL* connection, int fd, const HostAndPort& address,
                       const Deadline& deadline) {
  while (true) {
    ERR_clear_error();
    const int result = SSL_connect(connection);
    if (result == 1) return absl::OkStatus();
    const int error = SSL_get_error(connection, result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
      RETURN_IF_ERROR(deadline.Wait(fd, error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT),
                      ToString(address));
      continue;
    }
    return absl::UnavailableError(
        absl::StrCat("no TLS conversation with ", ToString(address), ": ", TakeOpenSslError()));
  }
}

absl::StatusOr<std::vector<Certificate>> ShownCertificates(SSL* connection) {
  std::vector<Certificate> certificates;
  const STACK_OF(X509)* shown = SSL_get_peer_cert_chain(connection);
  const int count = std::min(sk_X509_num(shown), kCertificatesMax);
  for (int i = 0; i < count; ++i) {
    X509* const certificate = sk_X509_value(shown, i);
    X509_up_ref(certificate);
    ASSIGN_OR_RETURN(Certificate read, Certificate::Adopt(certificate));
    certificates.push_back(std::move(read));
  }
  return certificates;
}

}  // namespace

absl::StatusOr<std::vector<Certificate>> FetchCertificates(const HostAndPort& address,
                                                           absl::Duration timeout) {
  const Deadline deadline(timeout);
  ASSIGN_OR_RETURN(const Socket socket, Connect(address, deadline));
  const ContextOwner context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return OpenSslFailure("preparing TLS");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  SSL_CTX_set_alpn_protos(context.get(), kApplicationProtocol, sizeof(kApplicationProtocol) - 1);
  const ConnectionOwner connection(SSL_new(context.get()));
  if (connection == nullptr || SSL_set_fd(connection.get(), socket.get()) != 1 ||
      SSL_set_tlsext_host_name(connection.get(), kServerName) != 1) {
    return OpenSslFailure("preparing TLS");
  }
  RETURN_IF_ERROR(Handshake(connection.get(), socket.get(), address, deadline));
  return ShownCertificates(connection.get());
}

absl::StatusOr<Certificate> FindAuthority(const std::vector<Certificate>& shown,
                                          absl::string_view fingerprint) {
  for (const Certificate& certificate : shown) {
    if (certificate.is_authority() && certificate.fingerprint() == fingerprint) return certificate;
  }
  return absl::PermissionDeniedError(
      "the server is not the coordinator that the token was made for: wrong address, a token of "
      "another fleet, or somebody in between");
}

}  // namespace onefold::identity
