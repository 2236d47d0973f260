// The `onefold` program: lists its commands.

#include <iterator>

#include "cli/command.h"
#include "cli/coordinator_command.h"
#include "cli/dedupe_command.h"
#include "cli/doctor_command.h"
#include "cli/fleet/fleet_command.h"
#include "cli/health_command.h"
#include "cli/manual_command.h"
#include "cli/process.h"
#include "cli/standalone_command.h"
#include "cli/view/view_command.h"
#include "cli/worker_command.h"

namespace onefold {
namespace {

constexpr const Command* kCommands[] = {
    &kDedupeCommand,     &kStatusCommand,      &kVolumesCommand, &kHostsCommand,
    &kRunsCommand,       &kDuplicatesCommand,  &kOverlapCommand, &kHistoryCommand,
    &kDoctorCommand,     &kCoordinatorCommand, &kWorkerCommand,  &kStandaloneCommand,
    &kFleetCommand,      &kPolicyCommand,      &kRunCommand,     &kHealthCommand,
    &kCompletionCommand, &kManCommand,         &kVersionCommand,
};

}  // namespace

const CommandGroup kProgram = {
    .name = "onefold",
    .introduction =
        R"(onefold frees space on btrfs: it finds data that lies on disk more than once and lets the
kernel fold it into one copy. Files, their times and their snapshots stay as they are.
)",
    .commands = kCommands,
    .command_count = std::size(kCommands),
    .closing =
        R"(Exit codes:  0 done · 1 refused, or nothing could be done · 2 done, but less than asked · 130, 143 interrupted
)"};

}  // namespace onefold

int main(int argc, char** argv) {
  onefold::PrepareProcess();
  return onefold::RunProgram(onefold::kProgram, argc, argv);
}
