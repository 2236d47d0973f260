#include "common/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/escape.h"

namespace onefold {
namespace {

std::string ValueOf(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

ServiceManager::ServiceManager(const std::function<const char*(const char* name)>& variable)
    : socket_(ValueOf(variable("NOTIFY_SOCKET"))) {
  const std::string pid = ValueOf(variable("WATCHDOG_PID"));
  if (!pid.empty() && pid != absl::StrCat(::getpid())) return;  // meant for another process
  int64_t microseconds = 0;
  if (absl::SimpleAtoi(ValueOf(variable("WATCHDOG_USEC")), &microseconds) && microseconds > 0) {
    watchdog_interval_ = absl::Microseconds(microseconds) / 2;
  }
}

void ServiceManager::Ready(absl::string_view status) const {
  Send(absl::StrCat("READY=1\nSTATUS=", EscapeText(status)));
}

void ServiceManager::Status(absl::string_view status) const {
  Send(absl::StrCat("STATUS=", EscapeText(status)));
}

void ServiceManager::Stopping() const { Send("STOPPING=1"); }

void ServiceManager::Alive() const { Send("WATCHDOG=1"); }

void ServiceManager::Send(const std::string& message) const {
  sockaddr_un address = {};
  // "@name" is an abstract socket; anything but these two is no Unix socket.
  const bool is_valid = !socket_.empty() && (socket_[0] == '/' || socket_[0] == '@') &&
                        socket_.size() < sizeof(address.sun_path);
  if (!is_valid) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') address.sun_path[0] = '\0';
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  // A manager that does not listen is no reason to stop serving.
  (void)!::sendto(fd, message.data(), message.size(), MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&address), size);
  ::close(fd);
}

}  // namespace onefold
