#include "cli/doctor/findings.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/quantity.h"
#include "cli/run_summary.h"
#include "common/escape.h"

namespace onefold {
namespace {

// A run stops by itself before metadata gets short; below this it hardly begins.
constexpr int64_t kMetadataFreeMin = int64_t{256} << 20;
constexpr int64_t kDataFreeMin = int64_t{64} << 20;
constexpr int64_t kUnallocatedMin = int64_t{1} << 30;
// On small filesystems these parts of it are enough.
constexpr int64_t kFreePartMin = 50;
constexpr int64_t kUnallocatedPartMin = 10;
// An index of a few TiB.
constexpr int64_t kStateFreeMin = int64_t{2} << 30;
// Hosts and coordinators renew theirs long before that.
constexpr absl::Duration kExpiryWarning = absl::Hours(7 * 24);
constexpr absl::Duration kPersonExpiryWarning = absl::Hours(30 * 24);

class Examiner {
 public:
  void Add(Severity severity, std::string kind, std::string subject, std::string text,
           std::string command = "") {
    findings_.push_back(
        {severity, std::move(kind), std::move(subject), std::move(text), std::move(command)});
  }

  void ExamineHost(const DoctorChecks& checks) {
    if (checks.kernel_warning.empty()) {
      Add(Severity::kOk, "kernel", "", absl::StrCat("Linux ", checks.kernel_release));
    } else {
      Add(Severity::kWarning, "kernel", "", checks.kernel_warning,
          "apt update && apt full-upgrade, or the like of your system; then: reboot");
    }
    if (!checks.privileges.ok()) {
      Add(Severity::kError, "privileges", "", std::string(checks.privileges.message()),
          "sudo onefold doctor");
    } else if (!checks.privilege_warning.empty()) {
      Add(Severity::kNotice, "privileges", "", checks.privilege_warning);
    } else {
      Add(Severity::kOk, "privileges", "", "enough for everything");
    }
    if (checks.clock_synchronised == false) {
      Add(Severity::kNotice, "clock", "",
          "the kernel says that its clock is not synchronised: schedules and certificates go by it",
          "timedatectl set-ntp true");
    } else if (checks.clock_synchronised == true) {
      Add(Severity::kOk, "clock", "", "synchronised");
    }
    for (const std::string& other : checks.other_dedupers) {
      Add(Severity::kWarning, "other-deduper", other,
          absl::StrCat(other,
                       " dedupes here, too: both undo and repeat each other's work; keep "
                       "one of them"),
          "systemctl list-units --all 'beesd*' 'duperemove*'; systemctl disable --now UNIT");
    }
    ExamineState(checks);
  }

  void ExamineCoordinator(const CoordinatorChecks& coordinator) {
    if (coordinator.answered.ok()) {
      Add(Severity::kOk, "coordinator", coordinator.address, "answers");
      return;
    }
    const bool unknown = absl::IsUnauthenticated(coordinator.answered) ||
                         absl::IsPermissionDenied(coordinator.answered) ||
                         absl::IsFailedPrecondition(coordinator.answered);
    Add(Severity::kError, "coordinator", coordinator.address,
        std::string(coordinator.answered.message()),
        unknown ? "onefold fleet user add NAME --role viewer, on the coordinator's host"
                : "systemctl status onefold-coordinator, on the coordinator's host");
  }

  void ExamineCertificate(const CertificateChecks& certificate, absl::Time now) {
    const bool person = certificate.whose == "person";
    const std::string renew =
        person ? "onefold fleet user add NAME --role ROLE, on the coordinator's host"
               : absl::StrCat("systemctl restart onefold-",
                              certificate.whose == "host" ? "worker" : "coordinator");
    const auto add = [&](Severity severity, const std::string& text, const std::string& command) {
      Add(severity, "certificate", certificate.file, text, command);
    };
    if (!certificate.read.ok()) {
      add(Severity::kWarning, std::string(certificate.read.message()), "");
    } else if (certificate.expires <= now) {
      add(Severity::kError, absl::StrCat("ended ", DurationText(now - certificate.expires), " ago"),
          renew);
    } else if (certificate.expires - now < (person ? kPersonExpiryWarning : kExpiryWarning)) {
      add(Severity::kWarning, absl::StrCat("ends in ", DurationText(certificate.expires - now)),
          renew);
    } else {
      add(Severity::kOk, absl::StrCat("good for ", DurationText(certificate.expires - now)), "");
    }
  }

  void ExamineVolume(const VolumeChecks& volume) {
    const std::string path = ShellWord(volume.path);
    if (!volume.inspected.ok()) {
      const bool not_btrfs = absl::IsUnimplemented(volume.inspected);
      Add(Severity::kError, "filesystem", volume.path,
          not_btrfs ? "not on btrfs" : std::string(volume.inspected.message()),
          absl::StrCat("findmnt --target ", path));
      return;
    }
    if (volume.read_only) {
      Add(Severity::kError, "filesystem", volume.path, "mounted read-only: nothing can be shared",
          absl::StrCat("mount -o remount,rw \"$(findmnt -n -o TARGET --target ", path, ")\""));
    } else {
      Add(Severity::kOk, "filesystem", volume.path,
          absl::StrCat("btrfs, writable",
                       volume.checksum.empty() ? "" : ", checksums: ", volume.checksum));
    }
    ExamineSpace(volume, path);
    if (volume.quotas == true) {
      Add(Severity::kWarning, "quotas", volume.path,
          "quotas are on: with many snapshots every shared extent is counted for all of them, "
          "which can make dedupe and snapshots very slow",
          absl::StrCat("btrfs quota disable ", path));
    }
    if (volume.autodefrag) {
      Add(Severity::kWarning, "autodefrag", volume.path,
          "mounted with autodefrag: it writes shared data anew and takes apart what was folded",
          absl::StrCat("mount -o remount,noautodefrag \"$(findmnt -n -o TARGET --target ", path,
                       ")\"; and remove it from /etc/fstab"));
    }
  }

  std::vector<Finding> Take() { return std::move(findings_); }

 private:
  void ExamineState(const DoctorChecks& checks) {
    if (!checks.state_free_bytes.has_value()) return;
    const std::string text =
        absl::StrCat(BytesText(*checks.state_free_bytes), " free for index and history");
    const bool little = *checks.state_free_bytes < kStateFreeMin;
    Add(little ? Severity::kWarning : Severity::kOk, "state-space", checks.state_directory,
        little ? absl::StrCat(text, "; about 1 GB is needed per TiB of data") : text,
        little ? "onefold dedupe --state DIR, on a disk with more room" : "");
  }

  void ExamineSpace(const VolumeChecks& volume, const std::string& path) {
    const int64_t unallocated = volume.unallocated_bytes.value_or(0);
    const auto short_of = [&](const std::optional<int64_t>& free, int64_t minimum) {
      return free.has_value() && volume.unallocated_bytes.has_value() &&
             *free < std::min(minimum, volume.size_bytes / kFreePartMin) &&
             unallocated < std::min(kUnallocatedMin, volume.size_bytes / kUnallocatedPartMin);
    };
    bool enough = true;
    if (short_of(volume.metadata_free_bytes, kMetadataFreeMin)) {
      enough = false;
      Add(Severity::kError, "metadata-space", volume.path,
          absl::StrCat("only ", BytesText(*volume.metadata_free_bytes + unallocated),
                       " are left for metadata: sharing needs some, and a run will stop"),
          absl::StrCat("btrfs balance start -dusage=25 ", path));
    }
    if (short_of(volume.data_free_bytes, kDataFreeMin)) {
      enough = false;
      Add(Severity::kNotice, "data-space", volume.path,
          "no room for data: ends of files cannot be written anew to free the rest",
          absl::StrCat("onefold dedupe --relocate=never ", path));
    }
    if (enough && volume.unallocated_bytes.has_value() && volume.metadata_free_bytes.has_value()) {
      Add(Severity::kOk, "space", volume.path,
          absl::StrCat(BytesText(*volume.metadata_free_bytes), " free in metadata, ",
                       BytesText(unallocated), " not allocated"));
    }
  }

  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> Examine(const DoctorChecks& checks, absl::Time now) {
  Examiner examiner;
  examiner.ExamineHost(checks);
  if (checks.coordinator.has_value()) examiner.ExamineCoordinator(*checks.coordinator);
  for (const CertificateChecks& certificate : checks.certificates) {
    examiner.ExamineCertificate(certificate, now);
  }
  for (const VolumeChecks& volume : checks.volumes) examiner.ExamineVolume(volume);
  return examiner.Take();
}

std::string SeverityWord(Severity severity) {
  switch (severity) {
    case Severity::kOk: return "ok";
    case Severity::kNotice: return "notice";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "error";
}

int DoctorExitCode(const std::vector<Finding>& findings) {
  Severity worst = Severity::kOk;
  for (const Finding& finding : findings) worst = std::max(worst, finding.severity);
  return worst == Severity::kError     ? kExitRefused
         : worst == Severity::kWarning ? kExitIncomplete
                                       : kExitDone;
}

std::string ShellWord(const std::string& path) {
  const bool plain =
      !path.empty() && path[0] != '-' && std::all_of(path.begin(), path.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '.' ||
               c == '_' || c == '-' || c == '@';
      });
  if (plain) return path;
  if (Escape(path) == path)
    return absl::StrCat("'", absl::StrReplaceAll(path, {{"'", "'\\''"}}), "'");
  // Bytes that a terminal must not see: as the shell's own escapes.
  std::string word = "$'";
  for (const char c : path) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '.') {
      word += c;
    } else {
      absl::StrAppend(&word, "\\x", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return word + "'";
}

}  // namespace onefold
