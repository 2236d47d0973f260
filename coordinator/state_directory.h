// The directories a coordinator keeps its databases in: made with the right mode, locked against a
// second process, and never mistaken for somebody else's.
//
// A file ONEFOLD_FORMAT in each database directory says what it is:
//
//   onefold index 1\n        kind (index, state) and version
//
// It is written before anything else. A directory that is not empty and has none is foreign.

#ifndef ONEFOLD_COORDINATOR_STATE_DIRECTORY_H_
#define ONEFOLD_COORDINATOR_STATE_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onefold::index {

// Version of the keys and values in `index` and `state`. They change apart from each other.
inline constexpr int kIndexFormat = 1;
inline constexpr int kStateFormat = 1;

// Holds DIR/lock as long as it lives. Movable.
class DirectoryLock {
 public:
  // FAILED_PRECONDITION: another process holds it; the message has its pid.
  static absl::StatusOr<DirectoryLock> Take(const std::string& directory);
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

// Makes `directory` (mode 0700) and those above it as far as they are absent.
//
// FAILED_PRECONDITION: it is in use for something else.
absl::Status MakeStateDirectory(const std::string& directory);

// Looks at DIR without changing anything: whether a database of `kind` and a version up to
// `version` may be opened (or made) there.
//
// FAILED_PRECONDITION  foreign (also if something in it is neither file nor directory), or of a
//                      newer version; the message says what to do.
// DATA_LOSS            a database of ours whose format file is torn.
absl::Status CheckDatabaseDirectory(const std::string& directory, absl::string_view kind,
                                    int version);

// Makes DIR and its format file where they are absent. Call CheckDatabaseDirectory before.
absl::Status MakeDatabaseDirectory(const std::string& directory, absl::string_view kind,
                                   int version);

// Sentences about directories below the state directory that others may write; they say what to
// type.
std::vector<std::string> AccessWarnings(const std::string& directory);

// Renames DIR to DIR.damaged-<UTC time>, and returns that name. Those of earlier times are removed.
absl::StatusOr<std::string> PutAside(const std::string& directory, absl::Time now);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_STATE_DIRECTORY_H_
