// `onefold worker`: the worker of a fleet on this host.

#ifndef ONEFOLD_CLI_WORKER_COMMAND_H_
#define ONEFOLD_CLI_WORKER_COMMAND_H_

#include "cli/command.h"

namespace onefold {

extern const Command kWorkerCommand;

}  // namespace onefold

#endif  // ONEFOLD_CLI_WORKER_COMMAND_H_
