#include "worker/verifier.h"

#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/btrfs_encoding.h"
#include "worker/testing/fake_volume.h"

namespace onefold {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kBase = uint64_t{1} << 30;

uint64_t At(int64_t block) { return kBase + static_cast<uint64_t>(block) * 4096; }

PendingDrop Pending(uint64_t address, uint64_t generation) {
  PendingDrop drop;
  drop.address = address;
  drop.generation = generation;
  return drop;
}

TEST(VerifierTest, AbsentExtentIsGone) {
  FakeVolume volume;
  volume.AddExtent(At(0), "ab", {.generation = 7});
  volume.AddExtent(At(4), "ab", {.generation = 7});
  EXPECT_THAT(FindGone(volume, {Pending(At(0), 7), Pending(At(2), 7), Pending(At(4), 7)}),
              IsOkAndHolds(ElementsAre(false, true, false)));
}

// Freed space is used again at once: the address alone would say that nothing was freed.
TEST(VerifierTest, AddressWithAnotherGenerationIsGone) {
  FakeVolume volume;
  volume.AddExtent(At(0), "ab", {.generation = 8});
  EXPECT_THAT(FindGone(volume, {Pending(At(0), 7), Pending(At(0), 8)}),
              IsOkAndHolds(ElementsAre(true, false)));
}

// A tree block may move in where the extent was.
TEST(VerifierTest, AddressWithATreeBlockIsGone) {
  FakeVolume volume;
  volume.PutItem(kExtentTree, {At(0), kExtentItem, 16384}, EncodeTreeBlock(7, 5));
  EXPECT_THAT(FindGone(volume, {Pending(At(0), 7)}), IsOkAndHolds(ElementsAre(true)));
}

TEST(VerifierTest, AnswersComeInTheOrderOfTheQuestions) {
  FakeVolume volume;
  volume.AddExtent(At(10), "a", {.generation = 7});
  volume.AddExtent(At(30), "a", {.generation = 7});
  EXPECT_THAT(FindGone(volume, {Pending(At(40), 7), Pending(At(10), 7), Pending(At(20), 7),
                                Pending(At(30), 7), Pending(At(10), 7)}),
              IsOkAndHolds(ElementsAre(true, false, true, false, false)));
}

TEST(VerifierTest, NothingIsAskedOfNothing) {
  FakeVolume volume;
  EXPECT_THAT(FindGone(volume, {}), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(volume.searches(kExtentTree), 0);
}

// Dense: one walk. One look-up an extent would be slower than the scan of the whole volume.
TEST(VerifierTest, DenseAddressesAreOneWalk) {
  FakeVolume volume;
  std::vector<PendingDrop> pending;
  for (int64_t i = 0; i < 1000; ++i) {
    if (i % 2 == 0) volume.AddExtent(At(2 * i), "a", {.generation = 7});
    pending.push_back(Pending(At(2 * i), 7));
  }
  const auto gone = FindGone(volume, pending);
  ASSERT_THAT(gone, IsOk());
  for (size_t i = 0; i < gone->size(); ++i) EXPECT_EQ((*gone)[i], i % 2 == 1) << i;
  EXPECT_EQ(volume.searches(kExtentTree), 1);
}

// Sparse: what lies between is not read. A run that freed two files would walk terabytes else.
TEST(VerifierTest, StretchesBetweenSparseAddressesAreLeaptOver) {
  FakeVolume volume;
  constexpr int64_t kFar = 100000;
  for (int64_t i = 0; i < 3 * kFar; i += 100) volume.AddExtent(At(i), "a", {.generation = 7});
  EXPECT_THAT(
      FindGone(volume, {Pending(At(0), 7), Pending(At(kFar), 7), Pending(At(2 * kFar + 1), 7)}),
      IsOkAndHolds(ElementsAre(false, false, true)));
  EXPECT_LE(volume.items_read(kExtentTree), 3);
}

// Unanswered means unknown: taken for gone, it would be counted as freed.
TEST(VerifierTest, ErrorsAreNoProofOfFreeing) {
  FakeVolume volume;
  volume.FailSearch(kExtentTree, absl::DataLossError("bad leaf"));
  EXPECT_THAT(FindGone(volume, {Pending(At(0), 7)}), HasCode(absl::StatusCode::kDataLoss));
}

TEST(VerifierTest, AddressesAtBothEndsOfTheSpaceAreFine) {
  FakeVolume volume;
  EXPECT_THAT(FindGone(volume, {Pending(0, 7), Pending(UINT64_MAX - 4095, 7)}),
              IsOkAndHolds(Each(true)));
}

}  // namespace
}  // namespace onefold
