#include "coordinator/query/census.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "coordinator/keys.h"
#include "coordinator/query/scratch_store.h"
#include "coordinator/rows.h"

namespace onefold::query {
namespace {

constexpr int64_t kBlock = 4096;

class CensusTest : public testing::Test {
 protected:
  // Adds a volume; its number is its place.
  size_t AddVolume(int32_t checksum_kind = 1) {
    CountedVolume volume;
    volume.uuid.bytes.fill(static_cast<uint8_t>(volumes_.size() + 1));
    volume.record.set_number(static_cast<uint32_t>(volumes_.size() + 1));
    volume.record.set_block_bytes(kBlock);
    volume.record.set_checksum_kind(checksum_kind);
    volumes_.push_back(volume);
    return volumes_.size() - 1;
  }

  void AddExtent(size_t volume, uint64_t digest, uint32_t length, bool head_only = false) {
    index::RowBatch batch;
    const index::FingerprintKey key = {.digest = digest, .address = next_address_};
    next_address_ += length;
    batch.Put(index::EncodeKey(index::NumberOf(volumes_[volume].record), key),
              index::EncodeRow(index::Fingerprint{.whole = !head_only,
                                                  .head = head_only,
                                                  .length = length,
                                                  .whole_digest = head_only ? digest + 1 : 0}));
    ASSERT_TRUE(store_.Write(batch).ok());
    volumes_[volume].record.set_extent_count(volumes_[volume].record.extent_count() + 1);
  }

  Census Take(CensusOptions options = {}) {
    const absl::StatusOr<Census> census =
        TakeCensus(store_, volumes_, options, [] { return false; });
    EXPECT_TRUE(census.ok()) << census.status();
    return census.ok() ? *census : Census();
  }

  ScratchStore store_;
  std::vector<CountedVolume> volumes_;
  uint64_t next_address_ = 1;
};

TEST_F(CensusTest, CountsWithinAndBetween) {
  const size_t a = AddVolume();
  const size_t b = AddVolume();
  const size_t c = AddVolume();
  for (int i = 0; i < 3; ++i) AddExtent(a, 77, 4);
  AddExtent(a, 5, 1);
  AddExtent(b, 77, 4);
  AddExtent(b, 77, 2);  // the same digest of another length is another content
  AddExtent(b, 9, 8, /*head_only=*/true);
  AddExtent(c, 9, 8);
  const Census census = Take();
  EXPECT_EQ(census.volumes[a].distinct_bytes, 5 * kBlock);
  EXPECT_EQ(census.volumes[a].duplicate_bytes, 8 * kBlock);
  EXPECT_EQ(census.volumes[a].group_count, 1);
  ASSERT_EQ(census.volumes[a].largest.size(), 1u);
  EXPECT_EQ(census.volumes[a].largest[0].copy_count, 3);
  EXPECT_EQ(census.volumes[a].largest[0].address, 1u * kBlock);
  EXPECT_EQ(census.volumes[a].shared_bytes, 4 * kBlock);
  EXPECT_EQ(census.volumes[b].shared_bytes, 4 * kBlock);
  EXPECT_EQ(census.volumes[c].shared_bytes, 0);
  ASSERT_EQ(census.pairs.size(), 1u);
  EXPECT_EQ(census.pairs[0].first, a);
  EXPECT_EQ(census.pairs[0].second, b);
  EXPECT_EQ(census.pairs[0].shared_bytes, 4 * kBlock);
  EXPECT_FALSE(census.mixed_checksums);
}

TEST_F(CensusTest, OtherChecksumsAreNotCompared) {
  AddExtent(AddVolume(1), 77, 4);
  AddExtent(AddVolume(2), 77, 4);
  const Census census = Take();
  EXPECT_TRUE(census.pairs.empty());
  EXPECT_TRUE(census.mixed_checksums);
}

TEST_F(CensusTest, WhatIsEverywhereIsCountedOnce) {
  for (int i = 0; i < kEverywhereVolumes; ++i) {
    const size_t volume = AddVolume();
    AddExtent(volume, 1, 10);
    if (i < kEverywhereVolumes - 1) AddExtent(volume, 2, 1);
  }
  const Census census = Take();
  EXPECT_EQ(census.everywhere_bytes, 10 * kBlock);
  EXPECT_EQ(census.pairs.size(),
            static_cast<size_t>((kEverywhereVolumes - 1) * (kEverywhereVolumes - 2) / 2));
  EXPECT_EQ(census.pairs[0].shared_bytes, kBlock);
}

TEST_F(CensusTest, StopsWhenAsked) {
  const size_t volume = AddVolume();
  for (int i = 0; i < 5000; ++i) AddExtent(volume, static_cast<uint64_t>(i), 1);
  EXPECT_EQ(TakeCensus(store_, volumes_, {}, [] { return true; }).status().code(),
            absl::StatusCode::kCancelled);
}

// Whatever lies there, and in whatever slices: as if everything were compared with everything.
TEST_F(CensusTest, EqualsARecount) {
  for (const uint32_t seed : {1u, 2u, 3u}) {
    store_.DropRange("", "\xff").IgnoreError();
    volumes_.clear();
    std::mt19937_64 random(seed);
    for (int i = 0; i < 5; ++i) AddVolume(i == 4 ? 2 : 1);
    // (digest, length) → volume → copies
    std::map<std::pair<uint64_t, uint32_t>, std::map<size_t, int64_t>> contents;
    for (int i = 0; i < 2000; ++i) {
      const size_t volume = random() % 5;
      const uint64_t digest = (random() % 300) * 0x00ff00ff00ff00ff;
      const uint32_t length = static_cast<uint32_t>(1 + random() % 2);
      AddExtent(volume, digest, length);
      ++contents[{digest, length}][volume];
    }
    std::vector<int64_t> distinct(5), duplicates(5);
    std::map<std::pair<size_t, size_t>, int64_t> pairs;
    for (const auto& [content, holders] : contents) {
      const int64_t bytes = content.second * kBlock;
      for (const auto& [volume, copies] : holders) {
        distinct[volume] += bytes;
        duplicates[volume] += bytes * (copies - 1);
        for (const auto& [other, unused] : holders) {
          if (volume < other && other != 4) pairs[{volume, other}] += bytes;
        }
      }
    }
    for (const size_t rows : {10'000u, 100u, 7u}) {
      const Census census = Take({.rows_at_a_time = rows, .groups_kept = 7});
      std::map<std::pair<size_t, size_t>, int64_t> counted;
      for (const Census::Pair& pair : census.pairs) {
        counted[{pair.first, pair.second}] = pair.shared_bytes;
      }
      EXPECT_EQ(counted, pairs) << "seed " << seed;
      for (size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(census.volumes[i].distinct_bytes, distinct[i]);
        EXPECT_EQ(census.volumes[i].duplicate_bytes, duplicates[i]);
        const auto& largest = census.volumes[i].largest;
        ASSERT_EQ(largest.size(), 7u);
        for (size_t j = 1; j < largest.size(); ++j) {
          EXPECT_GE(largest[j - 1].duplicate_bytes(), largest[j].duplicate_bytes());
        }
        int64_t most = 0;
        for (const auto& [content, holders] : contents) {
          const auto found = holders.find(i);
          if (found == holders.end()) continue;
          most = std::max(most, content.second * kBlock * (found->second - 1));
        }
        EXPECT_EQ(largest[0].duplicate_bytes(), most);
      }
    }
  }
}

}  // namespace
}  // namespace onefold::query
