#include "worker/group_pages.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class GroupPagesTest : public ::testing::Test {
 protected:
  static Group Page(const std::vector<uint64_t>& addresses) {
    Group group;
    group.paged = true;
    for (const uint64_t address : addresses) {
      group.members.push_back({.address = address, .queued = true});
    }
    return group;
  }
  static std::vector<uint64_t> Addresses(const Group& group) {
    std::vector<uint64_t> addresses;
    for (const GroupMember& member : group.members) addresses.push_back(member.address);
    return addresses;
  }
  // The page was settled: `kept` stay as sources, `dropped` go.
  void Note(const std::vector<uint64_t>& page, const std::vector<uint64_t>& kept,
            const std::vector<uint64_t>& dropped) {
    Settled settled;
    settled.sources = kept;
    for (const uint64_t address : dropped) {
      settled.drops.emplace_back();
      settled.drops.back().address = address;
    }
    pages_.Note(Page(page), settled);
  }
  std::vector<uint64_t> Continue(const std::vector<uint64_t>& page) {
    return Addresses(pages_.Continue(Page(page)));
  }

  GroupPages pages_;
};

TEST_F(GroupPagesTest, FirstPageIsAsItCame) {
  EXPECT_THAT(Continue({1, 2, 3}), ElementsAre(1, 2, 3));
}

// Each page would leave a copy of its own.
TEST_F(GroupPagesTest, LaterPagesHoldWhatWasKept) {
  Note({1, 2, 3}, {2}, {3});
  const Group page = pages_.Continue(Page({1, 4, 5}));
  EXPECT_THAT(Addresses(page), ElementsAre(2, 1, 4, 5));
  EXPECT_TRUE(page.members[0].kept_before);
  EXPECT_FALSE(page.members[1].kept_before);
}

// Its bytes would be counted twice.
TEST_F(GroupPagesTest, WhatIsDroppedInTheBatchIsNotSettledAgain) {
  Note({1, 2, 3}, {2}, {1, 3});
  EXPECT_THAT(Continue({1, 4}), ElementsAre(2, 4));
}

// Not carried out, it must be settled after all.
TEST_F(GroupPagesTest, WhatWasDroppedInAnEarlierBatchIsLookedAtAgain) {
  Note({1, 2, 3}, {2}, {1, 3});
  pages_.EndBatch();
  EXPECT_THAT(Continue({1, 4}), ElementsAre(2, 1, 4));
}

TEST_F(GroupPagesTest, WhatWasKeptAndIsDroppedByALaterPageIsLeftOutInThisBatch) {
  Note({1, 2}, {2}, {1});
  Note({2, 4}, {4}, {2});
  EXPECT_THAT(Continue({1, 5}), ElementsAre(4, 5));
  pages_.EndBatch();
  EXPECT_THAT(Continue({1, 5}), ElementsAre(2, 4, 1, 5));
}

TEST_F(GroupPagesTest, WhatWasKeptAndIsGoneIsForgotten) {
  Note({1, 2}, {2}, {1});
  Settled settled;
  settled.results = {{.address = 2, .generation = 0, .outcome = Outcome::kGone}};
  pages_.Note(Page({2, 3}), settled);
  EXPECT_THAT(Continue({4, 5}), ElementsAre(4, 5));
}

// Settled alone, what was kept would be said to have no partner.
TEST_F(GroupPagesTest, PageWithNothingNewIsEmpty) {
  Note({1, 2, 3}, {2}, {1, 3});
  EXPECT_THAT(Continue({1, 2}), IsEmpty());
  EXPECT_THAT(Continue({3}), IsEmpty());
}

}  // namespace
}  // namespace onefold
