#include "cli/doctor_command.h"

#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/dedupe_arguments.h"
#include "cli/doctor/findings.h"
#include "cli/doctor/host_files.h"
#include "cli/doctor/report.h"
#include "cli/fleet/connection.h"
#include "cli/fleet/console.h"
#include "cli/fleet/grpc_admin_client.h"
#include "cli/fleet/options.h"
#include "cli/privileges.h"
#include "cli/run_summary.h"
#include "common/escape.h"
#include "common/identity/certificate.h"
#include "common/small_file.h"
#include "common/status_macros.h"
#include "worker/btrfs_facts.h"
#include "worker/kernel_check.h"
#include "worker/mounts.h"
#include "worker/resolve_targets.h"

namespace onefold {
namespace {

// Key, certificate and chain.
constexpr size_t kIdentityBytesMax = 256 << 10;

struct IdentityPlace {
  const char* file;
  const char* whose;
};
constexpr IdentityPlace kIdentityPlaces[] = {
    {"/var/lib/onefold-worker/identity.pem", "host"},
    {"/var/lib/onefold/identity/server.pem", "coordinator"},
    {"/var/lib/onefold-coordinator/identity/server.pem", "coordinator"},
};

std::string DoctorHelp() {
  return R"(Usage:  onefold doctor [OPTIONS] [PATH…]

Looks at what a run or a fleet needs, and says what is wrong and which command mends it: the kernel,
privileges, the clock, room for the state, other dedupers, the coordinator (if there is one),
certificates, and of each PATH (without: of all btrfs filesystems that are mounted) the filesystem,
its space, quotas and autodefrag. Changes nothing.

  --state DIR              where index and history are kept; default /var/lib/onefold, or
                           $XDG_STATE_HOME/onefold if not root
  --coordinator ADDRESS    HOST, HOST:PORT or unix:/PATH; else as `onefold fleet list` finds it, if
                           anything says that there is one
  --identity FILE          a certificate bundle of `onefold fleet user add`
  --insecure               plain text, also to another machine
  --json                   one JSON object (onefold.doctor.v1, see docs/json.md) instead of text
  -h, --help               this text

Exit codes:
  0    nothing is in the way
  1    something keeps onefold from working, or the arguments are wrong
  2    something should be mended
)";
}

std::string EnvironmentValue(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string ReadAll(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The kernel knows whether somebody disciplines its clock. Reading needs no privilege.
std::optional<bool> ClockSynchronised() {
  timex request = {};
  const int state = ::adjtimex(&request);
  if (state < 0) return std::nullopt;
  return state != TIME_ERROR && (request.status & STA_UNSYNC) == 0;
}

// Of the directory, or of what is there of the way to it.
std::optional<int64_t> FreeBytes(std::string directory) {
  struct statvfs space = {};
  while (::statvfs(directory.c_str(), &space) != 0) {
    const size_t slash = directory.find_last_of('/');
    if (directory.size() <= 1 || slash == std::string::npos) return std::nullopt;
    directory = slash == 0 ? "/" : directory.substr(0, slash);
  }
  return static_cast<int64_t>(space.f_bavail) * static_cast<int64_t>(space.f_frsize);
}

absl::Time ExpiryIn(const std::string& pem, absl::Status& read) {
  const absl::StatusOr<identity::Certificate> certificate = identity::Certificate::FromPem(pem);
  read = certificate.status();
  return certificate.ok() ? certificate->not_after() : absl::InfiniteFuture();
}

void CheckIdentities(DoctorChecks& checks) {
  for (const IdentityPlace& place : kIdentityPlaces) {
    const absl::StatusOr<std::string> pem = ReadSmallFile(place.file, kIdentityBytesMax);
    if (absl::IsNotFound(pem.status())) continue;
    CertificateChecks found{.file = place.file, .whose = place.whose, .read = pem.status()};
    if (pem.ok()) found.expires = ExpiryIn(*pem, found.read);
    checks.certificates.push_back(std::move(found));
  }
}

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

void CheckCoordinator(const Options& options, DoctorChecks& checks) {
  const ConnectionArguments given{.coordinator = options.Value("--coordinator"),
                                  .identity_file = options.Value("--identity"),
                                  .insecure = options.Has("--insecure")};
  const bool expected = !given.coordinator.empty() || !given.identity_file.empty() ||
                        !EnvironmentValue("ONEFOLD_COORDINATOR").empty() ||
                        !EnvironmentValue("ONEFOLD_IDENTITY").empty() ||
                        Exists(kCoordinatorSocket) || Exists(DefaultBundlePath());
  if (!expected) return;
  CoordinatorChecks found{.address = given.coordinator, .answered = absl::OkStatus()};
  const absl::StatusOr<Connection> connection = FindConnection(given);
  if (connection.ok()) {
    found.address = connection->address.text;
    if (connection->identity.has_value()) {
      CertificateChecks person{
          .file = absl::StrCat("of ", connection->identity->name), .whose = "person", .read = {}};
      person.expires = ExpiryIn(connection->identity->certificate_pem, person.read);
      checks.certificates.push_back(std::move(person));
    }
    const absl::StatusOr<std::unique_ptr<AdminClient>> client =
        NewGrpcAdminClient(*connection, given.insecure);
    v1::ListHostsRequest request;
    request.set_page_size(1);
    found.answered = client.ok() ? (*client)->ListHosts(request).status() : client.status();
  } else {
    found.answered = connection.status();
  }
  checks.coordinator = std::move(found);
}

VolumeChecks CheckVolume(const std::string& given, const absl::StatusOr<MountTable>& mounts,
                         const std::string& mountinfo) {
  VolumeChecks volume;
  volume.path = given;
  SystemPathSource source;
  const absl::StatusOr<std::string> path = source.RealPath(given);
  if (!path.ok()) {
    volume.inspected = path.status();
    return volume;
  }
  const absl::StatusOr<BtrfsPath> inspected = source.Inspect(*path);
  if (!inspected.ok()) {
    volume.inspected = inspected.status();
    return volume;
  }
  volume.read_only = inspected->read_only_mount;
  const Mount* mount = mounts.ok() ? mounts->MountOf(*path) : nullptr;
  int64_t size_bytes = 0;
  if (mount != nullptr) {
    volume.autodefrag = HasFilesystemOption(mountinfo, mount->id, "autodefrag");
    const absl::StatusOr<BtrfsFacts> facts = ReadBtrfsFacts(mount->point);
    if (facts.ok()) size_bytes = facts->size_bytes;
  }
  ReadVolumeFiles("", ToString(inspected->uuid), size_bytes, volume);
  if (size_bytes == 0) volume.unallocated_bytes.reset();
  return volume;
}

// One mount of each btrfs filesystem.
std::vector<std::string> AllVolumes(const MountTable& mounts) {
  std::vector<std::string> devices;
  std::vector<std::string> points;
  for (const Mount& mount : mounts.mounts()) {
    if (mount.type != "btrfs") continue;
    if (std::find(devices.begin(), devices.end(), mount.device) != devices.end()) continue;
    devices.push_back(mount.device);
    points.push_back(mount.point);
  }
  return points;
}

int RunDoctor(const Arguments& arguments) {
  const absl::StatusOr<Options> options = ParseOptions({{"--state", true},
                                                        {"--coordinator", true},
                                                        {"--identity", true},
                                                        {"--insecure", false},
                                                        {"--json", false}},
                                                       arguments);
  if (!options.ok()) {
    std::fprintf(stderr, "onefold: %s\nTry: onefold doctor --help\n",
                 EscapeText(options.status().message()).c_str());
    return kExitRefused;
  }
  DoctorChecks checks;
  checks.kernel_release = RunningKernel().release;
  checks.kernel_warning = KernelWarning(RunningKernel());
  Privileges privileges;
  checks.privileges = ReadPrivileges(privileges);
  if (checks.privileges.ok()) checks.privileges = CheckPrivileges(privileges);
  if (checks.privileges.ok()) checks.privilege_warning = PrivilegeWarning(privileges);
  checks.clock_synchronised = ClockSynchronised();
  checks.state_directory =
      options->Has("--state")
          ? options->Value("--state")
          : DefaultStateDirectory(::geteuid() == 0, EnvironmentValue("XDG_STATE_HOME"),
                                  EnvironmentValue("HOME"));
  if (!checks.state_directory.empty()) checks.state_free_bytes = FreeBytes(checks.state_directory);
  checks.other_dedupers = OtherDedupers("");
  CheckIdentities(checks);
  CheckCoordinator(*options, checks);

  const absl::StatusOr<MountTable> mounts = MountTable::Read();
  const std::string mountinfo = ReadAll("/proc/self/mountinfo");
  std::vector<std::string> paths = options->operands();
  if (paths.empty() && mounts.ok()) paths = AllVolumes(*mounts);
  for (const std::string& path : paths) {
    checks.volumes.push_back(CheckVolume(path, mounts, mountinfo));
  }

  const std::vector<Finding> findings = Examine(checks, absl::Now());
  TerminalConsole console;
  const bool colour = console.IsTerminal() && EnvironmentValue("NO_COLOR").empty() &&
                      EnvironmentValue("TERM") != "dumb";
  console.Print(options->Has("--json") ? absl::StrCat(FindingsJson(findings), "\n")
                                       : FindingsText(findings, colour));
  return console.printed() ? DoctorExitCode(findings) : kExitRefused;
}

}  // namespace

const Command kDoctorCommand = {.name = "doctor",
                                .parameters = "PATH…",
                                .summary = "what is in the way, and what mends it",
                                .help = DoctorHelp,
                                .run = RunDoctor};

}  // namespace onefold
