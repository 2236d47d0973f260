#include "common/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

// The socket that systemd would listen on.
class ListeningManager {
 public:
  explicit ListeningManager(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~ListeningManager() { ::close(fd_); }

  std::string Received() {
    char buffer[512];
    const ssize_t size = ::recv(fd_, buffer, sizeof(buffer), 0);
    return size < 0 ? "nothing" : std::string(buffer, static_cast<size_t>(size));
  }

 private:
  int fd_ = -1;
};

ServiceManager With(const std::map<std::string, std::string>& variables) {
  return ServiceManager([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(ServiceManagerTest, TellsHowTheServiceIs) {
  TempDir dir;
  const std::string path = dir.path() + "/notify";
  ListeningManager listening(path);
  const ServiceManager manager = With({{"NOTIFY_SOCKET", path}});
  manager.Ready("serving on :7171");
  EXPECT_EQ(listening.Received(), "READY=1\nSTATUS=serving on :7171");
  manager.Status("a\nb");
  EXPECT_EQ(listening.Received(), "STATUS=a\\nb");
  manager.Alive();
  EXPECT_EQ(listening.Received(), "WATCHDOG=1");
  manager.Stopping();
  EXPECT_EQ(listening.Received(), "STOPPING=1");
}

TEST(ServiceManagerTest, WithoutAManagerNothingHappens) {
  With({}).Ready("x");
  With({{"NOTIFY_SOCKET", "/nobody/listens/here"}}).Ready("x");
  With({{"NOTIFY_SOCKET", "vsock:2:1"}}).Ready("x");
  With({{"NOTIFY_SOCKET", std::string(200, '/')}}).Ready("x");
}

TEST(ServiceManagerTest, TheWatchdogIsFedTwiceInItsTime) {
  EXPECT_EQ(With({}).watchdog_interval(), absl::InfiniteDuration());
  EXPECT_EQ(With({{"WATCHDOG_USEC", "30000000"}}).watchdog_interval(), absl::Seconds(15));
  EXPECT_EQ(With({{"WATCHDOG_USEC", "30000000"}, {"WATCHDOG_PID", absl::StrCat(::getpid())}})
                .watchdog_interval(),
            absl::Seconds(15));
  EXPECT_EQ(With({{"WATCHDOG_USEC", "30000000"}, {"WATCHDOG_PID", "1"}}).watchdog_interval(),
            absl::InfiniteDuration());
  EXPECT_EQ(With({{"WATCHDOG_USEC", "soon"}}).watchdog_interval(), absl::InfiniteDuration());
}

}  // namespace
}  // namespace onefold
