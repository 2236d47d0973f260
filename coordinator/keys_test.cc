#include "coordinator/keys.h"

#include "absl/strings/escaping.h"
#include "common/testing/status_matchers.h"
#include "coordinator/state_keys.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::index {
namespace {

constexpr VolumeNumber kVolume = {0x01020304};
constexpr VolumeUuid kUuid = {{0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa,
                               0xab, 0xac, 0xad, 0xae, 0xaf}};

std::string Hex(const std::string& bytes) { return absl::BytesToHexString(bytes); }

// An index on disk outlives the program: a byte that moves makes it unreadable.
TEST(KeysTest, BytesAreFrozen) {
  EXPECT_EQ(Hex(AddressKey(Kind::kExtent, kVolume, 0x1112131415161718)),
            "45010203041112131415161718");
  EXPECT_EQ(Hex(AddressKey(Kind::kIncomplete, kVolume, 1)), "49010203040000000000000001");
  EXPECT_EQ(Hex(AddressKey(Kind::kWaiting, kVolume, 1)), "57010203040000000000000001");
  EXPECT_EQ(Hex(AddressKey(Kind::kOutcome, kVolume, 1)), "4f010203040000000000000001");
  EXPECT_EQ(Hex(EncodeKey(kVolume, FingerprintKey{.digest = 0x2122232425262728, .address = 2})),
            "460102030421222324252627280000000000000002");
  EXPECT_EQ(
      Hex(EncodeKey(kVolume, AnchorKey{.digest = 0x3132333435363738, .address = 3, .offset = 4})),
      "41010203043132333435363738000000000000000300000004");
  EXPECT_EQ(Hex(EncodeKey(kVolume, MatchKey{.query = 5, .place = 6, .delta = -1})),
            "4d01020304000000000000000500000000000000067fffffff");
  EXPECT_EQ(Hex(VolumeKey(kUuid)), "56a0a1a2a3a4a5a6a7a8a9aaabacadaeaf");
  EXPECT_EQ(Hex(LeaseKey(kUuid)), "4ca0a1a2a3a4a5a6a7a8a9aaabacadaeaf");
  EXPECT_EQ(Hex(RecordKey("run")), "5272756e");
  EXPECT_EQ(Hex(FleetHostKey("h1")), "46486831");
  EXPECT_EQ(Hex(FleetClaimKey(kUuid)), "4643a0a1a2a3a4a5a6a7a8a9aaabacadaeaf");
  EXPECT_EQ(Hex(FleetPolicyKey("p")), "465070");
  EXPECT_EQ(Hex(FleetDueKey("p", kUuid)), "46447000a0a1a2a3a4a5a6a7a8a9aaabacadaeaf");
  EXPECT_EQ(Hex(FleetRunKey(0x0102)), "46520000000000000102");
  EXPECT_EQ(Hex(std::string(kFleetTotalsKey)), "4654");
  EXPECT_EQ(Hex(FleetVolumeTotalsKey(kUuid)), "4656a0a1a2a3a4a5a6a7a8a9aaabacadaeaf");
  EXPECT_EQ(Hex(FleetHistoryKey(kUuid, 0x0102)),
            "4658a0a1a2a3a4a5a6a7a8a9aaabacadaeaf0000000000000102");
}

TEST(KeysTest, KeysComeBack) {
  const FingerprintKey fingerprint{.digest = ~0ull, .address = 1ull << 50};
  EXPECT_THAT(ParseFingerprintKey(EncodeKey(kVolume, fingerprint)), IsOkAndHolds(fingerprint));
  const AnchorKey anchor{.digest = 7, .address = 8, .offset = ~0u};
  EXPECT_THAT(ParseAnchorKey(EncodeKey(kVolume, anchor)), IsOkAndHolds(anchor));
  for (const int32_t delta : {INT32_MIN, -1, 0, 1, INT32_MAX}) {
    const MatchKey match{.query = 1, .place = 2, .delta = delta};
    EXPECT_THAT(ParseMatchKey(EncodeKey(kVolume, match)), IsOkAndHolds(match));
  }
  EXPECT_THAT(ParseAddressKey(Kind::kExtent, AddressKey(Kind::kExtent, kVolume, 9)),
              IsOkAndHolds(9u));
  EXPECT_THAT(ParseVolumeKey(VolumeKey(kUuid)), IsOkAndHolds(kUuid));
  EXPECT_EQ(ParseLeaseKey(LeaseKey(kUuid)), kUuid);
  EXPECT_EQ(ParseFleetDueKey(FleetDueKey("nightly", kUuid))->policy, "nightly");
  EXPECT_EQ(ParseFleetDueKey(FleetDueKey("nightly", kUuid))->volume, kUuid);
  EXPECT_EQ(ParseFleetRunKey(FleetRunKey(77)), 77);
  EXPECT_EQ(ParseFleetHistoryHour(FleetHistoryKey(kUuid, 77)), 77);
}

// Plans and sweeps walk keys and take their order for that of the numbers.
TEST(KeysTest, ByteOrderIsNumberOrder) {
  EXPECT_LT(AddressKey(Kind::kExtent, kVolume, 0xff), AddressKey(Kind::kExtent, kVolume, 0x100));
  EXPECT_LT(EncodeKey(kVolume, MatchKey{.query = 1, .place = 1, .delta = -2}),
            EncodeKey(kVolume, MatchKey{.query = 1, .place = 1, .delta = 1}));
  EXPECT_LT(AddressKey(Kind::kExtent, {1}, ~0ull), AddressKey(Kind::kExtent, {2}, 0));
}

// Filters are built over the first 13 bytes: what is asked for must be exactly that.
TEST(KeysTest, FirstColumnEndsWithThePrefix) {
  EXPECT_EQ(KeyPrefix(Kind::kFingerprint, kVolume, 1).size(), kKeyPrefixBytes);
  EXPECT_EQ(KeyPrefix(Kind::kFingerprint, kVolume, 1),
            EncodeKey(kVolume, FingerprintKey{.digest = 1, .address = 2}).substr(0, 13));
}

// A damaged database must not be taken for a smaller one.
TEST(KeysTest, CutAndForeignKeysAreRefused) {
  const auto lost = HasCode(absl::StatusCode::kDataLoss);
  const std::string fingerprint = EncodeKey(kVolume, FingerprintKey{});
  const std::string anchor = EncodeKey(kVolume, AnchorKey{});
  const std::string match = EncodeKey(kVolume, MatchKey{});
  const std::string extent = AddressKey(Kind::kExtent, kVolume, 1);
  for (size_t size = 0; size < anchor.size(); ++size) {
    EXPECT_THAT(ParseAnchorKey(anchor.substr(0, size)), lost);
    EXPECT_THAT(ParseMatchKey(match.substr(0, size)), lost);
    if (size < fingerprint.size()) {
      EXPECT_THAT(ParseFingerprintKey(fingerprint.substr(0, size)), lost);
    }
    if (size < extent.size()) {
      EXPECT_THAT(ParseAddressKey(Kind::kExtent, extent.substr(0, size)), lost);
    }
  }
  EXPECT_THAT(ParseFingerprintKey(fingerprint + "x"), lost);
  EXPECT_THAT(ParseAddressKey(Kind::kWaiting, extent), lost);
  EXPECT_THAT(ParseVolumeKey("V"), lost);
  EXPECT_EQ(ParseLeaseKey("L"), std::nullopt);
  EXPECT_EQ(ParseFleetDueKey("FDx"), std::nullopt);
  EXPECT_EQ(ParseFleetDueKey(FleetDueKey("x", kUuid) + "y"), std::nullopt);
  EXPECT_EQ(ParseFleetRunKey("FR1"), std::nullopt);
  EXPECT_EQ(ParseFleetHistoryHour("FX1"), std::nullopt);
}

}  // namespace
}  // namespace onefold::index
