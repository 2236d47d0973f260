// onefold doctor

#ifndef ONEFOLD_CLI_DOCTOR_COMMAND_H_
#define ONEFOLD_CLI_DOCTOR_COMMAND_H_

#include "cli/command.h"

namespace onefold {

extern const Command kDoctorCommand;

}  // namespace onefold

#endif  // ONEFOLD_CLI_DOCTOR_COMMAND_H_
