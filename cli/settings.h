// The tables of settings of all configured commands.

#ifndef ONEFOLD_CLI_SETTINGS_H_
#define ONEFOLD_CLI_SETTINGS_H_

#include <vector>

#include "common/config/setting.h"

namespace onefold {

// log_level, log_format: of every service.
std::vector<Setting> LogSettings();
// `onefold coordinator`.
std::vector<Setting> CoordinatorSettings();

// `onefold worker`.
std::vector<Setting> WorkerSettings();

// `onefold standalone`.
std::vector<Setting> StandaloneSettings();

// Those of all commands: a variable that belongs to any of them is not mistyped.
std::vector<Setting> AllSettings();

}  // namespace onefold

#endif  // ONEFOLD_CLI_SETTINGS_H_
