// Policy: what to do with which volumes, when, and how hard; written by people in YAML.
//
//   name: nightly                    required; a-z 0-9 . _ -, at most 64
//   select: all                      required; see selector.h; of a list one is enough
//   roots: [/srv/data, ./home]       "./…" is below the mount point; absent: all that the host
//   allows excludes: ["*.iso"]              as `onefold dedupe --exclude` min_size: 16KiB smaller
//   files are left alone max_size: 100GiB                 larger files are left alone snapshots:
//   include               or skip: read-only subvolumes are left alone match: all or extents:
//   nothing is looked for inside of extents schedule: "0 2 * * sat"          see cron.h; absent:
//   only by hand time_zone: Europe/Berlin         absent: the coordinator's window: "22:00-06:00"
//   see window.h; or a list; absent: always jitter: 15m                      each volume starts up
//   to this much later priority: 0                      -100 to 100; higher ones go first throttle:
//     threads: 2
//     read_per_second: 50MiB
//     operations_per_second: 500
//     load: 4.0                      pause while the load average is above it
//     latency: 20ms                  pause while the device takes longer
//   at_once:
//     hosts: 4                       runs of this policy at once
//     group: site                    a label of hosts; those that have the same value are a group
//     per_group: 1                   runs of this policy at once in each group
//
// Immutable once parsed.

#ifndef ONEFOLD_COORDINATOR_FLEET_POLICY_H_
#define ONEFOLD_COORDINATOR_FLEET_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/yaml_tree.h"
#include "coordinator/fleet/schedule.h"
#include "coordinator/fleet/selector.h"
#include "coordinator/fleet/window.h"
#include "onefold/v1/fleet.pb.h"

namespace onefold::fleet {

struct AtOnce {
  int64_t hosts = 0;      // 0: no limit
  std::string group;      // a label of hosts
  int64_t per_group = 0;  // set if `group` is
};

struct Policy {
  std::string name;
  std::vector<Selector> select;
  v1::RunScope scope;
  std::optional<Schedule> schedule;
  std::string time_zone;  // as given; empty: the coordinator's
  absl::TimeZone zone;
  std::vector<MaintenanceWindow> windows;
  absl::Duration jitter;
  int priority = 0;
  v1::RunThrottle throttle;
  AtOnce at_once;

  bool Selects(const Selector::Subject& subject) const;
};

// One policy to each document of the text, every one complete and of another name.
//
// INVALID_ARGUMENT with line, key and what to write instead.
absl::StatusOr<std::vector<Policy>> ParsePolicies(absl::string_view yaml,
                                                  absl::TimeZone default_zone);

// The policy with its keys in the order above, those at their default left out. Means the same.
std::string CanonicalYaml(const Policy& policy);

// How `after` differs from `before`: all lines of both, marked "+", "-" or " ".
std::string DiffLines(absl::string_view before, absl::string_view after);

// True for a name that a policy may have.
bool IsPolicyName(absl::string_view name);

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_POLICY_H_
