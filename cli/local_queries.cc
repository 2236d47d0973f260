#include "cli/local_queries.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "cli/command_line.h"
#include "common/status_macros.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/query/census_keeper.h"
#include "coordinator/query/query_service.h"
#include "coordinator/query/scratch_store.h"
#include "coordinator/query/single_host.h"
#include "coordinator/state_keys.h"
#include "onefold/storage/v1/run.pb.h"
#include "worker/daemon/host_inventory.h"
#include "worker/mounts.h"
#include "worker/resolve_targets.h"

namespace onefold {
namespace {

std::string MachineName() {
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return query::kSingleHostId;
  return name;
}

// What is mounted now. Unknown volumes are shown without size and place.
std::vector<v1::MountedVolume> MountedNow(const index::OrderedStore& state) {
  std::vector<std::string> paths;
  storage::v1::StoredRun last;
  const auto record = state.Get(index::RecordKey("last_run"));
  if (record.ok() && record->has_value() && last.ParseFromString(**record)) {
    paths.assign(last.paths().begin(), last.paths().end());
  }
  const absl::StatusOr<MountTable> mounts = MountTable::Read();
  if (!mounts.ok()) return {};
  SystemPathSource source;
  SystemFactsSource facts;
  return TakeInventory(*mounts, paths, source, facts).volumes;
}

// On-disk bytes of extents that wait, at their mean size.
std::optional<int64_t> WaitingBytes(const index::VolumeRecord& record) {
  if (record.extent_count() == 0) return std::nullopt;
  const double mean = static_cast<double>(record.extent_blocks()) * record.block_bytes() /
                      static_cast<double>(record.extent_count());
  return static_cast<int64_t>(mean * static_cast<double>(record.queue().queued_count()));
}

class LocalQueriesImpl final : public LocalQueries {
 public:
  explicit LocalQueriesImpl(Parts parts) : parts_(std::move(parts)) {}

  absl::Status Load() {
    ASSIGN_OR_RETURN(has_fleet_, query::HasFleetBooks(parts_.state));
    if (!has_fleet_) {
      const query::SingleHost host = {.name = MachineName(),
                                      .version = VersionNumber(),
                                      .mounted = MountedNow(parts_.state),
                                      .indexed = Indexed(),
                                      .running = parts_.running,
                                      .now = parts_.clock.Now()};
      RETURN_IF_ERROR(query::WriteBooks(parts_.state, host, books_));
    }
    Fleet::Options options;
    options.waiting_bytes = [this](const VolumeUuid& uuid) { return Waiting(uuid); };
    ASSIGN_OR_RETURN(
        fleet_, Fleet::Open(std::move(options), has_fleet_ ? parts_.state : books_, parts_.clock));
    census_.emplace(query::CensusKeeper::Options{}, parts_.index, parts_.volumes, parts_.clock);
    service_.emplace(
        QueryService::Parts{.clock = parts_.clock,
                            .fleet = *fleet_,
                            .census = *census_,
                            .census_at_once = parts_.census_at_once,
                            .hosts = [this] { return fleet_->ListHosts(); },
                            .figures = [this](const VolumeUuid& uuid) { return FiguresOf(uuid); },
                            .version = VersionNumber(),
                            .refresh = [this] { Refresh(); }});
    return absl::OkStatus();
  }

  v1::QueryService::Service& service() override { return *service_; }

 private:
  // What is told of runs under way is for whoever looks: that it cannot be told harms nobody.
  void Refresh() {
    if (has_fleet_ || !parts_.runs) return;
    v1::HostReport report;
    for (const v1::Host& host : fleet_->ListHosts()) {
      report.set_display_name(host.display_name());
      *report.mutable_volumes() = host.volumes();
    }
    for (v1::RunStatus& run : parts_.runs()) *report.add_runs() = std::move(run);
    fleet_->HandleSync(query::kSingleHostId, VersionNumber(), report).status().IgnoreError();
  }

  std::vector<VolumeUuid> Indexed() const {
    std::vector<VolumeUuid> indexed;
    for (const query::CountedVolume& volume : parts_.volumes()) indexed.push_back(volume.uuid);
    return indexed;
  }

  std::optional<index::VolumeRecord> RecordOf(const VolumeUuid& uuid) const {
    for (query::CountedVolume& volume : parts_.volumes()) {
      if (volume.uuid == uuid) return std::move(volume.record);
    }
    return std::nullopt;
  }

  std::optional<int64_t> Waiting(const VolumeUuid& uuid) const {
    const std::optional<index::VolumeRecord> record = RecordOf(uuid);
    return record ? WaitingBytes(*record) : std::nullopt;
  }

  std::optional<query::IndexFigures> FiguresOf(const VolumeUuid& uuid) const {
    const std::optional<index::VolumeRecord> record = RecordOf(uuid);
    if (!record) return std::nullopt;
    return query::IndexFigures{.extent_count = record->extent_count()};
  }

  const Parts parts_;
  bool has_fleet_ = false;
  query::ScratchStore books_;
  // In this order: what comes later refers to what comes before.
  std::unique_ptr<Fleet> fleet_;
  std::optional<query::CensusKeeper> census_;
  std::optional<QueryService> service_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LocalQueries>> LocalQueries::Open(Parts parts) {
  auto queries = std::make_unique<LocalQueriesImpl>(std::move(parts));
  RETURN_IF_ERROR(queries->Load());
  return queries;
}

}  // namespace onefold
