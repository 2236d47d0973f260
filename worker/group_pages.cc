#include "worker/group_pages.h"

#include <algorithm>

namespace onefold {
namespace {

// Equal extents that stay differ in how their files end: a few.
constexpr size_t kKeptMax = 8;

bool Holds(const std::vector<GroupMember>& members, uint64_t address) {
  return std::any_of(members.begin(), members.end(),
                     [address](const GroupMember& member) { return member.address == address; });
}

}  // namespace

Group GroupPages::Continue(const Group& page) const {
  Group group = page;
  group.members.clear();
  for (const GroupMember& member : kept_) {
    if (!dropped_.contains(member.address)) group.members.push_back(member);
  }
  const size_t kept_count = group.members.size();
  for (const GroupMember& member : page.members) {
    if (dropped_.contains(member.address) || Holds(kept_, member.address)) continue;
    group.members.push_back(member);
  }
  // What was kept needs no answer once more.
  if (group.members.size() == kept_count) group.members.clear();
  return group;
}

void GroupPages::Note(const Group& page, const Settled& settled) {
  for (const Drop& drop : settled.drops) dropped_.insert(drop.address);
  for (const ExtentResult& result : settled.results) {
    if (result.outcome != Outcome::kGone) continue;
    std::erase_if(kept_, [&](const GroupMember& kept) { return kept.address == result.address; });
  }
  for (const GroupMember& member : page.members) {
    const bool is_source = std::find(settled.sources.begin(), settled.sources.end(),
                                     member.address) != settled.sources.end();
    if (!is_source || Holds(kept_, member.address) || kept_.size() == kKeptMax) continue;
    kept_.push_back(member);
    kept_.back().kept_before = true;
  }
}

}  // namespace onefold
