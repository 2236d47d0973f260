// onefold run now | list | watch | cancel | pause | resume

#ifndef ONEFOLD_CLI_FLEET_RUN_COMMANDS_H_
#define ONEFOLD_CLI_FLEET_RUN_COMMANDS_H_

#include "cli/fleet/verb.h"

namespace onefold {

const Verb& RunNowVerb();
const Verb& ListRunsVerb();
const Verb& WatchRunVerb();
const Verb& CancelRunVerb();
const Verb& PauseRunVerb();
const Verb& ResumeRunVerb();

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_RUN_COMMANDS_H_
