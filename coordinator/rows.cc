#include "coordinator/rows.h"

#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/bytes.h"

namespace onefold::index {
namespace {

constexpr uint8_t kStateMask = 3;
constexpr uint8_t kKept = 1 << 2;
constexpr uint8_t kSettled = 1 << 3;
constexpr uint8_t kHeld = 1 << 4;
constexpr uint8_t kHasHead = 1 << 5;
constexpr uint8_t kHeadIsWhole = 1 << 6;
constexpr uint8_t kHasAnchors = 1 << 7;

constexpr uint8_t kRoleWhole = 1;
constexpr uint8_t kRoleHead = 2;

constexpr uint8_t kWholeAnswered = 1;

absl::Status Damaged(absl::string_view what, absl::string_view bytes) {
  return absl::DataLossError(
      absl::StrCat("no ", what, ": ", absl::BytesToHexString(bytes.substr(0, 40))));
}

// Takes values from the front of bytes. After one that did not fit all further ones are zero.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}

  uint8_t Byte() {
    if (bytes_.empty()) return Fail();
    const auto byte = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }
  uint64_t Varint() {
    uint64_t value = 0;
    return ok_ && ConsumeVarint(bytes_, value) ? value : Fail();
  }
  uint32_t Varint32() {
    const uint64_t value = Varint();
    return value <= std::numeric_limits<uint32_t>::max() ? static_cast<uint32_t>(value) : Fail();
  }
  uint64_t Digest() {
    if (bytes_.size() < 8) return Fail();
    const uint64_t digest = LoadLittle64(bytes_.data());
    bytes_.remove_prefix(8);
    return digest;
  }
  size_t remaining() const { return bytes_.size(); }
  // Everything was read, and nothing more.
  bool AtEnd() const { return ok_ && bytes_.empty(); }

 private:
  uint8_t Fail() {
    ok_ = false;
    bytes_ = {};
    return 0;
  }

  absl::string_view bytes_;
  bool ok_ = true;
};

uint8_t FlagsOf(const Extent& extent) {
  uint8_t flags = static_cast<uint8_t>(extent.checksum_state);
  if (extent.kept) flags |= kKept;
  if (extent.settled) flags |= kSettled;
  if (extent.held) flags |= kHeld;
  if (extent.has_head) flags |= kHasHead;
  if (extent.head_is_whole()) flags |= kHeadIsWhole;
  if (!extent.anchors.empty()) flags |= kHasAnchors;
  return flags;
}

bool ReadAnchors(Reader& reader, std::vector<Anchor>& anchors) {
  const uint64_t count = reader.Varint();
  if (count == 0 || count > reader.remaining() / 9) return false;
  anchors.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t digest = reader.Digest();
    anchors.push_back({.digest = digest, .offset = reader.Varint32()});
  }
  return true;
}

}  // namespace

std::string EncodeRow(const Extent& extent) {
  std::string bytes;
  bytes.reserve(32);
  bytes.push_back(static_cast<char>(FlagsOf(extent)));
  AppendVarint(bytes, extent.length);
  AppendVarint(bytes, extent.generation);
  if (extent.complete()) AppendLittle64(bytes, extent.digest);
  if (extent.has_head) {
    if (!extent.head_is_whole()) AppendLittle64(bytes, extent.head);
    AppendVarint(bytes, extent.head_offset);
  }
  if (!extent.anchors.empty()) {
    AppendVarint(bytes, extent.anchors.size());
    for (const Anchor& anchor : extent.anchors) {
      AppendLittle64(bytes, anchor.digest);
      AppendVarint(bytes, anchor.offset);
    }
  }
  return bytes;
}

absl::StatusOr<Extent> ParseExtent(uint64_t address, absl::string_view bytes) {
  Reader reader(bytes);
  const uint8_t flags = reader.Byte();
  Extent extent;
  extent.address = address;
  extent.checksum_state = static_cast<ChecksumState>(flags & kStateMask);
  extent.kept = flags & kKept;
  extent.settled = flags & kSettled;
  extent.held = flags & kHeld;
  extent.has_head = flags & kHasHead;
  extent.length = reader.Varint32();
  extent.generation = reader.Varint();
  if (extent.complete()) extent.digest = reader.Digest();
  if (extent.has_head) {
    extent.head = flags & kHeadIsWhole ? extent.digest : reader.Digest();
    extent.head_offset = reader.Varint32();
  }
  const bool anchors_ok = !(flags & kHasAnchors) || ReadAnchors(reader, extent.anchors);
  if (!anchors_ok || !reader.AtEnd() || (flags & kStateMask) == kStateMask) {
    return Damaged("extent row", bytes);
  }
  return extent;
}

std::string EncodeRow(const Fingerprint& fingerprint) {
  std::string bytes;
  bytes.push_back(
      static_cast<char>((fingerprint.whole ? kRoleWhole : 0) | (fingerprint.head ? kRoleHead : 0)));
  AppendVarint(bytes, fingerprint.length);
  if (fingerprint.head) {
    AppendVarint(bytes, fingerprint.head_offset);
    if (!fingerprint.whole) AppendLittle64(bytes, fingerprint.whole_digest);
  }
  return bytes;
}

absl::StatusOr<Fingerprint> ParseFingerprint(absl::string_view bytes) {
  Reader reader(bytes);
  const uint8_t roles = reader.Byte();
  Fingerprint fingerprint;
  fingerprint.whole = roles & kRoleWhole;
  fingerprint.head = roles & kRoleHead;
  fingerprint.length = reader.Varint32();
  if (fingerprint.head) {
    fingerprint.head_offset = reader.Varint32();
    if (!fingerprint.whole) fingerprint.whole_digest = reader.Digest();
  }
  if (!reader.AtEnd() || roles == 0 || roles > (kRoleWhole | kRoleHead)) {
    return Damaged("fingerprint row", bytes);
  }
  return fingerprint;
}

std::string EncodeRow(const Waiting& waiting) {
  std::string bytes(1, static_cast<char>(waiting.whole_answered ? kWholeAnswered : 0));
  AppendVarint(bytes, waiting.epoch);
  return bytes;
}

absl::StatusOr<Waiting> ParseWaiting(absl::string_view bytes) {
  Reader reader(bytes);
  const uint8_t flags = reader.Byte();
  const Waiting waiting{.whole_answered = flags == kWholeAnswered, .epoch = reader.Varint()};
  if (!reader.AtEnd() || flags > kWholeAnswered) return Damaged("row of a waiting extent", bytes);
  return waiting;
}

std::string EncodeRow(const OutcomeRow& outcome) {
  std::string bytes;
  bytes.push_back(static_cast<char>(outcome.outcome));
  bytes.push_back(static_cast<char>(outcome.holder));
  AppendVarint(bytes, outcome.length);
  return bytes;
}

absl::StatusOr<OutcomeRow> ParseOutcome(absl::string_view bytes) {
  Reader reader(bytes);
  OutcomeRow row;
  row.outcome = reader.Byte();
  row.holder = reader.Byte();
  row.length = reader.Varint32();
  if (!reader.AtEnd()) return Damaged("outcome row", bytes);
  return row;
}

std::string EncodeRow(const Match& match) {
  std::string bytes;
  AppendVarint(bytes, match.epoch);
  AppendVarint(bytes, match.place_length);
  return bytes;
}

absl::StatusOr<Match> ParseMatch(absl::string_view bytes) {
  Reader reader(bytes);
  Match match;
  match.epoch = reader.Varint();
  match.place_length = reader.Varint32();
  if (!reader.AtEnd()) return Damaged("match row", bytes);
  return match;
}

std::string EncodeCount(uint64_t count) {
  std::string bytes;
  AppendVarint(bytes, count);
  return bytes;
}

absl::StatusOr<uint64_t> ParseCount(absl::string_view bytes) {
  Reader reader(bytes);
  const uint64_t count = reader.Varint();
  if (!reader.AtEnd()) return Damaged("count", bytes);
  return count;
}

}  // namespace onefold::index
