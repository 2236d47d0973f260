// What the JSON objects of operators' and dashboards' commands are made of. Pure.

#ifndef ONEFOLD_CLI_FLEET_JSON_PIECES_H_
#define ONEFOLD_CLI_FLEET_JSON_PIECES_H_

#include <google/protobuf/timestamp.pb.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/strings/string_view.h"

namespace onefold {

// The object in ASCII, without a newline; what is no UTF-8 is replaced.
std::string OneLine(const nlohmann::ordered_json& json);

// An object that begins with its schema.
nlohmann::ordered_json Object(absl::string_view schema);

// null if it is empty, or not there.
nlohmann::ordered_json TextOrNull(absl::string_view text);
nlohmann::ordered_json TimeOrNull(bool has, const google::protobuf::Timestamp& timestamp);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_JSON_PIECES_H_
