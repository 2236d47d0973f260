#include "cli/progress_printer.h"

#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/json_output.h"

namespace onefold {
namespace {

constexpr std::chrono::milliseconds kLineInterval(250);
constexpr std::chrono::milliseconds kOtherInterval(1000);
constexpr int kColumnsDefault = 80;
// A log must not fill up, whatever the run does (cases.md 196); the summary follows anyway.
constexpr int kPlainLinesMax = 9;
// A long phase gives a sign of life after this time, then after three times that, and so on.
constexpr absl::Duration kFirstSignOfLife = absl::Minutes(2);

}  // namespace

ProgressPrinter::ProgressPrinter(Options options, Progress& progress, Clock& clock)
    : options_(options),
      progress_(progress),
      clock_(clock),
      start_(clock.Monotonic()),
      next_plain_line_(kFirstSignOfLife) {
  if (options_.style != ProgressStyle::kNone) {
    thread_ = std::thread([this] { Run(); });
    pthread_setname_np(thread_.native_handle(), "progress");
  }
}

ProgressPrinter::~ProgressPrinter() { Stop(); }

void ProgressPrinter::Say(absl::string_view text) {
  MutexLock lock(&mutex_);
  if (options_.style == ProgressStyle::kJson) {
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      Write(absl::StrCat(MessageJson(line), "\n"));
    }
    return;
  }
  const std::string line = line_;
  Clear();
  Write(text);
  if (!line.empty()) Write(line);
  line_ = line;
}

void ProgressPrinter::Stop() {
  {
    MutexLock lock(&mutex_);
    stop_ = true;
    stop_changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void ProgressPrinter::Run() {
  const auto interval = options_.style == ProgressStyle::kLine ? kLineInterval : kOtherInterval;
  MutexLock lock(&mutex_);
  while (!stop_) {
    const absl::Duration wake = clock_.Monotonic() + absl::FromChrono(interval);
    while (!stop_) {
      const absl::Duration rest = wake - clock_.Monotonic();
      if (rest <= absl::ZeroDuration()) break;
      // Rounded up: a wait of no time at all would spin.
      stop_changed_.WaitFor(&mutex_,
                            absl::ToChronoMilliseconds(absl::Ceil(rest, absl::Milliseconds(1))));
    }
    if (!stop_) Show();
  }
  // How a run ended is worth an object, but no line.
  if (options_.style == ProgressStyle::kJson) Show();
  Clear();
}

void ProgressPrinter::Show() {
  const ProgressView view = model_.Update(TakeSample(progress_), clock_.Monotonic() - start_);
  switch (options_.style) {
    case ProgressStyle::kLine: {
      // One column stays free: a full line makes some terminals wrap.
      const std::string line = StatusLine(view, options_.dry_run, Columns() - 1);
      if (line == line_) return;
      Write(absl::StrCat("\r", line, "\x1b[K"));
      line_ = line;
      return;
    }
    case ProgressStyle::kPlain: ShowPlain(view); return;
    case ProgressStyle::kJson: Write(absl::StrCat(ProgressJson(view), "\n")); return;
    case ProgressStyle::kNone: return;
  }
}

void ProgressPrinter::ShowPlain(const ProgressView& view) {
  if (plain_lines_ >= kPlainLinesMax) return;
  const Progress::Phase phase = view.now.phase;
  // Of several volumes, only the beginnings are worth a line.
  const bool worth_a_line = phase != Progress::Phase::kStarting &&
                            phase != Progress::Phase::kDone &&
                            (view.now.volume_count <= 1 || phase == Progress::Phase::kScanning);
  const bool is_new = worth_a_line && phases_shown_.insert({view.now.volume_index, phase}).second;
  const bool sign_of_life = view.elapsed >= next_plain_line_;
  if (!is_new && !sign_of_life) return;
  if (sign_of_life) next_plain_line_ = view.elapsed * 3;
  ++plain_lines_;
  Write(absl::StrCat("onefold: ", PlainLine(view, options_.dry_run), "\n"));
}

void ProgressPrinter::Clear() {
  if (line_.empty()) return;
  Write("\r\x1b[K");
  line_.clear();
}

void ProgressPrinter::Write(absl::string_view text) const {
  while (!text.empty()) {
    const ssize_t written = ::write(options_.fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody listens; the run goes on
    text.remove_prefix(static_cast<size_t>(written));
  }
}

int ProgressPrinter::Columns() const {
  struct winsize size = {};
  if (::ioctl(options_.fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kColumnsDefault;
  return size.ws_col;
}

}  // namespace onefold
