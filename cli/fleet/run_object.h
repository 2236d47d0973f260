// A run as a part of other JSON objects; see admin_json.h. Pure.

#ifndef ONEFOLD_CLI_FLEET_RUN_OBJECT_H_
#define ONEFOLD_CLI_FLEET_RUN_OBJECT_H_

#include <nlohmann/json_fwd.hpp>

#include "onefold/v1/admin_service.pb.h"

namespace onefold {

nlohmann::ordered_json RunObject(const v1::Run& run);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_RUN_OBJECT_H_
