#include "coordinator/anchor_matcher.h"

#include <optional>
#include <string>

#include "common/limits.h"
#include "common/status_macros.h"

namespace onefold::index {

absl::Status AnchorMatcher::MatchExtent(const Extent& extent) {
  std::set<MatchKey> matches;
  for (const Anchor& anchor : extent.anchors) {
    RETURN_IF_ERROR(MatchAnchor(extent, anchor, matches));
    if (matches.size() >= kPlacesPerHeadMax) break;
  }
  return absl::OkStatus();
}

absl::Status AnchorMatcher::MatchAnchor(const Extent& extent, const Anchor& anchor,
                                        std::set<MatchKey>& matches) {
  if (anchors_ == nullptr) anchors_ = store_.LookUp();
  for (anchors_->Seek(KeyPrefix(Kind::kAnchor, volume_, anchor.digest));
       anchors_->Valid() && matches.size() < kPlacesPerHeadMax; anchors_->Next()) {
    ASSIGN_OR_RETURN(const AnchorKey place, ParseAnchorKey(anchors_->key()));
    if (place.address == extent.address) continue;
    const MatchKey key{.query = extent.address,
                       .place = place.address,
                       .delta = static_cast<int32_t>(place.offset - anchor.offset)};
    if (matches.insert(key).second) RETURN_IF_ERROR(AddMatch(extent, key));
  }
  return anchors_->status();
}

absl::Status AnchorMatcher::AddMatch(const Extent& extent, const MatchKey& key) {
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes,
                   store_.Get(AddressKey(Kind::kExtent, volume_, key.place)));
  if (!bytes) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Extent place, ParseExtent(key.place, *bytes));
  if (place.digest == extent.digest && place.length == extent.length) {
    return absl::OkStatus();  // equal as a whole: found that way
  }
  batch_.Put(EncodeKey(volume_, key),
             EncodeRow(Match{.epoch = record_.queue().epoch(), .place_length = place.length}));
  record_.set_has_matches(true);
  return absl::OkStatus();
}

}  // namespace onefold::index
