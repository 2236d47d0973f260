// A small language for tests of SettleInside: files made of extents, what was settled, and whether
// it can be carried out.

#ifndef ONEFOLD_WORKER_TESTING_SETTLE_INSIDE_FIXTURE_H_
#define ONEFOLD_WORKER_TESTING_SETTLE_INSIDE_FIXTURE_H_

#include <set>
#include <utility>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/settle.h"
#include "worker/testing/scoped_volume.h"

namespace onefold {

class SettleInsideTest : public ::testing::Test {
 protected:
  static constexpr int64_t kBlockBytes = 4096;

  FakeVolume& volume() { return on_.volume; }

  // A file with an extent for each of `parts`; `extents_` are their addresses.
  InodeId FileOf(const std::vector<Blocks>& parts, const FakeVolume::FileOptions& options) {
    const InodeId file = volume().AddFile("f", options);
    extents_.clear();
    for (const Blocks& part : parts) extents_.push_back(volume().Append(file, part));
    return file;
  }
  InodeId FileOf(const std::vector<Blocks>& parts) { return FileOf(parts, {}); }
  uint64_t ExtentOf(const Blocks& blocks) {
    FileOf({blocks});
    return extents_[0];
  }

  Settled Settle(const Group& group) {
    ExtentViewer viewer = on_.NewViewer();
    ChecksumReaders checksums(volume());
    auto settled = SettleInside(group, viewer, checksums, volume().info());
    EXPECT_THAT(settled, IsOk());
    return settled.ok() ? *std::move(settled) : Settled{};
  }
  Settled Settle(uint64_t query, uint64_t place, int64_t delta_blocks) {
    return Settle(on_.InsideGroup(query, place, delta_blocks));
  }

  static std::vector<uint64_t> Dropped(const Settled& settled) {
    std::vector<uint64_t> addresses;
    for (const Drop& drop : settled.drops) addresses.push_back(drop.address);
    return addresses;
  }
  // "outcome" or "outcome by holder" of an extent.
  static std::pair<Outcome, Holder> ResultOf(const Settled& settled, uint64_t address) {
    for (const ExtentResult& result : settled.results) {
      if (result.address == address) return {result.outcome, result.holder};
    }
    return {};
  }
  static auto Pinned(Holder holder) { return ::testing::Pair(Outcome::kPinned, holder); }
  static auto Just(Outcome outcome) { return ::testing::Pair(outcome, Holder::kNone); }

  // What holds for every settlement: ranges that the kernel accepts, equal contents, nothing is
  // read from what is dropped, and every reference of what is dropped moves.
  void ExpectSound(const Settled& settled) {
    const std::vector<uint64_t> dropped = Dropped(settled);
    const std::set<uint64_t> sources(settled.sources.begin(), settled.sources.end());
    EXPECT_EQ(std::set<uint64_t>(dropped.begin(), dropped.end()).size(), dropped.size());
    for (const Drop& drop : settled.drops) {
      EXPECT_EQ(sources.count(drop.address), 0u);
      int64_t moved = 0;
      for (const Move& move : drop.moves) {
        EXPECT_EQ(move.source_offset % kBlockBytes, 0);
        EXPECT_EQ(move.destination_offset % kBlockBytes, 0);
        EXPECT_FALSE(!move.relocated && move.source == move.destination &&
                     move.source_offset < move.destination_offset + move.length &&
                     move.destination_offset < move.source_offset + move.length)
            << "overlaps itself";
        const int64_t blocks = (move.length + kBlockBytes - 1) / kBlockBytes;
        EXPECT_EQ(
            volume().Contents(move.source).Cut(move.source_offset / kBlockBytes, blocks),
            volume().Contents(move.destination).Cut(move.destination_offset / kBlockBytes, blocks));
        moved += blocks;
      }
      const auto view = on_.View(drop.address);
      ASSERT_TRUE(view.ok() && view->has_value());
      int64_t referenced = 0;
      for (const Reference& reference : (*view)->references)
        referenced += reference.length / kBlockBytes;
      EXPECT_EQ(moved, referenced);
    }
  }
  // Does what was settled; all of it must free what it says.
  void CarryOut(const Settled& settled) {
    for (const Drop& drop : settled.drops) {
      for (const Move& move : drop.moves) {
        auto source = volume().Open(move.source);
        auto destination = volume().Open(move.destination);
        ASSERT_TRUE(source.ok() && destination.ok());
        DedupeDestination to{.file = destination->get(), .offset = move.destination_offset};
        ASSERT_EQ(volume().Dedupe(**source, move.source_offset, move.length, {&to, 1}), 0);
        ASSERT_EQ(to.status, 0);
      }
    }
    ASSERT_THAT(volume().Commit(), IsOk());
    for (const Drop& drop : settled.drops) EXPECT_FALSE(volume().ExtentExists(drop.address));
  }

  ScopedVolume on_;
  std::vector<uint64_t> extents_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_TESTING_SETTLE_INSIDE_FIXTURE_H_
