// What a run of fleet_load found, and how it is told.

#ifndef ONEFOLD_BENCH_FLEET_LOAD_FIGURES_H_
#define ONEFOLD_BENCH_FLEET_LOAD_FIGURES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace onefold::bench {

// One figure and what it is to reach.
struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
  std::optional<double> at_least = std::nullopt;
  std::optional<double> at_most = std::nullopt;

  bool reached() const {
    return (!at_least || value >= *at_least) && (!at_most || value <= *at_most);
  }
};

// A table for people.
std::string FiguresText(const std::vector<Figure>& figures);
// {"figures": {name: {"value": …, "unit": …, "goal": …, "reached": …}}, "reached": …}
std::string FiguresJson(const std::vector<Figure>& figures);

}  // namespace onefold::bench

#endif  // ONEFOLD_BENCH_FLEET_LOAD_FIGURES_H_
