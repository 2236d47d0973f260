// SettleInside on files cut by chance.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/testing/status_matchers.h"
#include "common/testing/test_seed.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/settle.h"
#include "worker/testing/settle_inside_fixture.h"

namespace onefold {
namespace {

// Files made of pieces of one text, cut anyhow; whatever is settled must be sound, and free what it
// says when it is carried out.
TEST_F(SettleInsideTest, WhatIsSettledCanBeCarriedOut) {
  SCOPED_TRACE(absl::StrCat("replay with --seed=", TestSeed()));
  uint64_t state = TestSeed();
  const auto below = [&state](int64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(bound));
  };
  const Blocks text = Blocks::Series(1, 40) + Blocks::Zeros(5) + Blocks::Series(1, 12) +
                      Blocks::Repeated(7, 6) + Blocks::Series(2, 20);
  int64_t drops = 0;
  for (int round = 0; round < 60; ++round) {
    ScopedVolume fresh;
    std::vector<InodeId> files;
    std::map<InodeId, Blocks> before;
    for (int i = 0; i < 4; ++i) {
      const InodeId file =
          fresh.volume.AddFile("f", {.flags = below(8) == 0 ? InodeItem::kImmutable : 0});
      for (int64_t extents = 1 + below(6); extents > 0; --extents) {
        const int64_t from = below(text.count() - 1);
        const int64_t count = 1 + below(std::min<int64_t>(30, text.count() - from));
        Blocks blocks = text.Cut(from, count);
        if (below(6) == 0) blocks.Set(below(count), 1000 + static_cast<uint64_t>(below(5)));
        if (below(9) == 0) fresh.volume.AppendHole(file, 1 + below(3));
        const uint64_t extent = fresh.volume.Append(file, blocks);
        if (!files.empty() && below(4) == 0) {
          fresh.volume.MapExtent(files[0], extent, {.at = -1, .from = below(count), .blocks = -1});
        }
      }
      if (below(3) == 0) fresh.volume.SetSize(file, fresh.volume.SizeOf(file) - 1 - below(4000));
      if (below(3) == 0) fresh.volume.Overwrite(file, below(3), text.Cut(below(40), 1 + below(4)));
      files.push_back(file);
    }
    fresh.volume.RepackChecksums(1 + below(200));
    for (const InodeId& file : files) before[file] = fresh.volume.Contents(file);

    for (int tries = 0; tries < 25; ++tries) {
      const auto any_extent = [&] {
        const auto all = fresh.volume.ExtentsOf(files[static_cast<size_t>(below(4))]);
        return all[static_cast<size_t>(below(static_cast<int64_t>(all.size())))];
      };
      const uint64_t query = any_extent();
      const uint64_t place = any_extent();
      // A hit: some block of the one is some block of the other.
      const Blocks in_query = fresh.volume.DiskOf(query);
      const Blocks in_place = fresh.volume.DiskOf(place);
      std::vector<int64_t> deltas;
      for (int64_t i = 0; i < in_query.count(); ++i) {
        for (int64_t j = 0; j < in_place.count(); ++j) {
          if (in_query[i] == in_place[j]) deltas.push_back(j - i);
        }
      }
      if (deltas.empty()) continue;
      const Group group = fresh.InsideGroup(
          query, place, deltas[static_cast<size_t>(below(static_cast<int64_t>(deltas.size())))]);
      ExtentViewer viewer = fresh.NewViewer();
      ChecksumReaders checksums(fresh.volume);
      const auto settled = SettleInside(group, viewer, checksums, fresh.volume.info());
      ASSERT_THAT(settled, IsOk());
      if (settled->drops.empty()) continue;
      drops += static_cast<int64_t>(settled->drops.size());
      const std::set<uint64_t> sources(settled->sources.begin(), settled->sources.end());
      for (const Drop& drop : settled->drops) {
        ASSERT_EQ(sources.count(drop.address), 0u) << "round " << round;
        for (const Move& move : drop.moves) {
          auto source = fresh.volume.Open(move.source);
          auto destination = fresh.volume.Open(move.destination);
          ASSERT_TRUE(source.ok() && destination.ok());
          DedupeDestination to{.file = destination->get(), .offset = move.destination_offset};
          ASSERT_EQ(fresh.volume.Dedupe(**source, move.source_offset, move.length, {&to, 1}), 0);
          ASSERT_EQ(to.status, 0) << "round " << round << " try " << tries;
        }
      }
      ASSERT_THAT(fresh.volume.Commit(), IsOk());
      for (const Drop& drop : settled->drops) {
        ASSERT_FALSE(fresh.volume.ExtentExists(drop.address)) << "round " << round;
      }
    }
    for (const InodeId& file : files) ASSERT_EQ(fresh.volume.Contents(file), before[file]);
  }
  EXPECT_GT(drops, 10) << "the test has lost its object";
}

}  // namespace
}  // namespace onefold
