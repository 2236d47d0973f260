// What `onefold doctor` reads of the files in which Linux tells about itself: /proc, /sys/fs/btrfs
// and the links of systemd. Nothing is changed, and no disk is woken.
//
// `root`: "" on a running system, a folder of their likes in tests.

#ifndef ONEFOLD_CLI_DOCTOR_HOST_FILES_H_
#define ONEFOLD_CLI_DOCTOR_HOST_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/doctor/findings.h"

namespace onefold {

// Whether the filesystem of the mount `mount_id` has `option` ("autodefrag"). `mountinfo`: the text
// of /proc/self/mountinfo.
bool HasFilesystemOption(absl::string_view mountinfo, int mount_id, absl::string_view option);

// Fills in what /sys/fs/btrfs/`uuid` tells; `size_bytes`: of all devices. What it does not tell
// stays unknown.
void ReadVolumeFiles(const std::string& root, const std::string& uuid, int64_t size_bytes,
                     VolumeChecks& volume);

// Programs that run, and services and timers that are switched on, that dedupe btrfs: "bees
// (process 12)", "duperemove.timer". At most a few.
std::vector<std::string> OtherDedupers(const std::string& root);

}  // namespace onefold

#endif  // ONEFOLD_CLI_DOCTOR_HOST_FILES_H_
