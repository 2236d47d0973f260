#include "cli/progress_printer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/check.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A printer whose output is read at the end.
class ProgressPrinterTest : public ::testing::Test {
 protected:
  void SetUp() override { CHECK(::pipe2(fds_, O_CLOEXEC) == 0); }
  void TearDown() override { ::close(fds_[0]); }

  void Start(ProgressStyle style) {
    printer_ = std::make_unique<ProgressPrinter>(
        ProgressPrinter::Options{.style = style, .fd = fds_[1]}, progress_, clock_);
  }

  std::string Stop() {
    printer_.reset();
    ::close(fds_[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t got; (got = ::read(fds_[0], buffer, sizeof(buffer))) > 0;)
      text.append(buffer, got);
    return text;
  }

  int fds_[2] = {-1, -1};
  Progress progress_;
  Clock& clock_ = SystemClock();
  std::unique_ptr<ProgressPrinter> printer_;
};

TEST_F(ProgressPrinterTest, MessagesGoThroughEvenWhenNothingIsShown) {
  Start(ProgressStyle::kNone);
  printer_->Say("onefold: warning: x\n");
  EXPECT_EQ(Stop(), "onefold: warning: x\n");
}

// A program that reads objects from stderr must not stumble over a warning.
TEST_F(ProgressPrinterTest, AmongObjectsAMessageIsOne) {
  Start(ProgressStyle::kJson);
  printer_->Say("onefold: warning: x\nonefold: /a: gone\n");
  const std::string text = Stop();
  EXPECT_THAT(text, HasSubstr(R"({"schema":"onefold.message.v1","text":"onefold: warning: x"})"
                              "\n"));
  EXPECT_THAT(text, HasSubstr(R"("text":"onefold: /a: gone"})"
                              "\n"));
}

// A live line that overwrites an error hides it (cases.md 137).
TEST_F(ProgressPrinterTest, AMessageStandsOnALineOfItsOwn) {
  progress_.phase = Progress::Phase::kScanning;
  Start(ProgressStyle::kLine);
  pollfd first_update{.fd = fds_[0], .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&first_update, 1, 30'000), 1);
  printer_->Say("a message\n");
  const std::string text = Stop();
  EXPECT_THAT(text, StartsWith("\rscanning\x1b[K"));
  EXPECT_THAT(text, HasSubstr("\r\x1b[Ka message\nscanning"));
  EXPECT_EQ(text.substr(text.size() - 4), "\r\x1b[K");
}

TEST_F(ProgressPrinterTest, StopMayBeCalledTwiceAndDoesNotWait) {
  Start(ProgressStyle::kPlain);
  printer_->Stop();
  printer_->Stop();
  EXPECT_EQ(Stop(), "");
}

TEST_F(ProgressPrinterTest, TheLastJsonObjectIsTheEnd) {
  Start(ProgressStyle::kJson);
  progress_.phase = Progress::Phase::kDone;
  const std::string text = Stop();
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, ElementsAre(HasSubstr("\"phase\":\"done\"")));
}

}  // namespace
}  // namespace onefold
