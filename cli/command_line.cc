#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/quantity.h"

#ifndef ONEFOLD_VERSION
#error "the build tells the version"
#endif

namespace onefold {
namespace {

constexpr int kThreadsMax = 256;

constexpr char kProgramHelp[] =
    R"(onefold frees space on btrfs: it finds data that lies on disk more than once and lets the
kernel fold it into one copy. Files, their times and their snapshots stay as they are.

Usage:  onefold COMMAND [OPTIONS]

Commands:
  dedupe PATH…   find and fold what is below the paths
  help           this text; `onefold COMMAND --help` has the options of a command
  version        the version

Exit codes:  0 done · 1 refused, nothing was done · 2 done, but less than asked · 130, 143 interrupted
)";

constexpr char kDedupeFooter[] =
    R"(Without PATH, the paths and options of the last run (that was no dry run) are used again; options
that are given override them. --dry-run, --full and what concerns the output are never remembered.

Patterns of --exclude read like .gitignore:
  @eaDir  *.iso    a file or directory of that name, at any depth
  a/b              a/b below a given path        **/b/*.tmp   at any depth
  /srv/x           an absolute path              x/           only a directory
What a pattern excludes is neither changed nor used as a copy to share with.

Exit codes:
  0    done; also if data was pinned, excluded or changed meanwhile, or --max-time was over
  1    refused, or nothing could be done: the message says why and what to do
  2    done, but less than asked: a path is missing, something could not be read or written, …
  130  interrupted (143 by SIGTERM): what was done counts, the next run goes on from there

Examples:
  onefold dedupe --dry-run /srv/data
  onefold dedupe --exclude '*.iso' --max-time 4h /srv/data /home
)";

// The texts of the options, turned into values after CLI11 is done: its own conversions take "[a,b]" for
// a list and "1e3" for a number.
struct Texts {
  std::vector<std::string> exclude;
  std::string min_size;
  std::string max_size;
  std::string match;
  std::string relocate;
  std::string threads;
  std::string max_time;
  std::string progress;
  std::string state;
  bool skip_readonly = false;
  bool quiet = false;
  bool verbose = false;
};

class DedupeParser {
 public:
  DedupeParser() : app_("Finds data that lies on disk more than once below PATH… and folds it.") {
    app_.name("onefold dedupe");
    app_.usage_text = "Usage:  onefold dedupe [OPTIONS] [PATH…]";
    app_.footer(kDedupeFooter);
  }

 private:
  struct App : CLI::App {
    using CLI::App::App;
    std::string usage_text;
  };
  App app_;
};

}  // namespace
}  // namespace onefold
