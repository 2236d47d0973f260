#include "bench/fleet_load/child_process.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace onefold::bench {
namespace {

// Behind the name in /proc/PID/stat: user and system time.
constexpr int kTicksFields[] = {11, 12};

// What a line of /proc/PID/stat says of processor time.
absl::Duration CpuIn(const std::string& stat) {
  // The name, which may hold anything, ends with the last parenthesis.
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return absl::ZeroDuration();
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(name_end + 2), ' ');
  int64_t ticks = 0;
  for (const int field : kTicksFields) {
    int64_t value = 0;
    if (absl::SimpleAtoi(fields[field], &value)) ticks += value;
  }
  return absl::Seconds(static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK)));
}

template <typename Visit>
void ForEachFileSize(const std::string& directory, Visit visit) {
  std::error_code error;  // files go while we look
  using Walk = std::filesystem::recursive_directory_iterator;
  for (Walk entry(directory, error); !error && entry != Walk(); entry.increment(error)) {
    std::error_code gone;
    const auto bytes = entry->is_regular_file(gone) ? entry->file_size(gone) : 0;
    if (!gone) visit(static_cast<int64_t>(bytes));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return absl::ErrnoToStatus(errno, "fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid));
}

ChildProcess::~ChildProcess() {
  if (ended_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool ChildProcess::alive() const { return !Read("status").empty(); }

std::string ChildProcess::Read(const std::string& name) const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/", name));
  return {std::istreambuf_iterator<char>(file), {}};
}

absl::Duration ChildProcess::cpu() const { return CpuIn(Read("stat")); }

absl::Duration ChildProcess::cpu_of_threads(const std::string& name) const {
  absl::Duration sum;
  std::error_code error;  // threads end while we look
  using Walk = std::filesystem::directory_iterator;
  for (Walk entry(absl::StrCat("/proc/", pid_, "/task"), error); !error && entry != Walk();
       entry.increment(error)) {
    const std::string stat =
        Read(absl::StrCat("task/", entry->path().filename().string(), "/stat"));
    if (absl::StrContains(stat, absl::StrCat("(", name))) sum += CpuIn(stat);
  }
  return sum;
}

int64_t ChildProcess::peak_rss_bytes() const {
  std::istringstream lines(Read("status"));
  for (std::string word; lines >> word;) {
    int64_t kibibytes = 0;
    if (word == "VmHWM:" && lines >> kibibytes) return kibibytes << 10;
  }
  return 0;
}

void ChildProcess::ForgetPeak() const {
  std::ofstream(absl::StrCat("/proc/", pid_, "/clear_refs")) << "5" << std::flush;
}

absl::Status ChildProcess::Stop() {
  kill(pid_, SIGTERM);
  return Wait();
}

absl::Status ChildProcess::Wait() {
  int state = 0;
  ended_ = true;
  if (waitpid(pid_, &state, 0) != pid_) return absl::ErrnoToStatus(errno, "waiting");
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("process ", pid_, " ended with state ", state));
}

absl::StatusOr<int> FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound =
      fd >= 0 && bind(fd, generic, size) == 0 && getsockname(fd, generic, &size) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (!bound) return absl::ErrnoToStatus(error, "a port");
  return ntohs(address.sin_port);
}

int64_t BytesBelow(const std::string& directory) {
  int64_t sum = 0;
  ForEachFileSize(directory, [&](int64_t bytes) { sum += bytes; });
  return sum;
}

}  // namespace onefold::bench
