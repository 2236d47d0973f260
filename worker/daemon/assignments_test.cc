#include "worker/daemon/assignments.h"

#include "common/testing/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/testing/fake_link.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr VolumeUuid kPool = {{1}};
constexpr VolumeUuid kOther = {{2}};

class AssignmentsTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  FakeFleetLink home_;
  Assignments assignments_{clock_};
};

TEST_F(AssignmentsTest, AskedOnceAndFromTimeToTime) {
  home_.Assign(kOther, "b:7171");
  EXPECT_EQ(assignments_.Find(kPool), std::nullopt);
  for (int i = 0; i < 5; ++i) assignments_.Refresh({kPool, kOther}, home_);
  EXPECT_EQ(home_.questions(), 2);
  EXPECT_EQ(assignments_.Find(kPool), "");
  EXPECT_EQ(assignments_.Find(kOther), "b:7171");
  EXPECT_THAT(assignments_.addresses(), ElementsAre("b:7171"));
  home_.Assign(kOther, "");
  clock_.Advance(absl::Hours(1));
  assignments_.Refresh({kPool, kOther}, home_);
  EXPECT_THAT(assignments_.addresses(), IsEmpty());
}

TEST_F(AssignmentsTest, BelievedWhileNobodyAnswers) {
  home_.Assign(kPool, "b:7171");
  assignments_.Refresh({kPool}, home_);
  clock_.Advance(absl::Hours(100));
  home_.Fail(absl::UnavailableError("away"));
  assignments_.Refresh({kPool, kOther}, home_);
  EXPECT_EQ(assignments_.Find(kPool), "b:7171");
  EXPECT_EQ(assignments_.Find(kOther), std::nullopt);
}

TEST_F(AssignmentsTest, ACoordinatorWithoutShardsServesAll) {
  home_.Fail(absl::UnimplementedError("no such call"));
  assignments_.Refresh({kPool}, home_);
  EXPECT_EQ(assignments_.Find(kPool), "");
}

// A hostile coordinator must not have us open connections without end.
TEST_F(AssignmentsTest, AddressesAreBounded) {
  std::vector<VolumeUuid> volumes;
  for (int i = 0; i < 200; ++i) {
    volumes.push_back({{static_cast<uint8_t>(i), 9}});
    home_.Assign(volumes.back(), "host" + std::to_string(i));
  }
  home_.Assign(volumes[0], std::string(5000, 'a'));
  assignments_.Refresh(volumes, home_);
  EXPECT_EQ(assignments_.addresses().size(), 64u);
  EXPECT_EQ(assignments_.Find(volumes[0]), std::nullopt);
}

}  // namespace
}  // namespace onefold
