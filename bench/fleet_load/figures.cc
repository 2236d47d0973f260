#include "bench/fleet_load/figures.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace onefold::bench {

std::string FiguresText(const std::vector<Figure>& figures) {
  std::string text;
  for (const Figure& figure : figures) {
    const int digits = figure.value < 100 ? 2 : 0;
    absl::StrAppendFormat(&text, "%-42s %14.*f %-12s", figure.name, digits, figure.value,
                          figure.unit);
    if (figure.at_least) absl::StrAppendFormat(&text, " at least %g", *figure.at_least);
    if (figure.at_most) absl::StrAppendFormat(&text, " at most %g", *figure.at_most);
    text += figure.reached() ? "\n" : "  MISSED\n";
  }
  return text;
}

std::string FiguresJson(const std::vector<Figure>& figures) {
  nlohmann::ordered_json json;
  for (const Figure& figure : figures) {
    nlohmann::ordered_json& entry = json["figures"][figure.name];
    entry["value"] = figure.value;
    entry["unit"] = figure.unit;
    if (figure.at_least) entry["at_least"] = *figure.at_least;
    if (figure.at_most) entry["at_most"] = *figure.at_most;
    entry["reached"] = figure.reached();
  }
  json["reached"] = std::all_of(figures.begin(), figures.end(),
                                [](const Figure& figure) { return figure.reached(); });
  return json.dump(2) + "\n";
}

}  // namespace onefold::bench
