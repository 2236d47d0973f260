// Bounds of what the fleet keeps, each with its reason.

#ifndef ONEFOLD_COORDINATOR_FLEET_LIMITS_H_
#define ONEFOLD_COORDINATOR_FLEET_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace onefold::fleet {

// Ten times what one coordinator is measured with.
inline constexpr size_t kHostsMax = 10'000;
// Filesystems of one host: more than any NAS has bays.
inline constexpr int kVolumesPerHostMax = 256;
// Volumes a host once had and nobody has now.
inline constexpr size_t kReleasedClaimsMax = 512;
inline constexpr int kPathsPerVolumeMax = 64;
inline constexpr int kLabelsPerHostMax = 64;
inline constexpr size_t kLabelBytesMax = 128;
// Names, versions, labels of filesystems (btrfs: 255).
inline constexpr size_t kNameBytesMax = 256;
inline constexpr size_t kPathBytesMax = 4096;
inline constexpr size_t kSentenceBytesMax = 1024;
// All of a host's report that is kept.
inline constexpr size_t kHostReportBytesMax = 256 * 1024;
// A host reports those it has and those that ended since it was last heard.
inline constexpr int kRunsPerReportMax = 1024;
inline constexpr size_t kRunIdBytesMax = 64;
inline constexpr size_t kPoliciesMax = 1000;
// Runs that ended; the oldest are forgotten. 1 KiB each.
inline constexpr size_t kEndedRunsMax = 5'000;
// Figures over time: each hour for a week, then one a day for a good year. 40 bytes each.
inline constexpr int64_t kHistoryHoursAll = 7 * 24;
inline constexpr int64_t kHistoryHoursMax = 400 * 24;
// Problems that are kept of a run.
inline constexpr int kProblemsMax = 100;
inline constexpr size_t kProblemBytesMax = 64 * 1024;
inline constexpr int kReasonsMax = 64;

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_LIMITS_H_
