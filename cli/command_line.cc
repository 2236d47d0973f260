#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/quantity.h"
#include "common/nearest_word.h"
#include "common/status_macros.h"

#ifndef ONEFOLD_VERSION
#error "the build tells the version"
#endif

namespace onefold {
namespace {

constexpr int kThreadsMax = 256;
constexpr double kGainMax = 1e6;

constexpr char kDedupeHelp[] =
    R"(Usage:  onefold dedupe [OPTIONS] [PATH…]

Finds data that lies on disk more than once below the paths and folds it into one copy. As root, or with
CAP_SYS_ADMIN and CAP_DAC_READ_SEARCH, it asks btrfs for that; otherwise, and on XFS, it walks the
directories and reads what is new. Without PATH, the paths and options of the last run are used again;
options that are given override them.

What to look at:
  --exclude PATTERN        leave alone what the pattern matches (see below); may be repeated
  --min-size N             leave alone files smaller than N (4096, 4K, 1MiB, 2G)
  --max-size N             leave alone files larger than N
  --skip-readonly-subvolumes
                           leave alone read-only subvolumes and snapshots (--no-… to take it back)
How:
  --dry-run                show what would be freed, with examples; change nothing
  --match=extents|all      extents: only pieces that are equal as a whole; all (the default): also
                           what lies inside larger ones
  --relocate=tails|all|never
                           where a few blocks without a match (the end of a file, as a rule) keep
                           the rest of an extent from being freed, write these blocks anew; tails
                           (the default): where twice as much is freed as is written; all: where
                           anything is gained
  --relocate-gain=R        another bound than that: bytes freed for each byte written
  --full                   look at everything again, not only at what is new
  --threads N              work on at most N files at a time
  --max-time D             end after D (90s, 10m, 4h, 1h30m; a bare number is seconds); the next run
                           goes on from there
  --state DIR              where index and history are kept; default /var/lib/onefold, or
                           $XDG_STATE_HOME/onefold if not root
Output:
  --json                   print one JSON object (onefold.run.v1) instead of a summary
  --progress=auto|plain|json|none
                           how to show progress, on stderr; auto: a status line on a terminal,
                           else a few plain lines
  -q, --quiet              print one line, and warnings and problems if there are any
  -v, --verbose            print more
  -h, --help               this text

--dry-run, --full, --state and what concerns output are never remembered for the next run. With
paths, nothing of an earlier run is used; without, --exclude replaces all patterns of that run.

Patterns read like .gitignore:
  @eaDir  *.iso            a file or directory of that name, at any depth
  a/b     **/b/*.tmp       a/b below a given path; at any depth
  /srv/x  x/               an absolute path; only a directory
What a pattern excludes is neither changed nor used as a copy to share with.

Exit codes:
  0    done; also if data was pinned, excluded or changed meanwhile, or --max-time was over
  1    refused, or nothing could be done: the message says why and what to do
  2    done, but less than asked: a path is missing, something could not be read, …
  130  interrupted (143 by SIGTERM): what was done counts, the next run goes on from there

Examples:
  onefold dedupe --dry-run /srv/data
  onefold dedupe --exclude '*.iso' --max-time 4h /srv/data /home
)";

// The options as text, turned into values after CLI11 is done: its own conversions take "[a,b]" for
// a list and "1e3" for a number.
struct Texts {
  std::vector<std::string> exclude;
  std::string min_size;
  std::string max_size;
  std::string match = "all";
  std::string relocate = "tails";
  std::string relocate_gain;
  std::string threads;
  std::string max_time;
  std::string progress = "auto";
  std::string state;
  bool dry_run = false;
  bool full = false;
  bool json = false;
  bool skip_readonly = false;
  bool quiet = false;
  bool verbose = false;
};

class DedupeParser {
 public:
  DedupeParser() {
    // Paths are taken from what is left over, byte for byte.
    app_.allow_extras();
    app_.set_help_flag();
    exclude_ = app_.add_option("--exclude", texts_.exclude)->allow_extra_args(false);
    min_size_ = Add("--min-size", texts_.min_size);
    max_size_ = Add("--max-size", texts_.max_size);
    skip_readonly_ = app_.add_flag("--skip-readonly-subvolumes,!--no-skip-readonly-subvolumes",
                                   texts_.skip_readonly);
    app_.add_flag("--dry-run", texts_.dry_run);
    match_ = Add("--match", texts_.match);
    relocate_ = Add("--relocate", texts_.relocate);
    relocate_gain_ = Add("--relocate-gain", texts_.relocate_gain);
    app_.add_flag("--full", texts_.full);
    threads_ = Add("--threads", texts_.threads);
    max_time_ = Add("--max-time", texts_.max_time);
    state_ = Add("--state", texts_.state);
    app_.add_flag("--json", texts_.json);
    Add("--progress", texts_.progress);
    app_.add_flag("-q,--quiet", texts_.quiet);
    app_.add_flag("-v,--verbose", texts_.verbose);
  }

  absl::StatusOr<DedupeArguments> Parse(const std::vector<std::string>& arguments) {
    const auto end_of_options = std::find(arguments.begin(), arguments.end(), "--");
    std::vector<std::string> options(arguments.begin(), end_of_options);
    for (size_t i = 0; i < options.size(); ++i) {
      RETURN_IF_ERROR(CheckValue(options[i], i + 1 < options.size() ? &options[i + 1] : nullptr));
    }
    std::reverse(options.begin(), options.end());  // as CLI11 wants them
    try {
      app_.parse(std::move(options));
    } catch (const CLI::Error& error) {
      return absl::InvalidArgumentError(error.what());
    }
    DedupeArguments parsed;
    for (std::string& path : app_.remaining()) {
      if (path.size() > 1 && path.front() == '-') {
        const std::string near = NearestWord(path, OptionNames());
        return absl::InvalidArgumentError(
            absl::StrCat("there is no option ", path,
                         near.empty() ? "" : absl::StrCat("; did you mean ", near, "?"),
                         " (a path that begins so goes behind --)"));
      }
      parsed.paths.push_back(std::move(path));
    }
    if (end_of_options != arguments.end()) {
      parsed.paths.insert(parsed.paths.end(), end_of_options + 1, arguments.end());
    }
    for (const std::string& path : parsed.paths) {
      if (path.empty()) {  // an unset variable in a script, most likely
        return absl::InvalidArgumentError("a PATH is empty; for the current directory say .");
      }
    }
    const absl::Status status = Convert(parsed);
    if (!status.ok()) return status;
    return parsed;
  }

 private:
  CLI::Option* Add(const std::string& name, std::string& text) {
    return app_.add_option(name, text)->take_last();
  }

  std::vector<std::string> OptionNames() const {
    std::vector<std::string> names;
    for (const CLI::Option* option : app_.get_options()) names.push_back(option->get_name());
    return names;
  }

  // Whether a value stands where one belongs, in our words and stricter than CLI11: "--state= DIR"
  // gets DIR there, --dry-run=no is taken, and a forgotten value would swallow the option behind
  // it: "--exclude --dry-run" would be no dry run. `next`: the argument behind, or nullptr.
  absl::Status CheckValue(const std::string& argument, const std::string* next) const {
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const CLI::Option* option =
        name.compare(0, 1, "-") == 0 ? app_.get_option_no_throw(name) : nullptr;
    if (option == nullptr) return absl::OkStatus();
    const bool takes_value = option->get_items_expected_max() > 0;
    if (!takes_value && equals != std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(name, " takes no value"));
    }
    if (takes_value &&
        (equals == std::string::npos ? next == nullptr : equals + 1 == argument.size())) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": the value is missing"));
    }
    if (takes_value && equals == std::string::npos && next->size() > 1 && next->front() == '-') {
      return absl::InvalidArgumentError(absl::StrCat(name, ": the value is missing before ", *next,
                                                     "; if that is the value, write ", name, "=",
                                                     *next));
    }
    return absl::OkStatus();
  }

  // `text` must be one of the words; what was not given has a default that is.
  static absl::Status CheckChoice(const char* option, const std::string& text,
                                  std::initializer_list<const char*> words) {
    if (std::find(words.begin(), words.end(), text) != words.end()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        option, ": '", text, "' is not known; it may be ", absl::StrJoin(words, ", ")));
  }

  static absl::Status ConvertSize(const CLI::Option* option, const std::string& text,
                                  std::optional<int64_t>& bytes) {
    if (option->count() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(bytes, ParseBytes(text), option->get_name());
    return absl::OkStatus();
  }

  absl::Status Convert(DedupeArguments& parsed) const {
    parsed.dry_run = texts_.dry_run;
    parsed.full = texts_.full;
    parsed.json = texts_.json;
    if (state_->count() > 0 && texts_.state.empty()) {
      return absl::InvalidArgumentError("--state: the directory is empty");
    }
    parsed.state_directory = texts_.state;
    RETURN_IF_ERROR(CheckChoice("--match", texts_.match, {"extents", "all"}));
    RETURN_IF_ERROR(CheckChoice("--relocate", texts_.relocate, {"tails", "all", "never"}));
    RETURN_IF_ERROR(CheckChoice("--progress", texts_.progress, {"auto", "plain", "json", "none"}));
    if (texts_.quiet && texts_.verbose) {
      return absl::InvalidArgumentError("--quiet and --verbose: one of them");
    }
    if (texts_.quiet) parsed.verbosity = Verbosity::kQuiet;
    if (texts_.verbose) parsed.verbosity = Verbosity::kVerbose;
    parsed.progress = texts_.progress == "plain"  ? ProgressMode::kPlain
                      : texts_.progress == "json" ? ProgressMode::kJson
                      : texts_.progress == "none" ? ProgressMode::kNone
                                                  : ProgressMode::kAuto;
    if (exclude_->count() > 0) parsed.exclude_patterns = texts_.exclude;
    RETURN_IF_ERROR(ConvertSize(min_size_, texts_.min_size, parsed.min_file_bytes));
    RETURN_IF_ERROR(ConvertSize(max_size_, texts_.max_size, parsed.max_file_bytes));
    if (skip_readonly_->count() > 0) parsed.skip_readonly_subvolumes = texts_.skip_readonly;
    if (match_->count() > 0) parsed.match_extents_only = texts_.match == "extents";
    if (relocate_->count() > 0) {
      parsed.relocate = texts_.relocate == "never" ? Relocate::kNever
                        : texts_.relocate == "all" ? Relocate::kAll
                                                   : Relocate::kTails;
    }
    if (relocate_gain_->count() > 0) {
      double gain = 0;
      if (!absl::SimpleAtod(texts_.relocate_gain, &gain) || !(gain > 0) || gain > kGainMax) {
        return absl::InvalidArgumentError(absl::StrCat("--relocate-gain: '", texts_.relocate_gain,
                                                       "' is no number above 0 and up to ",
                                                       kGainMax));
      }
      parsed.relocate_gain_min = gain;
    }
    if (max_time_->count() > 0) {
      ASSIGN_OR_RETURN(parsed.max_time, ParseTimeSpan(texts_.max_time), "--max-time");
    }
    if (threads_->count() > 0) {
      int count = 0;
      if (!absl::SimpleAtoi(texts_.threads, &count) || count < 1 || count > kThreadsMax) {
        return absl::InvalidArgumentError(
            absl::StrCat("--threads: '", texts_.threads, "' is no number from 1 to ", kThreadsMax));
      }
      parsed.thread_count = count;
    }
    return absl::OkStatus();
  }

  CLI::App app_;
  Texts texts_;
  CLI::Option* state_ = nullptr;
  CLI::Option* exclude_ = nullptr;
  CLI::Option* min_size_ = nullptr;
  CLI::Option* max_size_ = nullptr;
  CLI::Option* skip_readonly_ = nullptr;
  CLI::Option* match_ = nullptr;
  CLI::Option* relocate_ = nullptr;
  CLI::Option* relocate_gain_ = nullptr;
  CLI::Option* threads_ = nullptr;
  CLI::Option* max_time_ = nullptr;
};

}  // namespace

std::string DedupeHelp() { return kDedupeHelp; }

std::string ProgramVersion() { return "onefold " ONEFOLD_VERSION "\n"; }

std::string VersionNumber() { return ONEFOLD_VERSION; }

absl::StatusOr<DedupeArguments> ParseDedupe(const std::vector<std::string>& arguments) {
  return DedupeParser().Parse(arguments);
}

}  // namespace onefold
