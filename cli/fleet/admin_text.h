// What people read on a terminal: tables and sentences. Everything that came over the wire is
// escaped. Pure.

#ifndef ONEFOLD_CLI_FLEET_ADMIN_TEXT_H_
#define ONEFOLD_CLI_FLEET_ADMIN_TEXT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "onefold/v1/admin_service.pb.h"

namespace onefold {

// `cell_columns_max`: see Table.
std::string HostsText(const std::vector<v1::Host>& hosts, absl::Time now, int cell_columns_max);

std::string PoliciesText(const std::vector<v1::Policy>& policies, absl::Time now,
                         int cell_columns_max);

// Diffs and selected volumes of all that is not unchanged.
std::string PolicyChangesText(const v1::ApplyPoliciesResponse& changes);

// How many letters of their ids tell these runs apart; at least 8.
size_t RunIdLength(const std::vector<v1::Run>& runs);

// `host_names`: id → name for people; ids that are not in it are shown as they are.
std::string RunsText(const std::vector<v1::Run>& runs,
                     const std::map<std::string, std::string>& host_names, absl::Time now,
                     int cell_columns_max);

// "data: fold 43 %, freed 1.2 GiB (load 9.1 is above 4)": one line without its end.
std::string RunLine(const v1::Run& run);

// The end of a run: figures and problems, several lines.
std::string RunEndText(const v1::Run& run);

// "3 s ago", "in 2 h 5 min", "never" for absl::InfinitePast() and -Future().
std::string WhenText(absl::Time time, absl::Time now);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_ADMIN_TEXT_H_
