#include "worker/daemon/sync_loop.h"

#include "common/testing/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FakeLink final : public FleetLink {
 public:
  absl::StatusOr<v1::SyncResponse> answer = v1::SyncResponse();
  std::function<void()> meanwhile = [] {};
  int calls = 0;

  absl::StatusOr<v1::SyncResponse> Sync(const v1::SyncRequest&) override {
    ++calls;
    meanwhile();
    return answer;
  }
  absl::StatusOr<std::string> GetAssignment(const VolumeUuid&) override { return std::string(); }
  std::unique_ptr<VolumeLink> NewVolumeLink(LeaseWatch&) override { return nullptr; }
  void Cancel() override {}
};

class SyncLoopTest : public ::testing::Test {
 protected:
  SyncLoopTest() { link_.answer->mutable_sync_delay()->set_seconds(60); }

  FakeClock clock_;
  FakeLink link_;
  std::vector<absl::Duration> taken_;  // when each answer was asked for
  std::vector<std::string> said_;
  SyncLoop loop_{{.clock = clock_,
                  .link = link_,
                  .make_request = [] { return v1::SyncRequest(); },
                  .take = [this](const v1::SyncResponse&,
                                 absl::Duration asked_at) { taken_.push_back(asked_at); },
                  .say = [this](bool, const std::string& text) { said_.push_back(text); },
                  .chance = [] { return 0.5; }}};
};

TEST_F(SyncLoopTest, CallsWhenItIsTime) {
  const absl::Duration begin = clock_.Monotonic();
  EXPECT_EQ(loop_.Step(), begin + absl::Seconds(60));
  EXPECT_EQ(loop_.Step(), begin + absl::Seconds(60));
  EXPECT_EQ(link_.calls, 1);
  clock_.Advance(absl::Seconds(20));
  loop_.Changed();
  loop_.Step();
  EXPECT_EQ(link_.calls, 2);
  EXPECT_THAT(said_, IsEmpty());
}

// Time that is left counts from the question; a slow answer leaves less.
TEST_F(SyncLoopTest, AnswersKnowWhenTheyWereAskedFor) {
  const absl::Duration begin = clock_.Monotonic();
  link_.meanwhile = [this] { clock_.Advance(absl::Seconds(9)); };
  loop_.Step();
  EXPECT_THAT(taken_, ElementsAre(begin));
}

TEST_F(SyncLoopTest, SilenceIsToldOnce) {
  link_.answer = absl::UnavailableError("no route");
  for (int i = 0; i < 10; ++i) clock_.Advance(loop_.Step() - clock_.Monotonic());
  EXPECT_EQ(link_.calls, 10);
  EXPECT_THAT(taken_, IsEmpty());
  link_.answer = v1::SyncResponse();
  loop_.Step();
  EXPECT_THAT(said_, ElementsAre(HasSubstr("no route"), HasSubstr("answers again")));
}

TEST_F(SyncLoopTest, ItsThreadCallsAndEnds) {
  loop_.Start();
  loop_.Changed();
  loop_.Stop();
}

}  // namespace
}  // namespace onefold
