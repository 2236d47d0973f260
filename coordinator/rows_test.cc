#include "coordinator/rows.h"

#include "absl/strings/escaping.h"
#include "common/testing/status_matchers.h"
#include "coordinator/testing/index_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::index {
namespace {

std::string Hex(const std::string& bytes) { return absl::BytesToHexString(bytes); }

Extent Small() {
  Extent extent = File(7, 3, 0x0102030405060708);
  extent.generation = 300;
  return extent;
}

Extent Full() {
  Extent extent =
      WithAnchors(File(7, 300, 0x0102030405060708, 0x1112131415161718),
                  {{.digest = 0x2122232425262728, .offset = 5}, {.digest = 1, .offset = 200}});
  extent.head_offset = 2;
  extent.kept = extent.settled = extent.held = true;
  return extent;
}

// An index on disk outlives the program: a byte that moves makes it unreadable.
TEST(RowsTest, BytesAreFrozen) {
  EXPECT_EQ(Hex(EncodeRow(Small())),
            "60"
            "03"
            "ac02"
            "0807060504030201"
            "00");
  EXPECT_EQ(Hex(EncodeRow(Full())),
            "bc"
            "ac02"
            "0a"
            "0807060504030201"
            "1817161514131211"
            "02"
            "02"
            "2827262524232221"
            "05"
            "0100000000000000"
            "c801");
  EXPECT_EQ(Hex(EncodeRow(WithoutChecksums(7, 1, ChecksumState::kNone))),
            "01"
            "01"
            "0a");
  EXPECT_EQ(Hex(EncodeRow(WithoutChecksums(7, 1, ChecksumState::kPartial))),
            "02"
            "01"
            "0a");
  EXPECT_EQ(Hex(EncodeRow(Fingerprint{.whole = true, .length = 9})),
            "01"
            "09");
  EXPECT_EQ(Hex(EncodeRow(Fingerprint{.whole = true, .head = true, .length = 3, .head_offset = 0})),
            "03"
            "03"
            "00");
  EXPECT_EQ(
      Hex(EncodeRow(Fingerprint{.head = true, .length = 9, .head_offset = 1, .whole_digest = 2})),
      "02"
      "09"
      "01"
      "0200000000000000");
  EXPECT_EQ(Hex(EncodeRow(Waiting{.epoch = 200})),
            "00"
            "c801");
  EXPECT_EQ(Hex(EncodeRow(Waiting{.whole_answered = true, .epoch = 1})),
            "01"
            "01");
  EXPECT_EQ(Hex(EncodeRow(OutcomeRow{.outcome = 5, .holder = 3, .length = 128})),
            "05"
            "03"
            "8001");
  EXPECT_EQ(Hex(EncodeRow(Match{.epoch = 1, .place_length = 128})),
            "01"
            "8001");
  EXPECT_EQ(Hex(EncodeCount(300)), "ac02");
}

TEST(RowsTest, ExtentsComeBack) {
  for (const Extent& extent : {Small(), Full(), File(7, 1, 5, 6), File(7, 9, ~0ull),
                               WithoutChecksums(7, 1, ChecksumState::kPartial)}) {
    EXPECT_THAT(ParseExtent(7, EncodeRow(extent)), IsOkAndHolds(extent));
  }
}

TEST(RowsTest, OtherRowsComeBack) {
  const Fingerprint head{.head = true, .length = 9, .head_offset = 1, .whole_digest = 2};
  EXPECT_THAT(ParseFingerprint(EncodeRow(head)), IsOkAndHolds(head));
  const Waiting waiting{.whole_answered = true, .epoch = 1ull << 40};
  EXPECT_THAT(ParseWaiting(EncodeRow(waiting)), IsOkAndHolds(waiting));
  const OutcomeRow outcome{.outcome = 6, .holder = 0, .length = 1};
  EXPECT_THAT(ParseOutcome(EncodeRow(outcome)), IsOkAndHolds(outcome));
  const Match match{.epoch = 3, .place_length = ~0u};
  EXPECT_THAT(ParseMatch(EncodeRow(match)), IsOkAndHolds(match));
  EXPECT_THAT(ParseCount(EncodeCount(77)), IsOkAndHolds(77u));
}

template <typename Parse>
void ExpectCutIsRefused(const std::string& row, Parse parse) {
  for (size_t size = 0; size < row.size(); ++size) {
    EXPECT_THAT(parse(row.substr(0, size)), HasCode(absl::StatusCode::kDataLoss)) << size;
  }
  EXPECT_THAT(parse(row + '\0'), HasCode(absl::StatusCode::kDataLoss));
}

// A cut row must neither be read beyond its end nor pass as another extent.
TEST(RowsTest, CutRowsAreRefused) {
  const auto parse_extent = [](const std::string& bytes) { return ParseExtent(7, bytes); };
  ExpectCutIsRefused(EncodeRow(Full()), parse_extent);
  ExpectCutIsRefused(EncodeRow(Small()), parse_extent);
  ExpectCutIsRefused(EncodeRow(Fingerprint{.head = true, .length = 9, .whole_digest = 2}),
                     [](const std::string& bytes) { return ParseFingerprint(bytes); });
  ExpectCutIsRefused(EncodeRow(OutcomeRow{.outcome = 5, .length = 128}),
                     [](const std::string& bytes) { return ParseOutcome(bytes); });
  ExpectCutIsRefused(EncodeRow(Match{.epoch = 1}),
                     [](const std::string& bytes) { return ParseMatch(bytes); });
  ExpectCutIsRefused(EncodeRow(Waiting{.epoch = 1}),
                     [](const std::string& bytes) { return ParseWaiting(bytes); });
}

// A count that is larger than the row must not become an allocation.
TEST(RowsTest, HostileRowsAreRefused) {
  const auto lost = HasCode(absl::StatusCode::kDataLoss);
  const std::string anchors_without_end =
      std::string("\x80\x01\x01", 3) + std::string(8, 'd') + "\xff\xff\xff\xff\x7f";
  EXPECT_THAT(ParseExtent(7, anchors_without_end), lost);
  EXPECT_THAT(ParseExtent(7, "\x03\x01\x01"), lost);                  // no such checksum state
  EXPECT_THAT(ParseFingerprint("\x04\x01"), lost);                    // no such role
  EXPECT_THAT(ParseExtent(7, "\x01\xff\xff\xff\xff\x7f\x01"), lost);  // longer than 32 bits
}

}  // namespace
}  // namespace onefold::index
