// FleetView: what dashboards see of the books of a fleet, at one moment. To be made inside of
// Fleet::Look and thrown away with it; nothing in it is computed by going through the index.
//
// Not thread-safe.

#ifndef ONEFOLD_COORDINATOR_QUERY_FLEET_VIEW_H_
#define ONEFOLD_COORDINATOR_QUERY_FLEET_VIEW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/uuid.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/query/census.h"
#include "coordinator/query/filter.h"
#include "onefold/v1/query_service.pb.h"

namespace onefold::query {

// Of a volume, from its record in the index.
struct IndexFigures {
  int64_t extent_count = 0;
};

class FleetView {
 public:
  using FiguresOf = absl::FunctionRef<std::optional<IndexFigures>(const VolumeUuid&)>;
  // `census`: the latest one; null if there is none.
  FleetView(const Fleet::Glance& glance, FiguresOf figures_of, const Census* census);

  // By name, then uuid: those that a host has mounted and may speak for.
  const std::vector<v1::Volume>& volumes() const { return volumes_; }
  // By uuid, the beginning of one (8 digits), label or "HOST:PATH". NOT_FOUND, INVALID_ARGUMENT.
  absl::StatusOr<const v1::Volume*> FindVolume(absl::string_view name) const;

  // The response but for what hosts are only known to the identity: `hosts` are all of them.
  v1::GetSummaryResponse Summary(const Filter& filter, const std::vector<v1::Host>& hosts) const;

  // INVALID_ARGUMENT: see ListScheduleRequest. NOT_FOUND: no such policy.
  absl::StatusOr<v1::ListScheduleResponse> Schedule(const v1::ListScheduleRequest& request) const;

 private:
  struct Due {
    absl::Time time = absl::InfiniteFuture();
    std::string policy;
  };

  v1::Volume ViewVolume(const fleet::OwnedVolume& owned, FiguresOf figures_of) const;
  void FillSpace(const VolumeUuid& uuid, FiguresOf figures_of, v1::SpaceFigures& space) const;
  Due NextDue(const fleet::OwnedVolume& owned) const;
  std::vector<v1::Attention> Attention(const std::vector<v1::Host>& hosts,
                                       const std::vector<const v1::Volume*>& volumes) const;
  std::vector<v1::ScheduleEntry> NextEntries(size_t count) const;

  const Fleet::Glance& glance_;
  const Census* const census_;
  std::map<VolumeUuid, const Census::VolumeCount*> counted_;
  // The latest run of each volume that ended, and the one that has not.
  std::map<VolumeUuid, const fleet::FleetRun*> ended_;
  std::map<VolumeUuid, const fleet::FleetRun*> measured_;  // the latest with figures of pins
  std::map<VolumeUuid, const fleet::FleetRun*> active_;
  std::vector<v1::Volume> volumes_;
};

// Fields that filters may name, and what things have under them.
const std::vector<Filter::Field>& VolumeFields();
Filter::Value ValueOf(const v1::Volume& volume, absl::string_view field);
const std::vector<Filter::Field>& HostFields();
Filter::Value ValueOf(const v1::Host& host, absl::string_view field);
const std::vector<Filter::Field>& RunFields();
Filter::Value ValueOf(const v1::Run& run, absl::string_view field);

// "completed" for RUN_STATE_COMPLETED.
std::string StateWord(v1::RunState state);

google::protobuf::Timestamp ToTimestamp(absl::Time time);
absl::Time FromTimestamp(const google::protobuf::Timestamp& timestamp);

}  // namespace onefold::query

#endif  // ONEFOLD_COORDINATOR_QUERY_FLEET_VIEW_H_
