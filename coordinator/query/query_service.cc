#include "coordinator/query/query_service.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/grpc_status.h"
#include "common/status_macros.h"
#include "google/protobuf/util/field_mask_util.h"

namespace onefold {
namespace {

using google::protobuf::FieldMask;
using google::protobuf::util::FieldMaskUtil;
using query::Census;
using query::Filter;
using query::FleetView;
using query::FromTimestamp;
using query::ToTimestamp;

constexpr int kPageMax = 1000;
constexpr int kPageDefault = 100;
constexpr int kGroupsMax = 200;
constexpr int kGroupsDefault = 20;
constexpr int kPairsMax = 10'000;
constexpr int kPairsDefault = 1000;
constexpr int kPointsMax = 2000;
constexpr int kPointsDefault = 200;
// How often runs that are watched are looked at: at most one message a second is promised.
constexpr absl::Duration kWatchInterval = absl::Seconds(1);

absl::StatusOr<int> SizeOf(absl::string_view field, int asked, int otherwise, int most) {
  if (asked < 0) return absl::InvalidArgumentError(absl::StrCat(field, ": negative"));
  return asked == 0 ? otherwise : std::min(asked, most);
}

template <typename Message>
absl::Status CheckMask(const FieldMask& mask) {
  if (FieldMaskUtil::IsValidFieldMask<Message>(mask)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("read_mask: not all of \"",
                                                 FieldMaskUtil::ToString(mask), "\" are fields of ",
                                                 Message::descriptor()->name()));
}

template <typename Message>
void Trim(const FieldMask& mask, Message& message) {
  if (mask.paths_size() > 0) FieldMaskUtil::TrimMessage(mask, &message);
}

absl::Status WrongToken() {
  return absl::InvalidArgumentError(
      "page_token: not from an earlier answer, or what it points to is gone: begin anew");
}

// One page of `items`, which are in order. A token names the item that the last page ended with.
template <typename Item, typename NameOf, typename Take>
absl::Status Page(const std::vector<Item>& items, const std::string& token, int size,
                  NameOf name_of, Take take, std::string* next_token) {
  auto at = items.begin();
  if (!token.empty()) {
    const std::string name = absl::HexStringToBytes(token);
    if (absl::BytesToHexString(name) != token) return WrongToken();
    at = std::find_if(at, items.end(), [&](const Item& item) { return name_of(item) == name; });
    if (at == items.end()) return WrongToken();
    ++at;
  }
  for (; at != items.end() && size > 0; ++at, --size) take(*at);
  if (at != items.end()) *next_token = absl::BytesToHexString(name_of(*std::prev(at)));
  return absl::OkStatus();
}

// What volumes are ordered by; unknown ones come last.
using Figure = int64_t (v1::SpaceFigures::*)() const;
struct Order {
  absl::string_view name;
  bool (v1::SpaceFigures::*is_known)() const;
  Figure figure;

  int64_t Of(const v1::Volume& volume) const {
    return (volume.space().*is_known)() ? (volume.space().*figure)() : -1;
  }
};
using S = v1::SpaceFigures;
constexpr Order kOrders[] = {
    {"used_bytes", &S::has_used_bytes, &S::used_bytes},
    {"freed_bytes", &S::has_freed_bytes, &S::freed_bytes},
    {"waiting_bytes", &S::has_waiting_bytes, &S::waiting_bytes},
    {"duplicate_bytes", &S::has_duplicate_bytes, &S::duplicate_bytes},
    {"pinned_bytes", &S::has_pinned_bytes, &S::pinned_bytes},
};

// nullptr: by name.
absl::StatusOr<const Order*> FindOrder(absl::string_view name) {
  if (name.empty() || name == "name") return nullptr;
  for (const Order& order : kOrders) {
    if (order.name == name) return &order;
  }
  return absl::InvalidArgumentError(
      "order_by: one of name, used_bytes, freed_bytes, waiting_bytes, duplicate_bytes, "
      "pinned_bytes");
}

bool Holds(const Filter& filter, const v1::Run& run) {
  return filter.Holds([&](absl::string_view field) { return query::ValueOf(run, field); });
}

}  // namespace

std::shared_ptr<const Census> QueryService::PeekAtCensus() const {
  return parts_.census_at_once ? parts_.census.Peek() : parts_.census.Get();
}

absl::StatusOr<std::shared_ptr<const Census>> QueryService::GetCensus() {
  std::shared_ptr<const Census> census = PeekAtCensus();
  if (census != nullptr || !parts_.census_at_once) return census;
  return parts_.census.TakeNow();
}

void QueryService::LookAtBooks(absl::FunctionRef<void(const Fleet::Glance&)> look) const {
  if (parts_.refresh) parts_.refresh();
  parts_.fleet.Look(look);
}

void QueryService::Look(absl::FunctionRef<void(const FleetView&)> look) const {
  const std::shared_ptr<const Census> census = PeekAtCensus();
  LookAtBooks(
      [&](const Fleet::Glance& glance) { look(FleetView(glance, parts_.figures, census.get())); });
}

absl::StatusOr<v1::Volume> QueryService::FindVolume(const std::string& name) const {
  absl::StatusOr<v1::Volume> found = absl::NotFoundError("");
  Look([&](const FleetView& view) {
    const absl::StatusOr<const v1::Volume*> volume = view.FindVolume(name);
    if (volume.ok()) {
      found = **volume;
    } else {
      found = volume.status();
    }
  });
  return found;
}

grpc::Status QueryService::GetSummary(grpc::ServerContext*, const v1::GetSummaryRequest* request,
                                      v1::GetSummaryResponse* response) {
  const absl::StatusOr<Filter> filter = Filter::Parse(request->filter(), query::VolumeFields());
  if (!filter.ok()) return ToGrpcStatus(filter.status());
  const std::vector<v1::Host> hosts = parts_.hosts();
  Look([&](const FleetView& view) { *response = view.Summary(*filter, hosts); });
  response->set_version(parts_.version);
  return grpc::Status::OK;
}

grpc::Status QueryService::ListVolumes(grpc::ServerContext*, const v1::ListVolumesRequest* request,
                                       v1::ListVolumesResponse* response) {
  const auto list = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const int size,
                     SizeOf("page_size", request->page_size(), kPageDefault, kPageMax));
    ASSIGN_OR_RETURN(const Filter filter, Filter::Parse(request->filter(), query::VolumeFields()));
    RETURN_IF_ERROR(CheckMask<v1::Volume>(request->read_mask()));
    ASSIGN_OR_RETURN(const Order* const order, FindOrder(request->order_by()));
    std::vector<v1::Volume> volumes;
    Look([&](const FleetView& view) {
      for (const v1::Volume& volume : view.volumes()) {
        if (filter.Holds([&](absl::string_view field) { return query::ValueOf(volume, field); })) {
          volumes.push_back(volume);
        }
      }
    });
    if (order != nullptr) {
      std::stable_sort(
          volumes.begin(), volumes.end(),
          [&](const v1::Volume& a, const v1::Volume& b) { return order->Of(a) > order->Of(b); });
    }
    response->set_total_count(static_cast<int32_t>(volumes.size()));
    return Page(
        volumes, request->page_token(), size,
        [](const v1::Volume& volume) { return volume.volume_uuid(); },
        [&](const v1::Volume& volume) {
          v1::Volume& listed = *response->add_volumes();
          listed = volume;
          Trim(request->read_mask(), listed);
        },
        response->mutable_next_page_token());
  };
  return ToGrpcStatus(list());
}

grpc::Status QueryService::GetVolume(grpc::ServerContext*, const v1::GetVolumeRequest* request,
                                     v1::GetVolumeResponse* response) {
  absl::StatusOr<v1::Volume> volume = FindVolume(request->volume());
  if (!volume.ok()) return ToGrpcStatus(volume.status());
  *response->mutable_volume() = *std::move(volume);
  return grpc::Status::OK;
}

grpc::Status QueryService::QueryHosts(grpc::ServerContext*, const v1::QueryHostsRequest* request,
                                      v1::QueryHostsResponse* response) {
  const auto list = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const int size,
                     SizeOf("page_size", request->page_size(), kPageDefault, kPageMax));
    ASSIGN_OR_RETURN(const Filter filter, Filter::Parse(request->filter(), query::HostFields()));
    RETURN_IF_ERROR(CheckMask<v1::Host>(request->read_mask()));
    std::vector<v1::Host> hosts = parts_.hosts();
    std::erase_if(hosts, [&](const v1::Host& host) {
      return !filter.Holds([&](absl::string_view field) { return query::ValueOf(host, field); });
    });
    response->set_total_count(static_cast<int32_t>(hosts.size()));
    return Page(
        hosts, request->page_token(), size, [](const v1::Host& host) { return host.host_id(); },
        [&](const v1::Host& host) {
          v1::Host& listed = *response->add_hosts();
          listed = host;
          Trim(request->read_mask(), listed);
        },
        response->mutable_next_page_token());
  };
  return ToGrpcStatus(list());
}

grpc::Status QueryService::QueryRuns(grpc::ServerContext*, const v1::QueryRunsRequest* request,
                                     v1::QueryRunsResponse* response) {
  const auto list = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const int size,
                     SizeOf("page_size", request->page_size(), kPageDefault, kPageMax));
    ASSIGN_OR_RETURN(const Filter filter, Filter::Parse(request->filter(), query::RunFields()));
    RETURN_IF_ERROR(CheckMask<v1::Run>(request->read_mask()));
    absl::Status status;
    LookAtBooks([&](const Fleet::Glance& glance) {
      const auto& runs = glance.books().runs.runs();
      auto at = runs.rbegin();
      if (!request->page_token().empty()) {
        const std::string id = absl::HexStringToBytes(request->page_token());
        const fleet::FleetRun* last = glance.books().runs.Find(absl::string_view(id));
        if (last == nullptr) {
          status = WrongToken();
          return;
        }
        at = std::make_reverse_iterator(runs.find(last->number));
      }
      for (; at != runs.rend(); ++at) {
        v1::Run run = glance.View(at->second);
        if (!Holds(filter, run)) continue;
        if (response->runs_size() == size) {
          response->set_next_page_token(absl::BytesToHexString(response->runs(size - 1).run_id()));
          return;
        }
        *response->add_runs() = std::move(run);
      }
    });
    for (v1::Run& run : *response->mutable_runs()) Trim(request->read_mask(), run);
    return status;
  };
  return ToGrpcStatus(list());
}

grpc::Status QueryService::GetRun(grpc::ServerContext*, const v1::GetRunRequest* request,
                                  v1::GetRunResponse* response) {
  absl::Status status;
  LookAtBooks([&](const Fleet::Glance& glance) {
    const auto run = glance.books().runs.Resolve(request->run_id());
    if (!run.ok()) {
      status = run.status();
      return;
    }
    *response->mutable_run() = glance.View(**run);
    if ((*run)->rules != nullptr) {
      *response->mutable_scope() = (*run)->rules->scope;
      *response->mutable_throttle() = (*run)->rules->throttle;
    }
    if (const auto waiting = glance.WaitingBytes((*run)->volume)) {
      response->set_waiting_bytes(*waiting);
    }
  });
  return ToGrpcStatus(status);
}

grpc::Status QueryService::ListSchedule(grpc::ServerContext*,
                                        const v1::ListScheduleRequest* request,
                                        v1::ListScheduleResponse* response) {
  absl::StatusOr<v1::ListScheduleResponse> schedule;
  Look([&](const FleetView& view) { schedule = view.Schedule(*request); });
  if (!schedule.ok()) return ToGrpcStatus(schedule.status());
  *response = *std::move(schedule);
  return grpc::Status::OK;
}

grpc::Status QueryService::GetHistory(grpc::ServerContext*, const v1::GetHistoryRequest* request,
                                      v1::GetHistoryResponse* response) {
  const auto get = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const int count, SizeOf("point_count_max", request->point_count_max(),
                                             kPointsDefault, kPointsMax));
    VolumeUuid uuid;  // zero: all together
    if (!request->volume().empty()) {
      ASSIGN_OR_RETURN(const v1::Volume volume, FindVolume(request->volume()));
      uuid = *VolumeUuidFromBytes(volume.volume_uuid());
    }
    const auto hour = [](const google::protobuf::Timestamp& time) { return time.seconds() / 3600; };
    const int64_t first = request->has_start_time() ? hour(request->start_time()) : 0;
    const int64_t last =
        request->has_end_time() ? hour(request->end_time()) : std::numeric_limits<int64_t>::max();
    ASSIGN_OR_RETURN(const std::vector<Fleet::HistoryRow> rows,
                     parts_.fleet.History(uuid, first, last));
    // The last one of each of `count` stretches: it is what was so at their end.
    const size_t step = (rows.size() + static_cast<size_t>(count) - 1) / static_cast<size_t>(count);
    for (size_t i = rows.empty() ? 0 : (rows.size() - 1) % step; i < rows.size(); i += step) {
      const storage::v1::HistoryRecord& record = rows[i].record;
      v1::HistoryPoint& point = *response->add_points();
      *point.mutable_time() = ToTimestamp(absl::FromUnixSeconds(rows[i].hour * 3600));
      if (record.has_used_bytes()) point.set_used_bytes(record.used_bytes());
      if (record.has_freed_bytes()) point.set_freed_bytes(record.freed_bytes());
      if (record.has_waiting_bytes()) point.set_waiting_bytes(record.waiting_bytes());
      if (record.has_pinned_bytes()) point.set_pinned_bytes(record.pinned_bytes());
      if (record.freed_at_least()) response->set_freed_at_least(true);
    }
    if (request->has_end_time()) return absl::OkStatus();
    AddPresent(uuid, *response);
    return absl::OkStatus();
  };
  return ToGrpcStatus(get());
}

void QueryService::AddPresent(const VolumeUuid& uuid, v1::GetHistoryResponse& response) const {
  v1::SpaceFigures space;
  Look([&](const FleetView& view) {
    if (uuid == VolumeUuid()) {
      space = view.Summary(Filter(), {}).total();
      return;
    }
    for (const v1::Volume& volume : view.volumes()) {
      if (volume.volume_uuid() == ToBytes(uuid)) space = volume.space();
    }
  });
  v1::HistoryPoint& point = *response.add_points();
  *point.mutable_time() = ToTimestamp(parts_.clock.Now());
  if (space.has_used_bytes()) point.set_used_bytes(space.used_bytes());
  if (space.has_freed_bytes()) point.set_freed_bytes(space.freed_bytes());
  if (space.has_waiting_bytes()) point.set_waiting_bytes(space.waiting_bytes());
  if (space.has_pinned_bytes()) point.set_pinned_bytes(space.pinned_bytes());
  if (space.freed_at_least()) response.set_freed_at_least(true);
}

// ---- from the index ----

grpc::Status QueryService::ListDuplicates(grpc::ServerContext*,
                                          const v1::ListDuplicatesRequest* request,
                                          v1::ListDuplicatesResponse* response) {
  return ToGrpcStatus(FillDuplicates(*request, *response));
}

absl::Status QueryService::FillDuplicates(const v1::ListDuplicatesRequest& request,
                                          v1::ListDuplicatesResponse& response) {
  ASSIGN_OR_RETURN(const int size,
                   SizeOf("page_size", request.page_size(), kGroupsDefault, kGroupsMax));
  ASSIGN_OR_RETURN(const v1::Volume volume, FindVolume(request.volume()));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Census> census, GetCensus());
  if (census == nullptr) return absl::OkStatus();
  *response.mutable_time() = ToTimestamp(census->time);
  for (const Census::VolumeCount& count : census->volumes) {
    if (ToBytes(count.uuid) != volume.volume_uuid()) continue;
    response.set_duplicate_bytes(count.duplicate_bytes);
    response.set_group_count(count.group_count);
    for (const Census::Group& group : count.largest) {
      if (response.groups_size() == size) break;
      v1::DuplicateGroup& listed = *response.add_groups();
      listed.set_digest(group.digest);
      listed.set_extent_bytes(group.extent_bytes);
      listed.set_copy_count(group.copy_count);
      listed.set_duplicate_bytes(group.duplicate_bytes());
    }
  }
  return absl::OkStatus();
}

grpc::Status QueryService::GetOverlap(grpc::ServerContext*, const v1::GetOverlapRequest* request,
                                      v1::GetOverlapResponse* response) {
  return ToGrpcStatus(FillOverlap(*request, *response));
}

absl::Status QueryService::FillOverlap(const v1::GetOverlapRequest& request,
                                       v1::GetOverlapResponse& response) {
  ASSIGN_OR_RETURN(const int size,
                   SizeOf("pair_count_max", request.pair_count_max(), kPairsDefault, kPairsMax));
  std::optional<v1::Volume> only;
  if (!request.volume().empty()) {
    ASSIGN_OR_RETURN(only, FindVolume(request.volume()));
  }
  response.set_everywhere_volume_count(query::kEverywhereVolumes);
  ASSIGN_OR_RETURN(const std::shared_ptr<const Census> census, GetCensus());
  if (census == nullptr) return absl::OkStatus();
  *response.mutable_time() = ToTimestamp(census->time);
  const int64_t nanos = absl::ToInt64Nanoseconds(census->elapsed);
  response.mutable_elapsed()->set_seconds(nanos / 1'000'000'000);
  response.mutable_elapsed()->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  response.set_everywhere_bytes(census->everywhere_bytes);
  response.set_mixed_checksums(census->mixed_checksums);

  // Volumes that a host has: what nobody has now has no name.
  std::map<std::string, size_t> place;  // uuid → in the census
  for (size_t i = 0; i < census->volumes.size(); ++i) {
    place[ToBytes(census->volumes[i].uuid)] = i;
  }
  std::map<size_t, int32_t> member_of;
  Look([&](const FleetView& view) {
    for (const v1::Volume& volume : view.volumes()) {
      const auto counted = place.find(volume.volume_uuid());
      if (counted == place.end()) continue;
      const Census::VolumeCount& count = census->volumes[counted->second];
      member_of[counted->second] = response.members_size();
      v1::GetOverlapResponse::Member& member = *response.add_members();
      member.set_volume_uuid(volume.volume_uuid());
      member.set_name(volume.name());
      member.set_host_name(volume.host_name());
      member.set_distinct_bytes(count.distinct_bytes);
      member.set_shared_bytes(count.shared_bytes);
    }
  });
  for (const Census::Pair& pair : census->pairs) {
    const auto first = member_of.find(pair.first);
    const auto second = member_of.find(pair.second);
    if (first == member_of.end() || second == member_of.end()) continue;
    const auto [low, high] = std::minmax(first->second, second->second);
    if (only && response.members(low).volume_uuid() != only->volume_uuid() &&
        response.members(high).volume_uuid() != only->volume_uuid()) {
      continue;
    }
    if (response.pairs_size() == size) {
      response.set_truncated(true);
      break;
    }
    v1::GetOverlapResponse::Pair& listed = *response.add_pairs();
    listed.set_first(low);
    listed.set_second(high);
    listed.set_shared_bytes(pair.shared_bytes);
  }
  return absl::OkStatus();
}

// ---- live ----

grpc::Status QueryService::WatchRuns(grpc::ServerContext* context,
                                     const v1::WatchRunsRequest* request,
                                     grpc::ServerWriter<v1::WatchRunsResponse>* writer) {
  const absl::StatusOr<Filter> filter = Filter::Parse(request->filter(), query::RunFields());
  if (!filter.ok()) return ToGrpcStatus(filter.status());
  std::map<std::string, std::string> told;  // id of a run that has not ended → as it was
  bool first = true;
  while (!context->IsCancelled()) {
    v1::WatchRunsResponse response;
    LookAtBooks([&](const Fleet::Glance& glance) {
      std::map<std::string, std::string> now;
      const auto tell = [&](const fleet::FleetRun& run) {
        v1::Run view = glance.View(run);
        if (!Holds(*filter, view) && !told.contains(run.id())) return;
        std::string bytes = view.SerializeAsString();
        const auto before = told.find(run.id());
        if (before == told.end() || before->second != bytes) *response.add_runs() = std::move(view);
        if (!run.ended()) now[run.id()] = std::move(bytes);
      };
      for (const int64_t number : glance.books().runs.active()) {
        tell(*glance.books().runs.Find(number));
      }
      for (const auto& [id, bytes] : told) {
        if (now.contains(id)) continue;
        const fleet::FleetRun* run = glance.books().runs.Find(absl::string_view(id));
        if (run != nullptr && run->ended()) tell(*run);
      }
      told = std::move(now);
    });
    if ((first || response.runs_size() > 0) && !writer->Write(response)) break;
    first = false;
    absl::SleepFor(kWatchInterval);
  }
  return grpc::Status::OK;
}

}  // namespace onefold
