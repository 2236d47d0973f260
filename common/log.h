// What a service tells its operators: one line an event, on stderr. Text for people, "<N>…" for
// journald, or JSON lines for what collects them.
//
// Only events are logged, so nothing is written while nothing happens. A message that is repeated
// very often is held back and counted: nobody can fill a disk by provoking it.

#ifndef ONEFOLD_COMMON_LOG_H_
#define ONEFOLD_COMMON_LOG_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"

namespace onefold {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat {
  kText,     // 2026-01-31T12:00:00Z warning: message key=value
  kJournal,  // <4>message key=value
  kJson,     // {"time":"…","level":"warning","message":"…","key":"value"}
};

// Further facts, by name: {"host", "nas1"}. Names are words of ours.
using LogFields = std::vector<std::pair<std::string, std::string>>;

// "debug", "info", "warning", "error"; kInfo for anything else.
LogLevel LogLevelOf(absl::string_view name);

// "text" and "json" say it; "auto" is kJournal where stderr goes to journald (`journal_stream`, the
// variable JOURNAL_STREAM, is set), else kText.
LogFormat LogFormatOf(absl::string_view name, const char* journal_stream);

// Thread-safe.
class Log {
 public:
  struct Options {
    LogLevel level = LogLevel::kInfo;
    LogFormat format = LogFormat::kText;
  };
  // Gets each line, with its line break. Called by one thread at a time.
  using Sink = std::function<void(absl::string_view line)>;

  // `clock` must outlive the log.
  Log(Options options, Clock& clock, Sink sink);
  // Writes to stderr.
  Log(Options options, Clock& clock);
  // Tells what was held back.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // `message` says what happened and is the same each time; what differs goes into `fields`. Bytes
  // of others may stand in both: they are escaped.
  void Write(LogLevel level, absl::string_view message, const LogFields& fields = {});
  void Debug(absl::string_view message, const LogFields& fields = {}) {
    Write(LogLevel::kDebug, message, fields);
  }
  void Info(absl::string_view message, const LogFields& fields = {}) {
    Write(LogLevel::kInfo, message, fields);
  }
  void Warning(absl::string_view message, const LogFields& fields = {}) {
    Write(LogLevel::kWarning, message, fields);
  }
  void Error(absl::string_view message, const LogFields& fields = {}) {
    Write(LogLevel::kError, message, fields);
  }

 private:
  // How often a message was written since `begin`.
  struct Repetition {
    LogLevel level = LogLevel::kInfo;
    absl::Duration begin;
    int64_t count = 0;
    int64_t held_back = 0;
  };

  void TellHeldBack(bool all) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Emit(LogLevel level, absl::string_view message, const LogFields& fields)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  Clock& clock_;
  const Sink sink_;
  Mutex mutex_;
  std::map<std::string, Repetition> repetitions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold

#endif  // ONEFOLD_COMMON_LOG_H_
