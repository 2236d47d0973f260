#include "common/log.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/escape.h"

namespace onefold {
namespace {

// This often in this time a message is written; then it is counted until the time is over.
constexpr int64_t kRepetitionsMax = 10;
constexpr absl::Duration kRepetitionSpan = absl::Minutes(1);
// Different messages that are watched at a time. Ours are some dozens.
constexpr size_t kWatchedMax = 256;

const char* LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kError: break;
  }
  return "error";
}

// As in syslog(3).
int Priority(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return 7;
    case LogLevel::kInfo: return 6;
    case LogLevel::kWarning: return 4;
    case LogLevel::kError: break;
  }
  return 3;
}

std::string JsonText(absl::string_view bytes) {
  std::string text = "\"";
  for (const char c : ReplaceNonUtf8(bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text.push_back('\\');
      text.push_back(c);
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&text, "\\u%04x", byte);
    } else {
      text.push_back(c);
    }
  }
  text.push_back('"');
  return text;
}

// A value is quoted where it would run into its neighbours.
std::string FieldText(absl::string_view value) {
  const std::string escaped = Escape(value);
  const bool plain = !escaped.empty() && escaped.find_first_of(" =\"") == std::string::npos;
  return plain ? escaped : JsonText(escaped);
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

void WriteToStderr(absl::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // there is nobody to tell
    line.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

LogLevel LogLevelOf(absl::string_view name) {
  for (const LogLevel level : {LogLevel::kDebug, LogLevel::kWarning, LogLevel::kError}) {
    if (name == LevelName(level)) return level;
  }
  return LogLevel::kInfo;
}

LogFormat LogFormatOf(absl::string_view name, const char* journal_stream) {
  if (name == "json") return LogFormat::kJson;
  if (name == "text") return LogFormat::kText;
  return journal_stream != nullptr && *journal_stream != '\0' ? LogFormat::kJournal
                                                              : LogFormat::kText;
}

Log::Log(Options options, Clock& clock, Sink sink)
    : options_(options), clock_(clock), sink_(std::move(sink)) {}

Log::Log(Options options, Clock& clock) : Log(options, clock, WriteToStderr) {}

Log::~Log() {
  MutexLock lock(&mutex_);
  TellHeldBack(true);
}

void Log::Write(LogLevel level, absl::string_view message, const LogFields& fields) {
  if (level < options_.level) return;
  MutexLock lock(&mutex_);
  TellHeldBack(false);
  const auto found = repetitions_.find(std::string(message));
  if (found != repetitions_.end()) {
    Repetition& repetition = found->second;
    if (++repetition.count > kRepetitionsMax) {
      ++repetition.held_back;
      return;
    }
  } else if (repetitions_.size() < kWatchedMax) {
    repetitions_[std::string(message)] = {
        .level = level, .begin = clock_.Monotonic(), .count = 1, .held_back = 0};
  }
  Emit(level, message, fields);
}

void Log::TellHeldBack(bool all) {
  const absl::Duration now = clock_.Monotonic();
  for (auto it = repetitions_.begin(); it != repetitions_.end();) {
    const Repetition& repetition = it->second;
    if (!all && now - repetition.begin < kRepetitionSpan) {
      ++it;
      continue;
    }
    if (repetition.held_back > 0) {
      Emit(repetition.level, it->first, {{"repeated", absl::StrCat(repetition.held_back)}});
    }
    it = repetitions_.erase(it);
  }
}

void Log::Emit(LogLevel level, absl::string_view message, const LogFields& fields) {
  std::string line;
  switch (options_.format) {
    case LogFormat::kJson:
      line = absl::StrCat("{\"time\":\"", TimeText(clock_.Now()), "\",\"level\":\"",
                          LevelName(level), "\",\"message\":", JsonText(message));
      for (const auto& [name, value] : fields) {
        absl::StrAppend(&line, ",", JsonText(name), ":", JsonText(value));
      }
      return sink_(line + "}\n");
    case LogFormat::kJournal:
      line = absl::StrCat("<", Priority(level), ">", EscapeText(message));
      break;
    case LogFormat::kText:
      line = absl::StrCat(TimeText(clock_.Now()), " ", LevelName(level), ": ", EscapeText(message));
      break;
  }
  for (const auto& [name, value] : fields) absl::StrAppend(&line, " ", name, "=", FieldText(value));
  sink_(line + "\n");
}

}  // namespace onefold
