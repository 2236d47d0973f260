#include "coordinator/wire_rows.h"

#include <functional>

#include "common/bytes.h"
#include "common/limits.h"
#include "common/testing/status_matchers.h"
#include "coordinator/testing/index_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::index {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int32_t kBlock = 4096;

// Two extents, the second with two anchors, and one without checksums.
v1::ExtentColumns Columns() {
  v1::ExtentColumns columns;
  columns.set_count(3);
  for (const uint64_t delta : {100, 50, 10}) columns.add_address_delta_blocks(delta);
  for (const uint32_t length : {2, 90, 1}) columns.add_length_blocks(length);
  for (const uint64_t generation : {7, 8, 9}) columns.add_generation(generation);
  for (const uint64_t digest : {11, 12, 0}) AppendLittle64(*columns.mutable_digests(), digest);
  for (const uint64_t head : {11, 0, 0}) AppendLittle64(*columns.mutable_heads(), head);
  for (int i = 0; i < 3; ++i) columns.add_head_offset_blocks(0);
  columns.add_checksum_states(v1::CHECKSUM_STATE_UNSPECIFIED);
  columns.add_checksum_states(v1::CHECKSUM_STATE_UNSPECIFIED);
  columns.add_checksum_states(v1::CHECKSUM_STATE_PARTIAL);
  for (const uint32_t count : {0, 2, 0}) columns.add_anchor_counts(count);
  for (const uint64_t anchor : {64, 128}) AppendLittle64(*columns.mutable_anchors(), anchor);
  for (const uint32_t offset : {0, 89}) columns.add_anchor_offset_blocks(offset);
  return columns;
}

TEST(WireRowsTest, ColumnsBecomeExtents) {
  const auto extents = ParseScanRows(Columns(), kBlock);
  ASSERT_THAT(extents, IsOk());
  Extent first = File(100, 2, 11, 0, 7);
  Extent second = WithAnchors(File(150, 90, 12, 0, 8), {{64, 0}, {128, 89}});
  second.has_head = false;
  second.head = 0;
  EXPECT_THAT(*extents,
              ElementsAre(first, second, WithoutChecksums(160, 1, ChecksumState::kPartial, 9)));
}

// What a hostile worker changes in otherwise good columns, and the column the answer must name.
struct Lie {
  const char* column;
  std::function<void(v1::ExtentColumns&)> tell;
};

TEST(WireRowsTest, HostileColumnsAreRefusedByName) {
  const std::vector<Lie> lies = {
      {"count", [](auto& c) { c.set_count(-1); }},
      {"count", [](auto& c) { c.set_count(kUploadRowsPerBatchMax + 1); }},
      {"address_delta_blocks", [](auto& c) { c.set_count(2); }},
      {"address_delta_blocks", [](auto& c) { c.add_address_delta_blocks(1); }},
      {"address_delta_blocks", [](auto& c) { c.set_address_delta_blocks(1, 0); }},
      {"address_delta_blocks", [](auto& c) { c.set_address_delta_blocks(1, ~0ull); }},
      {"address_delta_blocks", [](auto& c) { c.set_address_delta_blocks(0, 1ull << 52); }},
      {"length_blocks", [](auto& c) { c.add_length_blocks(1); }},
      {"length_blocks", [](auto& c) { c.set_length_blocks(0, 0); }},
      {"length_blocks", [](auto& c) { c.set_length_blocks(0, ~0u); }},
      {"generation", [](auto& c) { c.clear_generation(); }},
      {"generation", [](auto& c) { c.set_generation(0, 1ull << 63); }},
      {"digests", [](auto& c) { c.mutable_digests()->pop_back(); }},
      {"digests", [](auto& c) { c.mutable_digests()->append(8, 'x'); }},
      {"heads", [](auto& c) { c.clear_heads(); }},
      {"head_offset_blocks", [](auto& c) { c.add_head_offset_blocks(0); }},
      {"head_offset_blocks", [](auto& c) { c.set_head_offset_blocks(0, 2); }},
      {"checksum_states", [](auto& c) { c.add_checksum_states(v1::CHECKSUM_STATE_NONE); }},
      {"checksum_states",
       [](auto& c) { c.set_checksum_states(0, static_cast<v1::ChecksumState>(7)); }},
      {"anchor_counts", [](auto& c) { c.clear_anchor_counts(); }},
      {"anchors", [](auto& c) { c.set_anchor_counts(0, ~0u); }},
      {"anchors", [](auto& c) { c.mutable_anchors()->pop_back(); }},
      {"anchor_offset_blocks", [](auto& c) { c.add_anchor_offset_blocks(1); }},
      {"anchor_offset_blocks", [](auto& c) { c.set_anchor_offset_blocks(1, 90); }},
      {"anchor_counts",  // an extent without checksums has none
       [](auto& c) {
         c.set_anchor_counts(1, 1);
         c.set_anchor_counts(2, 1);
       }},
  };
  for (const Lie& lie : lies) {
    v1::ExtentColumns columns = Columns();
    lie.tell(columns);
    const auto extents = ParseScanRows(columns, kBlock);
    EXPECT_THAT(extents, HasCode(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(std::string(extents.status().message()), HasSubstr(lie.column));
  }
}

TEST(WireRowsTest, SweepNeedsPlacesAlone) {
  v1::ExtentColumns columns;
  columns.set_count(1);
  columns.add_address_delta_blocks(100);
  columns.add_length_blocks(1);
  columns.add_generation(7);
  const auto rows = ParseSweepRows(columns, kBlock);
  ASSERT_THAT(rows, IsOk());
  EXPECT_EQ((*rows)[0].address, 100u);
  EXPECT_EQ((*rows)[0].generation, 7u);
  columns.set_count(2);
  EXPECT_THAT(ParseSweepRows(columns, kBlock), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST(WireRowsTest, HitsMustHaveEqualColumns) {
  v1::HitBatch batch;
  batch.add_address_blocks(5);
  batch.add_offset_blocks(6);
  AppendLittle64(*batch.mutable_digests(), 7);
  const auto hits = ParseHits(batch);
  ASSERT_THAT(hits, IsOk());
  EXPECT_EQ((*hits)[0].digest, 7u);
  batch.add_offset_blocks(6);
  EXPECT_THAT(ParseHits(batch), HasCode(absl::StatusCode::kInvalidArgument));
  batch.add_address_blocks(5);
  EXPECT_THAT(ParseHits(batch), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST(WireRowsTest, ResultsMustSayWhatIsKnown) {
  const auto parse = [](int outcome, int holder) {
    v1::ResultBatch batch;
    v1::Result& result = *batch.add_results();
    result.set_outcome(static_cast<v1::Outcome>(outcome));
    result.set_holder(static_cast<v1::Holder>(holder));
    return ParseResults(batch).status();
  };
  EXPECT_THAT(parse(v1::OUTCOME_KEPT, 0), IsOk());
  EXPECT_THAT(parse(v1::OUTCOME_PINNED, v1::HOLDER_TAIL), IsOk());
  EXPECT_THAT(parse(v1::OUTCOME_UNSPECIFIED, 0), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(parse(99, 0), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(parse(v1::OUTCOME_PINNED, 0), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(parse(v1::OUTCOME_PINNED, 99), HasCode(absl::StatusCode::kInvalidArgument));

  v1::ResultBatch many;
  for (int i = 0; i <= kResultsPerBatchMax; ++i) {
    many.add_results()->set_outcome(v1::OUTCOME_KEPT);
  }
  EXPECT_THAT(ParseResults(many), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST(WireRowsTest, VolumeStatesAreChecked) {
  v1::VolumeState state;
  state.set_uuid(std::string(16, 'u'));
  state.set_block_bytes(4096);
  state.set_checksum_kind(v1::CHECKSUM_KIND_CRC32C);
  EXPECT_THAT(ParseVolumeState(state), IsOk());
  for (const int32_t bytes : {0, -4096, 2048, 5000, 131072}) {
    v1::VolumeState lie = state;
    lie.set_block_bytes(bytes);
    EXPECT_THAT(ParseVolumeState(lie), HasCode(absl::StatusCode::kInvalidArgument)) << bytes;
  }
  v1::VolumeState lie = state;
  lie.set_uuid("short");
  EXPECT_THAT(ParseVolumeState(lie), HasCode(absl::StatusCode::kInvalidArgument));
  lie = state;
  lie.set_checksum_kind(static_cast<v1::ChecksumKind>(9));
  EXPECT_THAT(ParseVolumeState(lie), HasCode(absl::StatusCode::kInvalidArgument));
  lie = state;
  lie.set_filesystem_generation(-1);
  EXPECT_THAT(ParseVolumeState(lie), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST(WireRowsTest, IncompleteExtentsTravelAsColumns) {
  v1::ExtentColumns columns;
  WriteIncomplete({WithoutChecksums(100, 2, ChecksumState::kNone, 5),
                   WithoutChecksums(130, 3, ChecksumState::kPartial, 6)},
                  columns);
  EXPECT_EQ(columns.count(), 2);
  EXPECT_THAT(columns.address_delta_blocks(), ElementsAre(100, 30));
  EXPECT_THAT(columns.length_blocks(), ElementsAre(2, 3));
  EXPECT_THAT(columns.generation(), ElementsAre(5, 6));
  EXPECT_THAT(columns.checksum_states(),
              ElementsAre(v1::CHECKSUM_STATE_NONE, v1::CHECKSUM_STATE_PARTIAL));
}

}  // namespace
}  // namespace onefold::index
