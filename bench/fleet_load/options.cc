#include "bench/fleet_load/options.h"

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace onefold::bench {

const char kOptionsHelp[] = R"(fleet_load [options]: simulated workers against a real coordinator.

  --extents N       extent records of all volumes together (1000000); 0: only Sync is called
  --volumes N       volumes they belong to (1)
  --streams N       uploads at a time (all volumes)
  --workers N       connected workers that call Sync (1000)
  --sync-seconds N  each so often while there is load (10)
  --changes N       of a hundred such calls, those that tell something to be written (0)
  --idle-seconds N  how long the idle fleet is watched, 0: not at all (60)
  --duplicates N    extents in a hundred that are second copies (10)
  --seed N          of all chance (1)
  --plan yes|no     fetch the plan of the first volume (yes)
  --state DIR       where the coordinator keeps its databases; must be empty (below /tmp, removed)
  --coordinator CMD command of the coordinator; {state} and {port} are filled in (a small server)
  --upload-to HOST:PORT  only upload, to a coordinator that runs already
  --json FILE       the figures as JSON, "-" for standard output
)";

absl::StatusOr<Options> ParseOptions(int argc, char** argv) {
  Options options;
  const std::map<std::string, int64_t*> numbers = {
      {"extents", &options.extent_count},         {"volumes", &options.volume_count},
      {"streams", &options.stream_count},         {"workers", &options.worker_count},
      {"sync-seconds", &options.sync_seconds},    {"changes", &options.change_percent},
      {"idle-seconds", &options.idle_seconds},    {"seed", &options.seed},
      {"duplicates", &options.duplicate_percent}, {"port", &options.port}};
  const std::map<std::string, std::string*> words = {{"state", &options.state},
                                                     {"coordinator", &options.coordinator},
                                                     {"json", &options.json},
                                                     {"serve", &options.serve},
                                                     {"upload-to", &options.upload_to}};
  for (int i = 1; i < argc; ++i) {
    absl::string_view word = argv[i];
    if (word == "--help" || word == "-h") {
      options.help = true;
      return options;
    }
    if (!absl::ConsumePrefix(&word, "--")) {
      return absl::InvalidArgumentError(absl::StrCat("what is '", argv[i], "'?"));
    }
    std::pair<std::string, std::string> option = absl::StrSplit(word, absl::MaxSplits('=', 1));
    if (!absl::StrContains(word, '=')) {
      if (++i == argc) return absl::InvalidArgumentError(absl::StrCat("--", word, ": no value"));
      option.second = argv[i];
    }
    const auto& [name, value] = option;
    if (const auto text = words.find(name); text != words.end()) {
      *text->second = value;
    } else if (name == "plan" && (value == "yes" || value == "no")) {
      options.plan = value == "yes";
    } else if (const auto number = numbers.find(name); number == numbers.end() ||
                                                       !absl::SimpleAtoi(value, number->second) ||
                                                       *number->second < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, ": unknown, or not '", value, "'"));
    }
  }
  if (options.extent_count > 0 &&
      (options.volume_count < 1 || options.extent_count < options.volume_count)) {
    return absl::InvalidArgumentError("--volumes: at least 1, and no more than extents");
  }
  if (options.stream_count == 0) options.stream_count = options.volume_count;
  return options;
}

}  // namespace onefold::bench
