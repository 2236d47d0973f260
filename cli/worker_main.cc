// The static `onefold` of a host with an old userland, a NAS as a rule: only what a fleet's worker
// needs.

#include <iterator>

#include "cli/command.h"
#include "cli/fleet/join_command.h"
#include "cli/health_command.h"
#include "cli/process.h"
#include "cli/worker_command.h"

namespace onefold {
namespace {

constexpr const Command* kFleetCommands[] = {&kFleetJoinCommand};
constexpr CommandGroup kFleet = {
    .name = "onefold fleet",
    .introduction = "This program holds a worker alone. What asks a coordinator is elsewhere.\n",
    .commands = kFleetCommands,
    .command_count = std::size(kFleetCommands)};
constexpr Command kFleetCommand = {.name = "fleet",
                                   .parameters = "join",
                                   .summary = "make this machine a host of a fleet",
                                   .group = &kFleet};

constexpr const Command* kCommands[] = {&kWorkerCommand, &kFleetCommand, &kHealthCommand,
                                        &kVersionCommand};

constexpr CommandGroup kProgram = {.name = "onefold",
                                   .introduction =
                                       "onefold, the worker alone: works for a fleet's coordinator "
                                       "on this host, and needs no library of it.\n",
                                   .commands = kCommands,
                                   .command_count = std::size(kCommands)};

}  // namespace
}  // namespace onefold

int main(int argc, char** argv) {
  onefold::PrepareProcess();
  return onefold::RunProgram(onefold::kProgram, argc, argv);
}
