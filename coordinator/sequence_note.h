// SequenceNote: the number of the latest write a database has acknowledged, in a small file beside
// it. A database that has lost its log opens as one that is older, which nothing else tells.
//
//   ONEFOLD_SEQUENCE    20 digits and a newline, written over in place
//
// The file is written after the database and never synced: after a crash it may lag, never lead.

#ifndef ONEFOLD_COORDINATOR_SEQUENCE_NOTE_H_
#define ONEFOLD_COORDINATOR_SEQUENCE_NOTE_H_

#include <cstdint>
#include <string>

#include "common/mutex.h"

namespace onefold::index {

// Thread-safe.
class SequenceNote {
 public:
  // What is noted beside the database in `directory`; 0 if nothing is, or nothing that can be read.
  static uint64_t Read(const std::string& directory);

  explicit SequenceNote(const std::string& directory);
  ~SequenceNote();
  SequenceNote(const SequenceNote&) = delete;
  SequenceNote& operator=(const SequenceNote&) = delete;

  // Notes `sequence`, unless a later one is noted. Failing does no harm: the note lags, then.
  void Raise(uint64_t sequence);

 private:
  Mutex mutex_;
  uint64_t noted_ ABSL_GUARDED_BY(mutex_);
  const int fd_;  // -1: it cannot be written
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_SEQUENCE_NOTE_H_
