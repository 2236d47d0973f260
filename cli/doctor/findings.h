// What `onefold doctor` makes of what it saw: what is wrong, how bad that is, and the command that
// mends it. Pure.

#ifndef ONEFOLD_CLI_DOCTOR_FINDINGS_H_
#define ONEFOLD_CLI_DOCTOR_FINDINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace onefold {

struct VolumeChecks {
  std::string path;        // as given
  absl::Status inspected;  // UNIMPLEMENTED: not on btrfs
  bool read_only = false;
  bool autodefrag = false;
  std::string checksum;  // "crc32c"; empty: not known
  std::optional<bool> quotas;
  int64_t size_bytes = 0;  // of all devices; 0: not known
  // Bytes in block groups, once whatever the profile; nullopt: not known.
  std::optional<int64_t> data_free_bytes;
  std::optional<int64_t> metadata_free_bytes;
  std::optional<int64_t> unallocated_bytes;  // of all devices
};

struct CertificateChecks {
  std::string file;
  std::string whose;  // "host", "coordinator", "person"
  absl::Status read;
  absl::Time expires = absl::InfiniteFuture();
};

struct CoordinatorChecks {
  std::string address;
  absl::Status answered;
};

struct DoctorChecks {
  std::string kernel_release;
  std::string kernel_warning;  // empty: no known bugs
  absl::Status privileges;
  std::string privilege_warning;
  std::optional<bool> clock_synchronised;
  std::string state_directory;
  std::optional<int64_t> state_free_bytes;
  std::vector<std::string> other_dedupers;  // "beesd (process 12)", "duperemove.timer"
  std::optional<CoordinatorChecks> coordinator;
  std::vector<CertificateChecks> certificates;
  std::vector<VolumeChecks> volumes;
};

enum class Severity { kOk, kNotice, kWarning, kError };

struct Finding {
  Severity severity = Severity::kOk;
  std::string kind;     // a word for programs: "kernel", "quotas"
  std::string subject;  // a path, an address; raw bytes; may be empty
  std::string text;     // one line, may hold raw bytes
  std::string command;  // what mends it; may be empty
};

// In the order of what has to be right first. What is right is told, too (kOk).
std::vector<Finding> Examine(const DoctorChecks& checks, absl::Time now);

// "ok", "notice", "warning", "error".
std::string SeverityWord(Severity severity);

// The exit code: 1 with an error, 2 with a warning, else 0.
int DoctorExitCode(const std::vector<Finding>& findings);

// `path` as a word of a shell.
std::string ShellWord(const std::string& path);

}  // namespace onefold

#endif  // ONEFOLD_CLI_DOCTOR_FINDINGS_H_
