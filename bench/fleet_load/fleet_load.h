// FleetLoad: the phases of one measurement, and what each of them found.

#ifndef ONEFOLD_BENCH_FLEET_LOAD_FLEET_LOAD_H_
#define ONEFOLD_BENCH_FLEET_LOAD_FLEET_LOAD_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/fleet_load/figures.h"
#include "bench/fleet_load/options.h"

namespace onefold::bench {

// `self`: path of this program, for the small server.
absl::StatusOr<std::vector<Figure>> MeasureFleet(const Options& options, const std::string& self);

}  // namespace onefold::bench

#endif  // ONEFOLD_BENCH_FLEET_LOAD_FLEET_LOAD_H_
