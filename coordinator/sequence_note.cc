#include "coordinator/sequence_note.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace onefold::index {
namespace {

constexpr char kNoteFile[] = "/ONEFOLD_SEQUENCE";
constexpr size_t kDigits = 20;  // of the largest number

}  // namespace

uint64_t SequenceNote::Read(const std::string& directory) {
  const int fd = open((directory + kNoteFile).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return 0;
  std::array<char, kDigits + 1> text;
  const ssize_t bytes = pread(fd, text.data(), text.size(), 0);
  close(fd);
  uint64_t noted = 0;
  const bool whole = bytes == static_cast<ssize_t>(text.size()) && text.back() == '\n' &&
                     absl::SimpleAtoi(absl::string_view(text.data(), kDigits), &noted);
  return whole ? noted : 0;
}

SequenceNote::SequenceNote(const std::string& directory)
    : noted_(Read(directory)),
      fd_(open((directory + kNoteFile).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK,
               0600)) {}

SequenceNote::~SequenceNote() {
  if (fd_ >= 0) close(fd_);
}

void SequenceNote::Raise(uint64_t sequence) {
  MutexLock lock(&mutex_);
  if (fd_ < 0 || sequence <= noted_) return;
  const std::string text = absl::StrFormat("%0*d\n", static_cast<int>(kDigits), sequence);
  // In one piece, so that no reader and no crash sees half of it.
  if (pwrite(fd_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size())) {
    noted_ = sequence;
  }
}

}  // namespace onefold::index
