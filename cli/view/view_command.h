// onefold status | volumes | hosts | runs | run show | duplicates | overlap | history

#ifndef ONEFOLD_CLI_VIEW_VIEW_COMMAND_H_
#define ONEFOLD_CLI_VIEW_VIEW_COMMAND_H_

#include "cli/command.h"

namespace onefold {

extern const Command kStatusCommand;
extern const Command kVolumesCommand;
extern const Command kHostsCommand;
extern const Command kRunsCommand;
// Of `onefold run`.
extern const Command kShowRunCommand;
extern const Command kDuplicatesCommand;
extern const Command kOverlapCommand;
extern const Command kHistoryCommand;

}  // namespace onefold

#endif  // ONEFOLD_CLI_VIEW_VIEW_COMMAND_H_
