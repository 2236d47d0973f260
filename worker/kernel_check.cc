#include "worker/kernel_check.h"

#include <sys/utsname.h>

#include <fstream>
#include <tuple>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace onefold {
namespace {

struct Series {
  int major;
  int minor;
  friend auto operator<=>(const Series&, const Series&) = default;
};

struct Fix {
  Series series;
  int patch;
};

// A bug from the first to the last affected series. A series that got the fix later is in `fixes`;
// the last of them is the first release that never had the bug.
struct Bug {
  Series first;
  Series last;
  const char* harm;
  std::vector<Fix> fixes;
};

// Worst first. Of the bugs that are known, those that scanning the trees, resolving references or
// deduping can run into, and those that lose a filesystem which is merely in use.
const std::vector<Bug>& KnownBugs() {
  static const auto* const bugs = new std::vector<Bug>{
      {{5, 1}, {5, 4}, "metadata can be damaged beyond repair", {{{5, 4}, 14}, {{5, 5}, 0}}},
      {{5, 12},
       {5, 19},
       "space can be given to two files at once",
       {{{5, 15}, 65}, {{5, 19}, 6}, {{6, 0}, 0}}},
      {{0, 0},
       {5, 0},
       "compressed data around holes can read wrong",
       {{{4, 4}, 177}, {{4, 9}, 165}, {{4, 14}, 108}, {{4, 19}, 31}, {{5, 0}, 4}, {{5, 1}, 0}}},
      {{6, 10},
       {6, 11},
       "the filesystem can turn read-only while extents are shared",
       {{{6, 11}, 10}, {{6, 12}, 0}}},
      {{5, 4},
       {5, 11},
       "the filesystem can turn read-only after many dedupes, as if memory were bad",
       {{{5, 4}, 125}, {{5, 10}, 43}, {{5, 11}, 5}, {{5, 12}, 0}}},
      {{0, 0},
       {5, 12},
       "the kernel can crash while references are resolved",
       {{{4, 14}, 233},
        {{4, 19}, 191},
        {{5, 4}, 118},
        {{5, 10}, 36},
        {{5, 11}, 20},
        {{5, 12}, 3},
        {{5, 13}, 0}}},
      {{0, 0},
       {5, 1},
       "the kernel can crash when a snapshot is sent and deduped at once",
       {{{5, 0}, 18}, {{5, 1}, 4}, {{5, 2}, 0}}},
      {{0, 0},
       {5, 0},
       "deduping and renaming the same file can block each other for ever",
       {{{5, 0}, 4}, {{5, 1}, 0}}},
      {{0, 0},
       {5, 8},
       "reading the trees can block for ever",
       {{{4, 4}, 237},
        {{4, 9}, 237},
        {{4, 14}, 199},
        {{4, 19}, 146},
        {{5, 4}, 66},
        {{5, 8}, 10},
        {{5, 9}, 0}}},
      {{0, 0},
       {5, 6},
       "resolving references can block for ever while a subvolume is being deleted",
       {{{5, 7}, 0}}},
      {{6, 2},
       {6, 3},
       "the kernel leaves out references of extents, so less is freed",
       {{{6, 2}, 16}, {{6, 3}, 3}, {{6, 4}, 0}}},
      {{0, 0},
       {5, 2},
       "incremental sends can fail after deduping",
       {{{4, 9}, 188}, {{4, 14}, 137}, {{4, 19}, 65}, {{5, 2}, 7}, {{5, 3}, 0}}},
      {{5, 0},
       {5, 5},
       "the last part of a file cannot be shared",
       {{{5, 4}, 19}, {{5, 5}, 3}, {{5, 6}, 0}}},
      {{0, 0},
       {5, 6},
       "resolving references of widely shared extents takes very long",
       {{{5, 4}, 96}, {{5, 7}, 0}}},
  };
  return *bugs;
}

// How many bugs a warning names; the worst come first.
constexpr size_t kBugsNamedMax = 3;

// Takes a number from the front of `text`.
std::optional<int> ConsumeNumber(absl::string_view& text) {
  int number = 0;
  size_t digits = 0;
  while (digits < text.size() && absl::ascii_isdigit(text[digits]) && digits < 7) {
    number = number * 10 + (text[digits++] - '0');
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

std::optional<KernelVersion> ParseRelease(absl::string_view text) {
  KernelVersion version;
  const std::optional<int> major = ConsumeNumber(text);
  if (!major.has_value() || !absl::StartsWith(text, ".")) return std::nullopt;
  text.remove_prefix(1);
  const std::optional<int> minor = ConsumeNumber(text);
  if (!minor.has_value()) return std::nullopt;
  version.major = *major;
  version.minor = *minor;
  if (absl::StartsWith(text, ".")) {
    text.remove_prefix(1);
    version.patch = ConsumeNumber(text).value_or(0);
  }
  // "5.15.0-91-generic" and "4.18.0-553.el8", but neither "6.10.0-rc3" nor "6.12.9-1-default".
  version.patch_known =
      version.patch != 0 || text.size() < 2 || text[0] != '-' || !absl::ascii_isdigit(text[1]);
  return version;
}

Series SeriesOf(const KernelVersion& version) { return {version.major, version.minor}; }

// Where `version` gets rid of `bug`: nullopt if it does not have it.
std::optional<Fix> NeededFix(const Bug& bug, const KernelVersion& version) {
  const Series series = SeriesOf(version);
  if (series < bug.first || series > bug.last) return std::nullopt;
  for (const Fix& fix : bug.fixes) {
    if (fix.series != series) continue;
    if (version.patch_known && version.patch >= fix.patch) return std::nullopt;
    return fix;
  }
  return bug.fixes.back();
}

std::string ToText(const Fix& fix) {
  const std::string series = absl::StrCat(fix.series.major, ".", fix.series.minor);
  return fix.patch == 0 ? series : absl::StrCat(series, ".", fix.patch);
}

}  // namespace

KernelNames RunningKernel() {
  KernelNames names;
  struct utsname name;
  if (::uname(&name) == 0) {
    names.release = name.release;
    names.version = name.version;
  }
  std::ifstream signature("/proc/version_signature");
  std::getline(signature, names.signature);
  return names;
}

std::optional<KernelVersion> ParseKernelVersion(const KernelNames& names) {
  const std::optional<KernelVersion> release = ParseRelease(names.release);
  if (!release.has_value() || release->patch_known) return release;
  // "Ubuntu 5.15.0-91.101-generic 5.15.131", "#1 SMP Debian 6.1.76-1 (2024-02-01)"
  for (const std::string& text : {names.signature, names.version}) {
    for (const absl::string_view word : absl::StrSplit(text, ' ')) {
      const std::optional<KernelVersion> version = ParseRelease(word);
      if (version.has_value() && version->patch_known && SeriesOf(*version) == SeriesOf(*release)) {
        return version;
      }
    }
  }
  return release;
}

std::string KernelWarning(const KernelNames& names) {
  const std::optional<KernelVersion> version = ParseKernelVersion(names);
  if (!version.has_value()) return "";
  std::vector<std::string> harms;
  size_t more = 0;
  for (const Bug& bug : KnownBugs()) {
    const std::optional<Fix> fix = NeededFix(bug, *version);
    if (!fix.has_value()) continue;
    if (harms.size() == kBugsNamedMax) {
      ++more;
      continue;
    }
    harms.push_back(absl::StrCat(bug.harm, " (fixed in ", ToText(*fix), ")"));
  }
  if (harms.empty()) return "";
  return absl::StrCat("Linux ", names.release, version->patch_known ? " has" : " may have",
                      " bugs that a run can trigger: ", absl::StrJoin(harms, "; "),
                      more > 0 ? absl::StrCat("; and ", more, " more") : "",
                      version->patch_known
                          ? ". Update the kernel if you can."
                          : ". Check that your vendor has carried the fixes over.");
}

}  // namespace onefold
