// The `onefold` program: finds the command and hands it its arguments.

#include <absl/synchronization/mutex.h>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/dedupe_command.h"
#include "cli/run_summary.h"
#include "cli/stopping.h"
#include "common/clock.h"
#include "common/escape.h"
#include "common/stop.h"

namespace onefold {
namespace {

using Arguments = std::vector<std::string>;

int Print(const std::string& text) {
  const bool printed = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  return printed ? kExitDone : kExitRefused;
}

int Version(const Arguments&) { return Print(ProgramVersion()); }

int Dedupe(const Arguments& arguments) {
  if (arguments == Arguments{"--version"}) return Version({});
  if (WantsHelp(arguments)) return Print(DedupeHelp());
  const absl::StatusOr<DedupeArguments> parsed = ParseDedupe(arguments);
  if (!parsed.ok()) {
    const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
    return RefuseDedupe(std::string(parsed.status().message()), json, SystemClock());
  }
  // Outlives everything: a signal may come at any time.
  static StopSignal* const stop = new StopSignal;
  InstallSignalHandlers(*stop);
  return RunDedupe(*parsed, SystemClock(), *stop);
}

int Help(const Arguments& arguments) {
  const bool of_dedupe = !arguments.empty() && arguments[0] == "dedupe";
  return Print(of_dedupe ? DedupeHelp() : ProgramHelp());
}

struct Command {
  const char* name;
  int (*run)(const Arguments&);
};
constexpr Command kCommands[] = {
    {"dedupe", &Dedupe}, {"help", &Help},       {"--help", &Help},
    {"-h", &Help},       {"version", &Version}, {"--version", &Version},
};

int Main(const Arguments& arguments) {
  if (arguments.empty()) {
    std::fputs(ProgramHelp().c_str(), stderr);
    return kExitRefused;
  }
  for (const Command& command : kCommands) {
    if (arguments[0] == command.name) {
      return command.run(Arguments(arguments.begin() + 1, arguments.end()));
    }
  }
  std::fprintf(stderr, "onefold: there is no command '%s'\nTry: onefold --help\n",
               Escape(arguments[0]).c_str());
  return kExitRefused;
}

// A closed descriptor would be given to the next file that is opened, and what is printed would end
// up in it. Read-only, so that writing still fails and is noticed.
void HoldStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", O_RDONLY);
  }
}

// Libraries throw where memory or threads run out; nobody wants a core dump for that.
[[noreturn]] void EndWithoutResources() {
  constexpr char kMessage[] =
      "onefold: out of memory or threads (see ulimit -a, and limits of the container)\n";
  (void)!write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  _exit(kExitRefused);
}

}  // namespace
}  // namespace onefold

int main(int argc, char** argv) {
  onefold::HoldStandardDescriptors();
  std::set_terminate(onefold::EndWithoutResources);
  // Debian's Abseil aborts on lock orders that gRPC uses; before the first lock is taken.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Each arena of glibc keeps memory of its own; with a few threads that do little, two are plenty.
  mallopt(M_ARENA_MAX, 2);
  return onefold::Main(onefold::Arguments(argv + 1, argv + argc));
}
