#include "cli/doctor/host_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/small_file.h"

namespace onefold {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFileBytesMax = 4096;
constexpr size_t kOthersMax = 8;
// As the kernel names processes; their units begin likewise.
constexpr absl::string_view kDedupers[] = {"bees", "beesd", "duperemove", "dduper"};

std::string ReadLine(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kFileBytesMax);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

std::optional<int64_t> ReadNumber(const std::string& path) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(ReadLine(path), &number) || number < 0) return std::nullopt;
  return number;
}

// Names in a folder; none if it cannot be read.
std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  while (!error && entry != fs::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<int64_t> FreeIn(const std::string& kind) {
  const std::optional<int64_t> total = ReadNumber(kind + "/total_bytes");
  const std::optional<int64_t> used = ReadNumber(kind + "/bytes_used");
  if (!total.has_value() || !used.has_value()) return std::nullopt;
  return std::max<int64_t>(0, *total - *used);
}

}  // namespace

bool HasFilesystemOption(absl::string_view mountinfo, int mount_id, absl::string_view option) {
  for (const absl::string_view line : absl::StrSplit(mountinfo, '\n')) {
    int id = 0;
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (!absl::SimpleAtoi(parts[0], &id) || id != mount_id) continue;
    // "… - btrfs /dev/sda rw,autodefrag": options of the filesystem come last.
    for (const absl::string_view word :
         absl::StrSplit(line.substr(line.find_last_of(' ') + 1), ',')) {
      if (word == option) return true;
    }
  }
  return false;
}

void ReadVolumeFiles(const std::string& root, const std::string& uuid, int64_t size_bytes,
                     VolumeChecks& volume) {
  const std::string folder = absl::StrCat(root, "/sys/fs/btrfs/", uuid);
  std::error_code error;
  if (!fs::is_directory(folder, error)) return;
  // "crc32c (crc32c-intel)"
  const std::string checksum = ReadLine(folder + "/checksum");
  volume.checksum = checksum.substr(0, checksum.find(' '));
  volume.quotas = fs::is_directory(folder + "/qgroups", error);
  const std::string allocation = folder + "/allocation/";
  volume.data_free_bytes = FreeIn(allocation + "data");
  volume.metadata_free_bytes = FreeIn(allocation + "metadata");
  int64_t allocated = 0;
  for (const char* kind : {"data", "metadata", "system"}) {
    const std::optional<int64_t> bytes = ReadNumber(absl::StrCat(allocation, kind, "/disk_total"));
    if (!bytes.has_value()) return;
    allocated += *bytes;
  }
  volume.size_bytes = size_bytes;
  volume.unallocated_bytes = std::max<int64_t>(0, size_bytes - allocated);
}

std::vector<std::string> OtherDedupers(const std::string& root) {
  std::vector<std::string> others;
  for (const std::string& process : NamesIn(root + "/proc")) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(process[0]))) continue;
    const std::string name = ReadLine(absl::StrCat(root, "/proc/", process, "/comm"));
    for (const absl::string_view deduper : kDedupers) {
      if (name == deduper) others.push_back(absl::StrCat(name, " (process ", process, ")"));
    }
  }
  const std::string systemd = root + "/etc/systemd/system";
  for (const std::string& folder : NamesIn(systemd)) {
    if (!absl::EndsWith(folder, ".wants")) continue;
    for (const std::string& unit : NamesIn(absl::StrCat(systemd, "/", folder))) {
      const bool dedupes = absl::StartsWith(unit, "beesd") || absl::StartsWith(unit, "duperemove");
      if (dedupes) others.push_back(unit);
    }
  }
  if (others.size() > kOthersMax) others.resize(kOthersMax);
  return others;
}

}  // namespace onefold
