// Values of the database `index`: what the rows that keys.h names hold. Varints are LEB128, digests
// 8 bytes little endian.
//
//   E := flags:1 length:varint generation:varint [digest:8] [head] [anchors]
//        flags: bits 0-1 ChecksumState, 2 kept, 3 settled, 4 held, 5 has a head, 6 the head is the
//               whole extent (no head digest follows), 7 has anchors
//        digest is there when the checksums are complete
//        head := [digest:8] offset:varint        anchors := count:varint (digest:8 offset:varint)*
//   F := roles:1 length:varint [offset:varint] [whole digest:8]
//        roles: bit 0 digest of the whole extent, 1 of its head (then the offset follows, and the
//               digest of the whole extent unless bit 0 is set too)
//   W := flags:1 epoch:varint        flags: bit 0 answered as far as whole extents go
//   O := outcome:1 holder:1 length:varint        numbers of onefold.v1.Outcome and Holder
//   M := epoch:varint length of the place:varint        M without a place := count:varint
//   A, I := nothing        V := onefold.storage.v1.VolumeRecord
//
// Frozen: rows_test.cc holds the bytes.

#ifndef ONEFOLD_COORDINATOR_ROWS_H_
#define ONEFOLD_COORDINATOR_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold::index {

// Numbers of onefold.v1.ChecksumState.
enum class ChecksumState : uint8_t { kComplete = 0, kNone = 1, kPartial = 2 };

// A window whose digest alone decides that it is indexed, wherever it lies.
struct Anchor {
  uint64_t digest = 0;
  uint32_t offset = 0;
  friend bool operator==(const Anchor&, const Anchor&) = default;
};

// An extent as the index holds it. Identity is (volume, address, generation). `address`, the key,
// is not part of the value.
struct Extent {
  uint64_t address = 0;
  uint32_t length = 0;
  ChecksumState checksum_state = ChecksumState::kComplete;
  bool kept = false;     // others share it
  bool settled = false;  // has an outcome; matters only while QueueRecord.everything
  bool held = false;     // there may be a row O
  bool has_head = false;
  uint32_t head_offset = 0;
  uint64_t generation = 0;
  uint64_t digest = 0;  // of all checksums; 0 unless they are complete
  uint64_t head = 0;    // of the head window
  std::vector<Anchor> anchors;

  bool complete() const { return checksum_state == ChecksumState::kComplete; }
  // The head window is the whole extent: one row F has both roles.
  bool head_is_whole() const { return has_head && head == digest; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

struct Fingerprint {
  bool whole = false;
  bool head = false;
  uint32_t length = 0;
  uint32_t head_offset = 0;   // with `head`
  uint64_t whole_digest = 0;  // with `head` alone
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

struct Waiting {
  bool whole_answered = false;
  uint64_t epoch = 0;
  friend bool operator==(const Waiting&, const Waiting&) = default;
};

struct OutcomeRow {
  int outcome = 0;
  int holder = 0;
  uint32_t length = 0;
  friend bool operator==(const OutcomeRow&, const OutcomeRow&) = default;
};

struct Match {
  uint64_t epoch = 0;
  uint32_t place_length = 0;
  friend bool operator==(const Match&, const Match&) = default;
};

std::string EncodeRow(const Extent& extent);
std::string EncodeRow(const Fingerprint& fingerprint);
std::string EncodeRow(const Waiting& waiting);
std::string EncodeRow(const OutcomeRow& outcome);
std::string EncodeRow(const Match& match);
std::string EncodeCount(uint64_t count);

// Each returns DATA_LOSS unless `bytes` is exactly one value.
absl::StatusOr<Extent> ParseExtent(uint64_t address, absl::string_view bytes);
absl::StatusOr<Fingerprint> ParseFingerprint(absl::string_view bytes);
absl::StatusOr<Waiting> ParseWaiting(absl::string_view bytes);
absl::StatusOr<OutcomeRow> ParseOutcome(absl::string_view bytes);
absl::StatusOr<Match> ParseMatch(absl::string_view bytes);
absl::StatusOr<uint64_t> ParseCount(absl::string_view bytes);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_ROWS_H_
