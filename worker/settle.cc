#include "worker/settle.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

// Sources that are tried for one extent: with more, equal extents differ in how their files end.
constexpr size_t kKeepsMax = 8;

// A member of a group, seen.
struct Candidate {
  GroupMember member;
  ExtentView view;
  Holder holder = Holder::kNone;  // why it cannot be dropped
  bool has_source = false;
  int64_t reachable_bytes = 0;  // of its data that sources cover
};

// Bytes of the extent's data that its sources reach.
int64_t ReachableBytes(const ExtentView& view) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const Reference& reference : view.references) {
    if (reference.is_source) ranges.emplace_back(reference.extent_offset, reference.extent_end());
  }
  std::sort(ranges.begin(), ranges.end());
  int64_t bytes = 0;
  int64_t covered = 0;
  for (const auto& [begin, end] : ranges) {
    const int64_t from = std::max(begin, covered);
    if (end > from) bytes += end - from;
    covered = std::max(covered, end);
  }
  return bytes;
}

bool InReadonlySubvolume(const ExtentView& view) {
  return std::any_of(view.references.begin(), view.references.end(),
                     [](const Reference& reference) { return reference.in_readonly_subvolume; });
}

// Smaller is kept rather.
auto KeepOrder(const Candidate& candidate) {
  return std::make_tuple(!candidate.has_source, candidate.holder == Holder::kNone,
                         -candidate.reachable_bytes, !candidate.member.kept_before,
                         -static_cast<int64_t>(candidate.view.references.size()),
                         !InReadonlySubvolume(candidate.view), candidate.view.address);
}

// A candidate that others share from.
struct Keep {
  const Candidate* candidate;
  SourceMap sources;
  bool used = false;
};

// Drops `candidate` onto one of `keeps`, writing at most `written_bytes_max` anew. Returns what is
// in the way, kNone if it is dropped.
Holder DropOnto(const Candidate& candidate, std::vector<Keep>& keeps, int64_t block_bytes,
                int64_t written_bytes_max, Holder held_by, Settled& settled) {
  Holder in_the_way = Holder::kUnmatchedBlocks;
  for (Keep& keep : keeps) {
    auto planned = PlanMoves(candidate.view, keep.sources, block_bytes, written_bytes_max);
    if (auto* moves = std::get_if<std::vector<Move>>(&planned)) {
      Drop drop = MakeDrop(candidate.view, std::move(*moves));
      drop.written_bytes = WrittenBytes(drop.moves, block_bytes);
      drop.held_by = held_by;
      drop.self = candidate.member;
      drop.partner = keep.candidate->member;
      settled.drops.push_back(std::move(drop));
      keep.used = true;
      return Holder::kNone;
    }
    in_the_way = std::get<Holder>(planned);
  }
  return in_the_way;
}

// Decides on members whose data is alike in every respect. `candidates` is in keep order, those
// without a source last.
void SettleAlike(const std::vector<Candidate>& candidates, int64_t block_bytes,
                 const RelocationLimit& relocation, Settled& settled) {
  std::vector<Keep> keeps;
  std::vector<std::pair<const Candidate*, Holder>> held;
  for (const Candidate& candidate : candidates) {
    Holder holder = candidate.holder;
    if (holder == Holder::kNone) {
      holder = DropOnto(candidate, keeps, block_bytes, 0, Holder::kNone, settled);
    }
    if (const int64_t bytes = relocation.WrittenBytesMax(candidate.view.disk_bytes);
        bytes > 0 && candidate.holder == Holder::kNone && holder != Holder::kNone) {
      holder = DropOnto(candidate, keeps, block_bytes, bytes, holder, settled);
    }
    if (holder == Holder::kNone) continue;
    held.emplace_back(&candidate, holder);
    if (candidate.has_source && keeps.size() < kKeepsMax) {
      keeps.push_back({.candidate = &candidate, .sources = SourcesOf(candidate.view)});
    }
  }
  const int64_t held_in_scope = std::count_if(
      held.begin(), held.end(), [](const auto& entry) { return entry.first->has_source; });
  bool one_stays = !keeps.empty();
  for (const auto& [candidate, holder] : held) {
    const auto keep = std::find_if(keeps.begin(), keeps.end(),
                                   [&, c = candidate](const Keep& k) { return k.candidate == c; });
    const bool first = keep == keeps.begin() && keep != keeps.end();
    if (keep != keeps.end() && keep->used) {
      settled.sources.push_back(candidate->view.address);
      settled.results.push_back(ResultOf(candidate->view, Outcome::kKept));
    } else if (candidate->view.holder == Holder::kTooManyReferences) {
      settled.results.push_back(ResultOf(candidate->view, Outcome::kPinned, holder));
    } else if (!candidate->has_source) {
      // Nothing of it is in scope: it is neither changed nor used.
      if (std::exchange(one_stays, true)) NoteExcluded(candidate->view, settled);
      settled.results.push_back(ResultOf(candidate->view, Outcome::kOutOfScope));
    } else if (first) {
      // The one that would stay: kept if others in scope were left alone, alone in scope otherwise.
      settled.results.push_back(
          ResultOf(candidate->view, held_in_scope > 1 ? Outcome::kKept : Outcome::kOutOfScope));
    } else {
      NoteExcluded(candidate->view, settled);
      settled.results.push_back(ResultOf(candidate->view, Outcome::kPinned, holder));
    }
  }
}

// Leaves of metadata that refer to the extent. The extent item counts them, but not those that the
// running transaction has added; files that are not the same inode at the same place cannot share
// one.
int64_t LeafCount(const ExtentView& view) {
  std::set<std::pair<uint64_t, int64_t>> places;
  for (const Reference& reference : view.references) {
    places.emplace(reference.file.inode, reference.file_offset);
  }
  return std::max(static_cast<int64_t>(view.item_references), static_cast<int64_t>(places.size()));
}

}  // namespace

ExtentResult ResultOf(const ExtentView& view, Outcome outcome, Holder holder) {
  return {.address = view.address,
          .generation = view.generation,
          .outcome = outcome,
          .holder = holder,
          .disk_bytes = view.disk_bytes};
}

Drop MakeDrop(const ExtentView& view, std::vector<Move> moves) {
  int64_t reference_bytes = 0;
  for (const Reference& reference : view.references) reference_bytes += reference.length;
  return {.address = view.address,
          .generation = view.generation,
          .disk_bytes = view.disk_bytes,
          .moves = std::move(moves),
          .reference_count = static_cast<int64_t>(view.references.size()),
          .leaf_count = LeafCount(view),
          .reference_bytes = reference_bytes};
}

void NoteExcluded(const ExtentView& view, Settled& settled) {
  std::set<int> patterns;
  for (const Reference& reference : view.references) {
    if (reference.excluded_by != -1) patterns.insert(reference.excluded_by);
  }
  for (const int pattern : patterns) settled.excluded_bytes[pattern] += view.disk_bytes;
}

absl::StatusOr<Settled> SettleWhole(const Group& group, ExtentViewer& viewer, int64_t block_bytes,
                                    const RelocationLimit& relocation) {
  Settled settled;
  // Equal checksums of compressed data are equal data only if they unpack alike.
  std::map<std::pair<uint8_t, int64_t>, std::vector<Candidate>> alike;
  bool changed = false;
  for (const GroupMember& member : group.members) {
    ASSIGN_OR_RETURN(std::optional<ExtentView> view, viewer.View(member.address, member.generation),
                     "looking at the extent at ", member.address);
    if (!view) {
      settled.results.push_back(
          {.address = member.address, .generation = member.generation, .outcome = Outcome::kGone});
      continue;
    }
    if (view->changed) {
      settled.results.push_back(ResultOf(*view, Outcome::kRetry));
      changed = true;
      continue;
    }
    Candidate candidate{.member = member, .view = *std::move(view)};
    candidate.holder = candidate.view.FirstHolder();
    candidate.has_source = candidate.view.HasSource();
    candidate.reachable_bytes = ReachableBytes(candidate.view);
    const int64_t unpacked = candidate.view.compressed() ? candidate.view.ram_bytes : 0;
    alike[{candidate.view.compression, unpacked}].push_back(std::move(candidate));
  }
  for (auto& [kind, candidates] : alike) {
    if (candidates.size() == 1) {
      settled.results.push_back(
          ResultOf(candidates[0].view, changed ? Outcome::kRetry : Outcome::kNoPartner));
      continue;
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return KeepOrder(a) < KeepOrder(b); });
    SettleAlike(candidates, block_bytes, relocation, settled);
  }
  return settled;
}

}  // namespace onefold
