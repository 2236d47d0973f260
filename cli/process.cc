#include "cli/process.h"

#include <absl/synchronization/mutex.h>
#include <fcntl.h>
#include <grpc/support/log.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>

#include "cli/command_line.h"
#include "cli/open_files.h"
#include "cli/run_summary.h"

namespace onefold {
namespace {

// A closed descriptor would be given to the next file that is opened, and what is printed would end
// up in it. Read-only, so that writing still fails and is noticed.
void HoldStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", O_RDONLY);
  }
}

// gRPC would print lines of its own between ours, in no format of a log, and whoever can reach the
// port could make it do so for ever. GRPC_VERBOSITY, which gRPC obeys, brings them back.
void SilenceGrpc() {
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
}

// Libraries throw where memory or threads run out; nobody wants a core dump for that.
[[noreturn]] void EndWithoutResources() {
  constexpr char kMessage[] =
      "onefold: out of memory or threads (see ulimit -a, and limits of the container)\n";
  (void)!write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  _exit(kExitRefused);
}

std::string VersionHelp() { return "Usage:  onefold version\n\nPrints the program's version.\n"; }

int RunVersion(const Arguments&) { return PrintText(ProgramVersion()); }

}  // namespace

const Command kVersionCommand = {
    .name = "version", .summary = "the version", .help = VersionHelp, .run = RunVersion};

void PrepareProcess() {
  HoldStandardDescriptors();
  RaiseOpenFiles();
  // A write beyond `ulimit -f` fails and is reported, instead of ending the process without a word.
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(EndWithoutResources);
  SilenceGrpc();
  // Debian's Abseil aborts on lock orders that gRPC uses; before the first lock is taken.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Each arena of glibc keeps memory of its own; with a few threads that do little, two are plenty.
  mallopt(M_ARENA_MAX, 2);
}

int RunProgram(const CommandGroup& program, int argc, char** argv) {
  const Arguments arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "--version") return RunVersion({});
  return RunCommandOf(program, arguments);
}

}  // namespace onefold
