// ProgressPrinter: shows how far a run is, on stderr, while other threads work.
//
//   kLine    one line at the bottom of a terminal, rewritten in place at most four times a second
//   kPlain   a line when a phase begins and, in long runs, at growing intervals; a dozen in all
//   kJson    one object a second (onefold.progress.v1), and one for each line of Say
//   (onefold.message.v1) kNone    nothing
//
// Thread-safe. Everything that goes to the terminal while a run is under way goes through Say, so
// that no message is overwritten.

#ifndef ONEFOLD_CLI_PROGRESS_PRINTER_H_
#define ONEFOLD_CLI_PROGRESS_PRINTER_H_

#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/progress_view.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "worker/progress.h"

namespace onefold {

enum class ProgressStyle { kLine, kPlain, kJson, kNone };

class ProgressPrinter {
 public:
  struct Options {
    ProgressStyle style = ProgressStyle::kNone;
    bool dry_run = false;
    int fd = 2;
  };

  // `progress` and `clock` must outlive this object. Starts a thread, unless there is nothing to
  // show.
  ProgressPrinter(Options options, Progress& progress, Clock& clock);
  // Stops, if that has not been done.
  ~ProgressPrinter();
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  // Prints `text`, which has been escaped and ends with a newline, above the status line.
  void Say(absl::string_view text);

  // Ends the thread and removes the status line. May be called twice.
  void Stop();

 private:
  void Run();
  void Show() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ShowPlain(const ProgressView& view) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write(absl::string_view text) const;
  int Columns() const;

  const Options options_;
  Progress& progress_;
  Clock& clock_;
  const absl::Duration start_;

  Mutex mutex_;
  CondVar stop_changed_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  ProgressModel model_ ABSL_GUARDED_BY(mutex_);
  std::string line_ ABSL_GUARDED_BY(mutex_);  // what stands on the terminal
  std::set<std::pair<int, Progress::Phase>> phases_shown_ ABSL_GUARDED_BY(mutex_);
  int plain_lines_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration next_plain_line_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_PROGRESS_PRINTER_H_
