// Matching inside extents and across their borders.
//
// The coordinator says: the head of extent Q lies in extent C. From there on, everything is settled
// from checksums, in file order: starting where both were found, the match is extended forwards and
// backwards through the extents of one file on each side, to a run of equal blocks
//
//   file a   ──[ X1 ][  Q  ][ X2 ]──          (the query's side)
//   file c   ──[      C      ][ Y ]──
//
// Extents that lie wholly inside the run on one side can be dropped onto the other side. The side
// whose dropping frees more is chosen for the whole run: mixing sides would leave pieces of both.

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "common/status_macros.h"
#include "worker/settle.h"

namespace onefold {
namespace {

// How far a run is extended from where it was found, in each direction. Longer matches take several
// groups. Two copies of a pair of checksum arrays of this reach fit in a few MiB.
constexpr int64_t kRunBytesMax = int64_t{256} << 20;
// Each may become a drop of some 400 bytes, on both sides, in every settling thread.
constexpr size_t kPiecesMax = 4096;
// References of a candidate that are tried as the other side of a run.
constexpr size_t kReferencesTried = 3;

// A piece of a file that lies in one extent.
struct Piece {
  int64_t file_offset = 0;
  int64_t length = 0;
  uint64_t extent = 0;        // address of the extent
  int64_t extent_offset = 0;  // where in it the piece begins

  uint64_t disk_address() const { return extent + extent_offset; }
  int64_t file_end() const { return file_offset + length; }
};

// Consecutive pieces of one file without holes between them.
struct Side {
  InodeId file;
  int64_t file_bytes = 0;
  std::vector<Piece> pieces = {};
  // Reading ended there at the window or the limit of pieces: more may follow.
  bool open_begin = false;
  bool open_end = false;

  int64_t begin() const { return pieces.front().file_offset; }
  int64_t end() const { return pieces.back().file_end(); }
};

std::optional<Piece> AsPiece(int64_t file_offset, const FileExtent& extent) {
  if (extent.kind != FileExtent::Kind::kRegular || extent.compression != 0 ||
      extent.encoding != 0 || extent.disk_address == 0) {
    return std::nullopt;
  }
  return Piece{.file_offset = file_offset,
               .length = static_cast<int64_t>(extent.length),
               .extent = extent.disk_address,
               .extent_offset = static_cast<int64_t>(extent.offset)};
}

// Half-open range of a file, in bytes.
struct FileRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// The pieces of `reference`'s file around it that hang together and touch `window`.
absl::StatusOr<Side> SideAround(const Reference& reference, const FileRange& window,
                                ExtentViewer& viewer) {
  Side side{.file = reference.file, .file_bytes = reference.file_bytes};
  RETURN_IF_ERROR(viewer.ForEachFileExtent(
      reference.file, reference.file_offset, [&](int64_t file_offset, const FileExtent& extent) {
        const auto piece = AsPiece(file_offset, extent);
        if (!piece || (!side.pieces.empty() && side.end() != file_offset)) return false;
        side.pieces.push_back(*piece);
        side.open_end = side.end() < side.file_bytes &&
                        (side.pieces.size() >= kPiecesMax || side.end() >= window.end);
        return !side.open_end;
      }));
  // Backwards in growing steps: trees are read forwards only.
  int64_t step = int64_t{1} << 20;
  while (!side.pieces.empty() && side.begin() > window.begin &&
         side.pieces.size() < 2 * kPiecesMax) {
    const int64_t end = side.begin();
    const int64_t from = std::max<int64_t>(0, end - step);
    std::vector<Piece> before;
    RETURN_IF_ERROR(viewer.ForEachFileExtent(
        reference.file, from, [&](int64_t file_offset, const FileExtent& extent) {
          if (file_offset >= end) return false;
          const auto piece = AsPiece(file_offset, extent);
          if (!piece || (!before.empty() && before.back().file_end() != file_offset))
            before.clear();
          if (piece) before.push_back(*piece);
          return true;
        }));
    const bool joins = !before.empty() && before.back().file_end() == end;
    if (joins) side.pieces.insert(side.pieces.begin(), before.begin(), before.end());
    // Nothing in reach: perhaps one long extent begins farther back.
    if (!joins && (!before.empty() || from == 0 || step > kRunBytesMax)) return side;
    step *= 4;
  }
  side.open_begin = !side.pieces.empty() && side.begin() > 0;
  return side;
}

// Compares checksums of ranges of two files.
class Comparer {
 public:
  Comparer(ChecksumReaders& readers, const VolumeInfo& volume)
      : left_reader_(readers.query),
        right_reader_(readers.place),
        block_(volume.block_bytes),
        bytes_(volume.checksum_bytes) {}

  // How many blocks at `a` and `b` are equal, up to `blocks`, from the front (or from the back).
  absl::StatusOr<int64_t> EqualBlocks(uint64_t a, uint64_t b, int64_t blocks, bool from_back) {
    ASSIGN_OR_RETURN(const bool complete, Load(a, b, blocks));
    if (!complete) return 0;
    if (left_ == right_) return blocks;
    int64_t equal = 0;
    while (equal < blocks && Equal(from_back ? blocks - 1 - equal : equal)) ++equal;
    return equal;
  }

  // Where the longest stretch of equal blocks begins; -1 if no block is equal.
  absl::StatusOr<int64_t> LongestEqual(uint64_t a, uint64_t b, int64_t blocks) {
    ASSIGN_OR_RETURN(const bool complete, Load(a, b, blocks));
    if (!complete) return -1;
    int64_t best = -1;
    int64_t best_length = 0;
    for (int64_t at = 0; at < blocks;) {
      int64_t end = at;
      while (end < blocks && Equal(end)) ++end;
      if (end - at > best_length) {
        best = at;
        best_length = end - at;
      }
      at = end + 1;
    }
    return best;
  }

  int64_t block() const { return block_; }

 private:
  // Blocks without checksums read as zeros: a range that lacks some matches nothing.
  absl::StatusOr<bool> Load(uint64_t a, uint64_t b, int64_t blocks) {
    ASSIGN_OR_RETURN(const int64_t present_a, left_reader_.Read(a, blocks, left_));
    ASSIGN_OR_RETURN(const int64_t present_b, right_reader_.Read(b, blocks, right_));
    return present_a == blocks && present_b == blocks;
  }
  bool Equal(int64_t at) const {
    return std::memcmp(left_.data() + at * bytes_, right_.data() + at * bytes_, bytes_) == 0;
  }

  ChecksumReader& left_reader_;
  ChecksumReader& right_reader_;
  const int64_t block_;
  const int64_t bytes_;
  std::string left_;
  std::string right_;
};

// Index of the piece that holds `offset`; -1 if none does.
int PieceAt(const Side& side, int64_t offset) {
  auto piece = std::upper_bound(side.pieces.begin(), side.pieces.end(), offset,
                                [](int64_t at, const Piece& p) { return at < p.file_offset; });
  if (piece == side.pieces.begin()) return -1;
  --piece;
  return offset < piece->file_end() ? static_cast<int>(piece - side.pieces.begin()) : -1;
}

// A run of equal blocks: [begin, end) of side a lies at [begin + shift, end + shift) of side c.
struct Run {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t shift = 0;
  int64_t apart = 0;  // bytes of it that lie at two places on disk
};

// Extends from `at` (in file a) in both directions. Ends where data differs or either side ends;
// what is the same on disk already is passed: a fragmented file may share every other block. In one
// file the two ranges must not overlap.
absl::StatusOr<Run> ExtendRun(const Side& a, const Side& c, int64_t at, int64_t shift,
                              Comparer& comparer) {
  Run run{.begin = at, .end = at, .shift = shift};
  const int64_t block = comparer.block();
  // Within one file, a run as long as the shift would overlap itself.
  const int64_t length_max = a.file == c.file ? std::abs(shift) : INT64_MAX;
  while (run.end - run.begin < length_max) {  // forwards
    const int ia = PieceAt(a, run.end);
    const int ic = PieceAt(c, run.end + shift);
    if (ia < 0 || ic < 0) break;
    const Piece& pa = a.pieces[ia];
    const Piece& pc = c.pieces[ic];
    const uint64_t da = pa.disk_address() + (run.end - pa.file_offset);
    const uint64_t dc = pc.disk_address() + (run.end + shift - pc.file_offset);
    const int64_t bytes = std::min({pa.file_end() - run.end, pc.file_end() - (run.end + shift),
                                    length_max - (run.end - run.begin)});
    if (da == dc) {
      run.end += bytes;
      continue;
    }
    ASSIGN_OR_RETURN(const int64_t equal, comparer.EqualBlocks(da, dc, bytes / block, false));
    run.end += equal * block;
    run.apart += equal * block;
    if (equal * block < bytes || bytes < block) break;
  }
  while (run.end - run.begin < length_max) {  // backwards
    const int ia = PieceAt(a, run.begin - 1);
    const int ic = PieceAt(c, run.begin + shift - 1);
    if (ia < 0 || ic < 0) break;
    const Piece& pa = a.pieces[ia];
    const Piece& pc = c.pieces[ic];
    const int64_t bytes = std::min({run.begin - pa.file_offset, run.begin + shift - pc.file_offset,
                                    length_max - (run.end - run.begin)});
    const uint64_t da = pa.disk_address() + (run.begin - bytes - pa.file_offset);
    const uint64_t dc = pc.disk_address() + (run.begin + shift - bytes - pc.file_offset);
    if (da == dc) {
      run.begin -= bytes;
      continue;
    }
    ASSIGN_OR_RETURN(const int64_t equal, comparer.EqualBlocks(da, dc, bytes / block, true));
    run.begin -= equal * block;
    run.apart += equal * block;
    if (equal * block < bytes || bytes < block) break;
  }
  return run;
}

// What dropping the extents of one side that lie inside the run would take.
struct SidePlan {
  std::vector<Drop> drops;
  std::vector<uint64_t> sources;
  int64_t bytes = 0;       // that it is worth
  int64_t references = 0;  // of the extents that would be dropped
  Holder first_holder = Holder::kNone;
};

// Plans to drop extents of `side` onto `other`: [begin, end) of `side` lies at + shift in `other`.
// Extents that reach out of it are dropped if `relocation` allows for what else they hold.
absl::StatusOr<SidePlan> PlanSide(const Side& side, const Side& other, int64_t begin, int64_t end,
                                  int64_t shift, ExtentViewer& viewer, int64_t block_bytes,
                                  const RelocationLimit& relocation) {
  SidePlan plan;
  absl::flat_hash_set<uint64_t> read;  // what is read from stays
  for (const Piece& piece : other.pieces) {
    if (piece.file_end() <= begin + shift || piece.file_offset >= end + shift) continue;
    if (read.insert(piece.extent).second) plan.sources.push_back(piece.extent);
  }
  // The pieces of each extent: a fragmented file may hold an extent in many of them.
  absl::flat_hash_map<uint64_t, std::vector<const Piece*>> parts;
  for (const Piece& piece : side.pieces) {
    if (piece.file_end() > begin && piece.file_offset < end) parts[piece.extent].push_back(&piece);
  }
  for (const Piece& piece : side.pieces) {
    if (piece.file_end() <= begin || piece.file_offset >= end) continue;
    const std::vector<const Piece*> own = std::exchange(parts[piece.extent], {});
    if (own.empty() || read.contains(piece.extent)) continue;  // done with its first piece, or kept
    const auto cut = std::find_if(own.begin(), own.end(), [&](const Piece* part) {
      return part->file_offset < begin || part->file_end() > end;
    });
    Holder held_by = Holder::kNone;  // without relocation
    if (cut != own.end()) {          // this reference could not be moved
      const bool only_tail = (*cut)->file_offset >= begin && side.file_bytes > end &&
                             side.file_bytes - end < block_bytes;
      held_by = only_tail ? Holder::kTail : Holder::kUnmatchedBlocks;
      if (!relocation.allowed()) {
        if (plan.first_holder == Holder::kNone) plan.first_holder = held_by;
        continue;
      }
    }
    // Where the extent's data lies in `other`, over all pieces of the run.
    SourceMap map;
    for (const Piece* part : own) {
      const int64_t from = std::max<int64_t>(0, begin - part->file_offset);
      const int64_t to = std::min(part->length, end - part->file_offset);
      map.push_back({.begin = part->extent_offset + from,
                     .end = part->extent_offset + to,
                     .file = other.file,
                     .file_offset = part->file_offset + from + shift,
                     .file_bytes = other.file_bytes});
    }
    ASSIGN_OR_RETURN(std::optional<ExtentView> view, viewer.View(piece.extent, 0));
    if (!view) continue;
    Holder holder = view->FirstHolder();
    if (holder == Holder::kNone) {
      auto planned =
          PlanMoves(*view, map, block_bytes, relocation.WrittenBytesMax(view->disk_bytes));
      if (auto* moves = std::get_if<std::vector<Move>>(&planned)) {
        Drop drop = MakeDrop(*view, std::move(*moves));
        drop.kind = PlanKind::kInside;
        drop.written_bytes = WrittenBytes(drop.moves, block_bytes);
        if (drop.written_bytes > 0) {
          drop.held_by = held_by == Holder::kNone ? Holder::kTail : held_by;
        }
        // Freed net; of two sides that free as much, the one that takes less writing.
        plan.bytes += view->disk_bytes - 2 * drop.written_bytes;
        plan.references += static_cast<int64_t>(view->references.size());
        plan.drops.push_back(std::move(drop));
        continue;
      }
      holder = std::get<Holder>(planned);
    }
    if (plan.first_holder == Holder::kNone) plan.first_holder = holder;
  }
  return plan;
}

class InsideSettler {
 public:
  InsideSettler(const Group& group, ExtentViewer& viewer, ChecksumReaders& checksums,
                const VolumeInfo& volume, InsideRuns* runs, const RelocationLimit& relocation)
      : group_(group),
        viewer_(viewer),
        comparer_(checksums, volume),
        block_(volume.block_bytes),
        all_runs_(runs),
        relocation_(relocation) {}

  absl::StatusOr<Settled> Run() {
    const GroupMember& query = group_.members.front();
    ASSIGN_OR_RETURN(const std::optional<ExtentView> view,
                     viewer_.View(query.address, query.generation));
    if (!view) {
      settled_.results.push_back(
          {.address = query.address, .generation = query.generation, .outcome = Outcome::kGone});
      return std::move(settled_);
    }
    if (view->compressed()) {  // its checksums say nothing about blocks of files
      settled_.results.push_back(ResultOf(*view, Outcome::kNoPartner));
      return std::move(settled_);
    }
    if (view->changed) {
      settled_.results.push_back(ResultOf(*view, Outcome::kRetry));
      return std::move(settled_);
    }
    if (view->holder == Holder::kTooManyReferences) {
      settled_.results.push_back(ResultOf(*view, Outcome::kPinned, view->holder));
      return std::move(settled_);
    }
    if (!view->HasSource()) {
      settled_.results.push_back(ResultOf(*view, Outcome::kOutOfScope));
      return std::move(settled_);
    }
    ASSIGN_OR_RETURN(bool done, TryPlaces(*view, {}));
    // What is found without writing anything goes first, at whatever place.
    if (!done && matched_ && relocation_.allowed() &&
        (held_by_ == Holder::kTail || held_by_ == Holder::kUnmatchedBlocks)) {
      ASSIGN_OR_RETURN(done, TryPlaces(*view, relocation_));
    }
    if (done) return std::move(settled_);
    if (!matched_) {
      settled_.results.push_back(ResultOf(*view, changed_        ? Outcome::kRetry
                                                 : out_of_scope_ ? Outcome::kOutOfScope
                                                                 : Outcome::kNoPartner));
    } else {
      NoteExcluded(*view, settled_);
      settled_.results.push_back(
          ResultOf(*view, Outcome::kPinned,
                   held_by_ == Holder::kNone ? Holder::kUnmatchedBlocks : held_by_));
    }
    return std::move(settled_);
  }

 private:
  // Tries the places of the query's head. True if something is dropped because of one.
  absl::StatusOr<bool> TryPlaces(const ExtentView& query, const RelocationLimit& relocation) {
    limit_ = relocation;
    runs_ = all_runs_ == nullptr   ? nullptr
            : relocation.allowed() ? &all_runs_->relocated
                                   : &all_runs_->found;
    for (size_t i = 1; i < group_.members.size(); ++i) {
      ASSIGN_OR_RETURN(const bool done, TryPlace(query, group_.members[i]));
      if (done) return true;
    }
    return false;
  }

  // Tries one place of the query's head. True if something is dropped because of it.
  absl::StatusOr<bool> TryPlace(const ExtentView& query, const GroupMember& place) {
    ASSIGN_OR_RETURN(const std::optional<ExtentView> view,
                     viewer_.View(place.address, place.generation));
    if (!view) {
      if (!limit_.allowed()) {
        settled_.results.push_back(
            {.address = place.address, .generation = place.generation, .outcome = Outcome::kGone});
      }
      return false;
    }
    if (view->compressed()) return false;
    if (view->changed) {
      changed_ = true;
      return false;
    }
    if (!view->HasSource()) {
      out_of_scope_ = true;
      return false;
    }
    // One file of the query's side, the one that has most of it: a reflink of which half was
    // written anew shows only the other half. Its further references move along.
    const Reference* from = nullptr;
    for (const Reference& reference : query.references) {
      if (reference.is_source && (from == nullptr || reference.length > from->length)) {
        from = &reference;
      }
    }
    if (from == nullptr) return false;
    // Likewise of the place.
    std::vector<std::pair<int64_t, const Reference*>> places;
    for (const Reference& to : view->references) {
      const int64_t bytes = to.is_source ? InCommon(place, *from, to) : 0;
      if (bytes > 0) places.emplace_back(-bytes, &to);
    }
    const size_t tries = std::min<size_t>(places.size(), kReferencesTried);
    std::partial_sort(places.begin(), places.begin() + tries, places.end(),
                      [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < tries; ++i) {
      ASSIGN_OR_RETURN(const bool done, TryFiles(query, place, *from, *places[i].second));
      if (done) return true;
    }
    return false;
  }

  // How much farther back in its file the data of `from` lies than in that of `to`.
  int64_t ShiftOf(const GroupMember& place, const Reference& from, const Reference& to) const {
    const int64_t query_at = from.file_offset - from.extent_offset;
    const int64_t place_at = to.file_offset - to.extent_offset + place.delta_blocks * block_;
    return place_at - query_at;
  }

  // How many bytes both references hold of what the extents may have in common; 0 or less: `to` is
  // a reference to another part of the place.
  int64_t InCommon(const GroupMember& place, const Reference& from, const Reference& to) const {
    const int64_t shift = ShiftOf(place, from, to);
    return std::min(from.file_end(), to.file_end() - shift) -
           std::max(from.file_offset, to.file_offset - shift);
  }

  absl::StatusOr<bool> TryFiles(const ExtentView& query, const GroupMember& place,
                                const Reference& from, const Reference& to) {
    const int64_t shift = ShiftOf(place, from, to);
    if (from.file == to.file && shift == 0) return false;
    // What both files have, in offsets of the query's; no farther than a run may reach.
    const int64_t near = std::max(from.file_offset, to.file_offset - shift);
    // The two references, cut to what both have: the match that was found lies there.
    const int64_t until = std::min(from.file_end(), to.file_end() - shift);
    std::optional<RunRegistry::Turn> turn;
    if (runs_ != nullptr) {
      RunRegistry::Query asked{.file = from.file,
                               .other = to.file,
                               .shift = shift,
                               .begin = near,
                               .end = until,
                               .span_begin = from.file_offset,
                               .span_end = from.file_end()};
      for (const Reference& reference : query.references) {
        if (reference.file != from.file) continue;
        asked.span_begin = std::min(asked.span_begin, reference.file_offset);
        asked.span_end = std::max(asked.span_end, reference.file_end());
      }
      turn.emplace(*runs_, asked);
      if (const auto verdict = runs_->Find(asked)) {
        matched_ = true;
        if (held_by_ == Holder::kNone) held_by_ = verdict->holder;
        // What the run drops is dropped already; this one is what it is dropped onto.
        if (verdict->drops_something) settled_.results.push_back(ResultOf(query, Outcome::kKept));
        return verdict->drops_something;
      }
    }
    const FileRange window{
        .begin = std::max({int64_t{0}, -shift, near - kRunBytesMax}),
        .end = std::min({from.file_bytes, to.file_bytes - shift, near + kRunBytesMax})};
    ASSIGN_OR_RETURN(const Side a, SideAround(from, window, viewer_));
    ASSIGN_OR_RETURN(const Side c,
                     SideAround(to, {window.begin + shift, window.end + shift}, viewer_));
    if (a.pieces.empty() || c.pieces.empty()) return false;
    ASSIGN_OR_RETURN(
        const int64_t first_equal,
        comparer_.LongestEqual(query.address + from.extent_offset + (near - from.file_offset),
                               place.address + to.extent_offset + (near + shift - to.file_offset),
                               (until - near) / block_));
    if (first_equal < 0) return false;
    ASSIGN_OR_RETURN(const onefold::Run run,
                     ExtendRun(a, c, near + first_equal * block_, shift, comparer_));
    if (run.apart == 0) return false;
    ASSIGN_OR_RETURN(SidePlan drop_a,
                     PlanSide(a, c, run.begin, run.end, shift, viewer_, block_, limit_));
    ASSIGN_OR_RETURN(SidePlan drop_c, PlanSide(c, a, run.begin + shift, run.end + shift, -shift,
                                               viewer_, block_, limit_));
    // What the other file refers to as well has found nothing new there.
    if (std::find(drop_a.sources.begin(), drop_a.sources.end(), query.address) ==
        drop_a.sources.end()) {
      matched_ = true;
    }
    if (held_by_ == Holder::kNone) held_by_ = drop_a.first_holder;
    SidePlan& chosen = Better(drop_a, drop_c);
    if (runs_ != nullptr) {
      const RunRegistry::Run known{.file = from.file,
                                   .other = to.file,
                                   .shift = shift,
                                   .begin = run.begin,
                                   .end = run.end,
                                   .open_begin = (a.open_begin && run.begin == a.begin()) ||
                                                 (c.open_begin && run.begin + shift == c.begin()),
                                   .open_end = (a.open_end && run.end == a.end()) ||
                                               (c.open_end && run.end + shift == c.end())};
      runs_->Add(known, {.drops_something = !chosen.drops.empty(), .holder = held_by_});
    }
    if (chosen.drops.empty()) return false;
    const bool drops_query =
        std::any_of(chosen.drops.begin(), chosen.drops.end(),
                    [&](const Drop& drop) { return drop.address == query.address; });
    for (Drop& drop : chosen.drops) {
      drop.self = group_.members.front();
      drop.partner = place;
      settled_.drops.push_back(std::move(drop));
    }
    settled_.sources.insert(settled_.sources.end(), chosen.sources.begin(), chosen.sources.end());
    if (!drops_query && &chosen == &drop_c) {
      settled_.results.push_back(ResultOf(query, Outcome::kKept));
    } else if (!drops_query) {
      settled_.results.push_back(ResultOf(query, Outcome::kPinned, held_by_));
    }
    return true;
  }

  // What frees more; if equal, the side whose extents have fewer references goes, then the one in
  // more pieces, then the query's.
  static SidePlan& Better(SidePlan& a, SidePlan& c) {
    if (a.bytes != c.bytes) return a.bytes > c.bytes ? a : c;
    const int64_t extents_a = static_cast<int64_t>(a.drops.size());
    const int64_t extents_c = static_cast<int64_t>(c.drops.size());
    const int64_t shared_a = a.references * extents_c;  // per extent, without division
    const int64_t shared_c = c.references * extents_a;
    if (shared_a != shared_c) return shared_c < shared_a ? c : a;
    return extents_c > extents_a ? c : a;
  }

  const Group& group_;
  ExtentViewer& viewer_;
  Comparer comparer_;
  const int64_t block_;
  InsideRuns* const all_runs_;
  const RelocationLimit relocation_;
  // Of this try.
  RunRegistry* runs_ = nullptr;
  RelocationLimit limit_;
  Settled settled_;
  bool matched_ = false;
  bool out_of_scope_ = false;
  bool changed_ = false;
  Holder held_by_ = Holder::kNone;
};

}  // namespace

absl::StatusOr<Settled> SettleInside(const Group& group, ExtentViewer& viewer,
                                     ChecksumReaders& checksums, const VolumeInfo& volume,
                                     InsideRuns* runs, const RelocationLimit& relocation) {
  return InsideSettler(group, viewer, checksums, volume, runs, relocation).Run();
}

}  // namespace onefold
