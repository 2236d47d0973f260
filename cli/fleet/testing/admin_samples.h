// Hosts and runs for tests of commands.

#ifndef ONEFOLD_CLI_FLEET_TESTING_ADMIN_SAMPLES_H_
#define ONEFOLD_CLI_FLEET_TESTING_ADMIN_SAMPLES_H_

#include <string>

#include "onefold/v1/admin_service.pb.h"

namespace onefold {

// FakeClock begins then.
inline constexpr int64_t kSampleSeconds = 1'000'000'000;

inline v1::Host SampleHost(const std::string& id, const std::string& name) {
  v1::Host host;
  host.set_host_id(id);
  host.set_display_name(name);
  host.set_state(v1::Host::STATE_CONNECTED);
  host.set_version("0.1.0");
  host.mutable_last_seen_time()->set_seconds(kSampleSeconds - 30);
  (*host.mutable_labels())["site"] = "berlin";
  v1::MountedVolume& volume = *host.add_volumes();
  volume.set_volume_uuid(std::string(16, '\x01'));
  volume.set_label("data");
  volume.add_mount_paths("/srv");
  volume.add_allowed_roots("/srv/home");
  volume.set_size_bytes(int64_t{1} << 40);
  volume.set_used_bytes(int64_t{1} << 39);
  return host;
}

inline v1::Run SampleRun(const std::string& id, v1::RunState state) {
  v1::Run run;
  run.set_run_id(id);
  run.set_volume_uuid(std::string(16, '\x01'));
  run.set_volume_name("data");
  run.set_state(state);
  run.mutable_create_time()->set_seconds(kSampleSeconds - 60);
  if (state != v1::RUN_STATE_WAITING) {
    run.set_host_id("host-1");
    run.mutable_start_time()->set_seconds(kSampleSeconds - 50);
    v1::RunStatus& status = *run.mutable_status();
    status.set_run_id(id);
    status.set_state(state);
    status.set_phase(v1::RUN_PHASE_FOLD);
    status.set_phase_fraction(0.43);
    status.mutable_figures()->set_bytes_freed(1 << 20);
  }
  return run;
}

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_TESTING_ADMIN_SAMPLES_H_
