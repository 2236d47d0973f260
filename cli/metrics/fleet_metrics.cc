#include "cli/metrics/fleet_metrics.h"

#include <map>

#include "absl/strings/string_view.h"
#include "cli/fleet/admin_words.h"

namespace onefold {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

// Families in the order in which they are first named.
class Collector {
 public:
  void Gauge(const char* name, const char* help, Labels labels, double value) {
    Add(MetricFamily::Kind::kGauge, name, help, std::move(labels), value);
  }
  void Counter(const char* name, const char* help, Labels labels, double value) {
    Add(MetricFamily::Kind::kCounter, name, help, std::move(labels), value);
  }
  // Nothing if it is not known: absent, never 0.
  void GaugeIf(bool known, const char* name, const char* help, Labels labels, double value) {
    if (known) Gauge(name, help, std::move(labels), value);
  }

  std::vector<MetricFamily> Take() { return std::move(families_); }

 private:
  void Add(MetricFamily::Kind kind, const char* name, const char* help, Labels labels,
           double value) {
    const auto [found, is_new] = places_.try_emplace(name, families_.size());
    if (is_new) families_.push_back({.name = name, .help = help, .kind = kind, .samples = {}});
    families_[found->second].samples.push_back({.labels = std::move(labels), .value = value});
  }

  std::vector<MetricFamily> families_;
  std::map<absl::string_view, size_t> places_;
};

double Seconds(const google::protobuf::Timestamp& time) {
  return absl::ToDoubleSeconds(TimeOf(time) - absl::UnixEpoch());
}

double Bytes(int64_t bytes) { return static_cast<double>(bytes); }

void AddFleet(const FleetSnapshot& snapshot, Collector& to) {
  const v1::GetSummaryResponse& summary = snapshot.summary;
  to.Gauge("onefold_build_info", "Version of the coordinator; always 1.",
           {{"version", snapshot.version}}, 1);
  std::map<std::string, int> runs = {{"running", 0}, {"waiting", 0}};
  runs["running"] = summary.running_count();
  runs["waiting"] = summary.waiting_count();
  for (const auto& [state, count] : runs) {
    to.Gauge("onefold_runs", "Runs that have not ended, by what they do.", {{"state", state}},
             count);
  }
  std::map<std::string, int> attention = {{"notice", 0}, {"warning", 0}, {"error", 0}};
  for (const v1::Attention& one : summary.attention()) {
    switch (one.severity()) {
      case v1::Attention::SEVERITY_ERROR: ++attention["error"]; break;
      case v1::Attention::SEVERITY_WARNING: ++attention["warning"]; break;
      default: ++attention["notice"];
    }
  }
  for (const auto& [severity, count] : attention) {
    to.Gauge("onefold_attention", "What people should look at, by how bad it is.",
             {{"severity", severity}}, count);
  }
  to.GaugeIf(snapshot.index_size_bytes.has_value(), "onefold_index_filesystem_size_bytes",
             "Size of the filesystem that the coordinator's index lies on.", {},
             Bytes(snapshot.index_size_bytes.value_or(0)));
  to.GaugeIf(snapshot.index_free_bytes.has_value(), "onefold_index_filesystem_avail_bytes",
             "What is free on the filesystem that the coordinator's index lies on.", {},
             Bytes(snapshot.index_free_bytes.value_or(0)));
  if (snapshot.certificate_expire_time.has_value()) {
    to.Gauge("onefold_certificate_expiry_timestamp_seconds",
             "When the certificate that the coordinator shows ends.", {},
             absl::ToDoubleSeconds(*snapshot.certificate_expire_time - absl::UnixEpoch()));
  }
}

void AddSchedule(const FleetSnapshot& snapshot, Collector& to) {
  std::map<std::string, int> missed;
  for (const v1::ScheduleEntry& entry : snapshot.past.entries()) {
    missed[entry.policy()] += entry.state() == v1::ScheduleEntry::STATE_MISSED ? 1 : 0;
  }
  for (const auto& [policy, count] : missed) {
    to.Gauge("onefold_schedule_missed",
             "Times of the last day at which a policy's runs were not made.", {{"policy", policy}},
             count);
  }
}

void AddHost(const v1::Host& host, Collector& to) {
  const Labels labels = {{"host", host.display_name()}, {"host_id", host.host_id()}};
  Labels info = labels;
  info.emplace_back("version", host.version());
  to.Gauge("onefold_host_info", "A host that has joined; always 1.", info, 1);
  to.Gauge("onefold_host_up", "Whether the host was heard of lately.", labels,
           host.state() == v1::Host::STATE_SILENT ? 0 : 1);
  to.Gauge("onefold_host_drained", "Whether a person keeps work away from the host.", labels,
           host.drained() ? 1 : 0);
  to.GaugeIf(host.has_last_seen_time(), "onefold_host_last_seen_timestamp_seconds",
             "When the host was last heard of.", labels, Seconds(host.last_seen_time()));
  to.GaugeIf(host.has_certificate_expire_time(),
             "onefold_host_certificate_expiry_timestamp_seconds",
             "When the host's certificate ends.", labels, Seconds(host.certificate_expire_time()));
}

void AddLastRun(const v1::Run& run, const Labels& labels, Collector& to) {
  for (const v1::RunState state : {v1::RUN_STATE_COMPLETED, v1::RUN_STATE_INCOMPLETE,
                                   v1::RUN_STATE_CANCELLED, v1::RUN_STATE_FAILED}) {
    Labels with_state = labels;
    with_state.emplace_back("state", StateWord(state));
    to.Gauge("onefold_volume_last_run_state",
             "How the last run of the volume ended: 1 for its state.", with_state,
             run.state() == state ? 1 : 0);
  }
  to.GaugeIf(run.has_end_time(), "onefold_volume_last_run_timestamp_seconds",
             "When the last run of the volume ended.", labels, Seconds(run.end_time()));
  const v1::RunFigures& figures = run.status().figures();
  to.GaugeIf(figures.has_bytes_freed(), "onefold_volume_last_run_freed_bytes",
             "What the last run of the volume freed on disk.", labels,
             Bytes(figures.bytes_freed()));
  to.Gauge("onefold_volume_last_run_problems", "What did not work in the last run of the volume.",
           labels, static_cast<double>(run.status().problem_count()));
  to.GaugeIf(run.status().has_elapsed(), "onefold_volume_last_run_duration_seconds",
             "How long the last run of the volume worked.", labels,
             absl::ToDoubleSeconds(DurationOf(run.status().elapsed())));
}

void AddVolume(const v1::Volume& volume, Collector& to) {
  const Labels labels = {{"uuid", volume.uuid()}};
  const v1::SpaceFigures& space = volume.space();
  to.Gauge("onefold_volume_info", "A volume: its name and its host; always 1.",
           {{"uuid", volume.uuid()},
            {"volume", volume.name()},
            {"host", volume.host_name()},
            {"host_id", volume.host_id()}},
           1);
  to.Gauge("onefold_volume_trouble", "Whether something keeps the volume from being worked on.",
           labels, volume.trouble().empty() ? 0 : 1);
  to.Gauge("onefold_volume_allowed", "Whether its host allows any of it to be touched.", labels,
           volume.mounted().allowed_roots().empty() ? 0 : 1);
  to.GaugeIf(space.has_size_bytes(), "onefold_volume_size_bytes", "Bytes of all devices.", labels,
             Bytes(space.size_bytes()));
  to.GaugeIf(space.has_used_bytes(), "onefold_volume_used_bytes", "Bytes used by data.", labels,
             Bytes(space.used_bytes()));
  to.GaugeIf(space.has_extent_count(), "onefold_volume_extents", "Extents in the index.", labels,
             Bytes(space.extent_count()));
  if (space.has_freed_bytes()) {
    to.Counter("onefold_volume_freed_bytes_total", "On-disk bytes that all runs have freed.",
               labels, Bytes(space.freed_bytes()));
  }
  to.GaugeIf(space.has_waiting_bytes(), "onefold_volume_waiting_bytes",
             "On-disk bytes in the index that no run has decided on.", labels,
             Bytes(space.waiting_bytes()));
  to.GaugeIf(space.has_pinned_bytes(), "onefold_volume_pinned_bytes",
             "On-disk bytes that have a copy but are held, as the last run found.", labels,
             Bytes(space.pinned_bytes()));
  to.GaugeIf(space.has_duplicate_bytes(), "onefold_volume_duplicate_bytes",
             "On-disk bytes that lie in the index more than once, but for one of each.", labels,
             Bytes(space.duplicate_bytes()));
  to.GaugeIf(volume.has_next_due_time(), "onefold_volume_next_due_timestamp_seconds",
             "When a policy makes the next run of the volume.", labels,
             Seconds(volume.next_due_time()));
  to.Gauge("onefold_volume_running", "Whether a run works on the volume now.", labels,
           volume.active_run().state() == v1::RUN_STATE_RUNNING ? 1 : 0);
  if (volume.has_last_run()) AddLastRun(volume.last_run(), labels, to);
}

}  // namespace

std::vector<MetricFamily> FleetMetrics(const FleetSnapshot& snapshot) {
  Collector collector;
  AddFleet(snapshot, collector);
  AddSchedule(snapshot, collector);
  for (const v1::Host& host : snapshot.hosts) AddHost(host, collector);
  for (const v1::Volume& volume : snapshot.volumes) AddVolume(volume, collector);
  return collector.Take();
}

}  // namespace onefold
