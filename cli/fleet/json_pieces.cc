#include "cli/fleet/json_pieces.h"

#include <nlohmann/json.hpp>

#include "cli/fleet/admin_words.h"

namespace onefold {

using Json = nlohmann::ordered_json;

std::string OneLine(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

Json Object(absl::string_view schema) {
  Json json;
  json["schema"] = std::string(schema);
  return json;
}

Json TextOrNull(absl::string_view text) { return text.empty() ? Json() : Json(std::string(text)); }

Json TimeOrNull(bool has, const google::protobuf::Timestamp& timestamp) {
  return has ? Json(TimeWord(TimeOf(timestamp))) : Json();
}

}  // namespace onefold
