#include "coordinator/lease_office.h"

#include "common/check.h"
#include "common/testing/fake_clock.h"
#include "common/testing/status_matchers.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::index {
namespace {

constexpr VolumeUuid kPool = {{1}};

class LeaseOfficeTest : public ::testing::Test {
 protected:
  LeaseOfficeTest() { Restart(); }
  void Restart() {
    auto office = LeaseOffice::Open(state_, clock_, {});
    CHECK(office.ok());
    office_ = *std::move(office);
  }
  FakeClock clock_;
  MemoryStore state_;
  std::unique_ptr<LeaseOffice> office_;
};

// An epoch that is handed out twice would let a worker of long ago go on.
TEST_F(LeaseOfficeTest, EpochsGrowOverRestarts) {
  const auto first = office_->Acquire(kPool, "a");
  Restart();
  const auto second = office_->Acquire(kPool, "a");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_GT((*second)->epoch, (*first)->epoch);
}

TEST_F(LeaseOfficeTest, LeaseThatIsNotDurableIsNotGiven) {
  state_.FailWrites(absl::ResourceExhaustedError("full"));
  EXPECT_THAT(office_->Acquire(kPool, "a"), HasCode(absl::StatusCode::kResourceExhausted));
  state_.FailWrites(absl::OkStatus());
  const auto lease = office_->Acquire(kPool, "a");
  ASSERT_THAT(lease, IsOk());
  EXPECT_TRUE((*lease)->is_new);
}

}  // namespace
}  // namespace onefold::index
