#include "cli/privileges.h"

#include <linux/capability.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace onefold {
namespace {

bool Has(const Privileges& privileges, int capability) {
  return (privileges.effective_capabilities >> capability & 1) != 0;
}

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The first namespace maps all ids onto themselves; the file is empty where there are no
// namespaces.
bool MapsAllIds(absl::string_view uid_map) {
  const std::vector<absl::string_view> fields =
      absl::StrSplit(uid_map, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
  return fields.empty() ||
         (fields.size() == 3 && fields[0] == "0" && fields[1] == "0" && fields[2] == "4294967295");
}

}  // namespace

std::optional<Privileges> ParsePrivileges(absl::string_view proc_status,
                                          absl::string_view uid_map) {
  for (absl::string_view line : absl::StrSplit(proc_status, '\n')) {
    if (!absl::ConsumePrefix(&line, "CapEff:")) continue;
    Privileges privileges;
    if (!absl::SimpleHexAtoi(absl::StripAsciiWhitespace(line),
                             &privileges.effective_capabilities)) {
      return std::nullopt;
    }
    privileges.in_user_namespace = !MapsAllIds(uid_map);
    return privileges;
  }
  return std::nullopt;
}

absl::Status ReadPrivileges(Privileges& privileges) {
  const std::optional<Privileges> parsed =
      ParsePrivileges(ReadFile("/proc/self/status"), ReadFile("/proc/self/uid_map"));
  if (!parsed.has_value()) {
    return absl::FailedPreconditionError(
        "cannot read /proc/self/status: /proc must be mounted (in a chroot: mount -t proc proc "
        "/proc)");
  }
  privileges = *parsed;
  return absl::OkStatus();
}

absl::Status CheckPrivileges(const Privileges& privileges) {
  std::vector<std::string> missing;
  std::vector<std::string> options;
  if (!Has(privileges, CAP_SYS_ADMIN)) {
    missing.push_back("CAP_SYS_ADMIN (to read the filesystem's trees)");
    options.push_back("--cap-add SYS_ADMIN");
  }
  if (!Has(privileges, CAP_DAC_READ_SEARCH)) {
    missing.push_back("CAP_DAC_READ_SEARCH (to open files by their number)");
    options.push_back("--cap-add DAC_READ_SEARCH");
  }
  if (!missing.empty()) {
    return absl::PermissionDeniedError(
        absl::StrCat("this process lacks ", absl::StrJoin(missing, " and "),
                     ". Run it as root (sudo onefold …); in a container start that with: podman or "
                     "docker run ",
                     absl::StrJoin(options, " "), " …"));
  }
  if (privileges.in_user_namespace) {
    return absl::PermissionDeniedError(
        "this is a user namespace (a rootless container), where the kernel keeps the filesystem's "
        "trees closed even to root. Run it on the host, or in a container that root started");
  }
  return absl::OkStatus();
}

std::string PrivilegeWarning(const Privileges& privileges) {
  if (Has(privileges, CAP_FOWNER)) return "";
  return "CAP_FOWNER is missing: files of others cannot be read without changing their access "
         "times, so they are compared without reading ahead, which is slower (podman or docker: "
         "--cap-add FOWNER)";
}

}  // namespace onefold
