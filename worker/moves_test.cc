#include "worker/moves.h"

#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Files are told apart by inode; sources are 1…, destinations 100….
InodeId File(uint64_t inode) { return {.subvolume = 5, .inode = inode}; }

class MovesTest : public ::testing::TestWithParam<int64_t> {
 protected:
  int64_t block() const { return GetParam(); }

  // A reference of blocks [from, from + blocks) of the extent at block `at` of a file that holds
  // `file_bytes`.
  Reference Ref(uint64_t inode, int64_t at, int64_t from, int64_t blocks,
                int64_t file_bytes) const {
    return {.file = File(inode),
            .file_offset = at * block(),
            .extent_offset = from * block(),
            .length = blocks * block(),
            .file_bytes = file_bytes,
            .is_source = true};
  }
  // The whole extent is the whole file, which ends `cut` bytes before the end of its last block.
  Reference Whole(uint64_t inode, int64_t blocks, int64_t cut = 0) const {
    return Ref(inode, 0, 0, blocks, blocks * block() - cut);
  }
  static ExtentView View(std::vector<Reference> references) {
    return {.references = std::move(references)};
  }
  std::variant<std::vector<Move>, Holder> Plan(std::vector<Reference> drop,
                                               std::vector<Reference> keep) const {
    return PlanMoves(View(std::move(drop)), SourcesOf(View(std::move(keep))), block());
  }

  // "1@0->100@0:8192 …"
  static std::string Text(const std::variant<std::vector<Move>, Holder>& plan) {
    if (const Holder* holder = std::get_if<Holder>(&plan)) {
      return "held by " + std::to_string(static_cast<int>(*holder));
    }
    std::string text;
    for (const Move& move : std::get<std::vector<Move>>(plan)) {
      if (!text.empty()) text += ' ';
      text += std::to_string(move.source.inode) + '@' + std::to_string(move.source_offset) + "->" +
              std::to_string(move.destination.inode) + '@' +
              std::to_string(move.destination_offset) + ':' + std::to_string(move.length);
    }
    return text;
  }
  std::string Expect(uint64_t source, int64_t source_block, uint64_t destination,
                     int64_t destination_block, int64_t bytes) const {
    return Text(std::vector<Move>{{File(source), source_block * block(), File(destination),
                                   destination_block * block(), bytes}});
  }
  static std::string Held(Holder holder) { return Text(holder); }
};

INSTANTIATE_TEST_SUITE_P(BlockBytes, MovesTest, ::testing::Values(4096, 16384, 65536));

TEST_P(MovesTest, EqualFilesAreOneRequest) {
  EXPECT_EQ(Text(Plan({Whole(100, 8)}, {Whole(1, 8)})), Expect(1, 0, 100, 0, 8 * block()));
}

// A tail can be shared only with a tail: both ranges end at end of file.
TEST_P(MovesTest, TailsOfEqualFilesAreIncluded) {
  EXPECT_EQ(Text(Plan({Whole(100, 8, 1000)}, {Whole(1, 8, 1000)})),
            Expect(1, 0, 100, 0, 8 * block() - 1000));
  EXPECT_EQ(Text(Plan({Whole(100, 1, block() - 1)}, {Whole(1, 1, block() - 1)})),
            Expect(1, 0, 100, 0, 1));
}

// The kernel shortens such a request silently and says it did it all: the extent would never be
// freed, and the run would try again for ever.
TEST_P(MovesTest, TailAgainstTheMiddleOfAFileIsHeldByTheTail) {
  EXPECT_EQ(Text(Plan({Whole(100, 8, 1000)}, {Whole(1, 8)})), Held(Holder::kTail));
  EXPECT_EQ(Text(Plan({Whole(100, 8, 1000)}, {Ref(1, 0, 0, 8, 20 * block())})),
            Held(Holder::kTail));
  EXPECT_EQ(Text(Plan({Whole(100, 1, 1)}, {Whole(1, 1)})), Held(Holder::kTail));
}

// The source file ends inside the last block that is needed whole.
TEST_P(MovesTest, WholeBlockAgainstATailIsHeldByUnmatchedBlocks) {
  EXPECT_EQ(Text(Plan({Whole(100, 8)}, {Whole(1, 8, 1000)})), Held(Holder::kUnmatchedBlocks));
}

TEST_P(MovesTest, TailsOfDifferentLengthDoNotMeet) {
  EXPECT_EQ(Text(Plan({Whole(100, 8, 1000)}, {Whole(1, 8, 999)})), Held(Holder::kTail));
  EXPECT_EQ(Text(Plan({Whole(100, 8, 999)}, {Whole(1, 8, 1000)})), Held(Holder::kTail));
}

// The same extent is the end of one file and the middle of another: each part finds a source that
// fits.
TEST_P(MovesTest, TailTakesTheSourceThatEndsAlike) {
  EXPECT_EQ(Text(Plan({Whole(100, 8, 1000)}, {Whole(1, 8), Whole(2, 8, 1000)})),
            Expect(2, 0, 100, 0, 8 * block() - 1000));
  EXPECT_EQ(Text(Plan({Whole(100, 8)}, {Whole(2, 8, 1000), Whole(1, 8)})),
            Expect(1, 0, 100, 0, 8 * block()));
}

// A file that ends with the extent and one that goes on behind it, both to be moved.
TEST_P(MovesTest, EveryReferenceOfTheExtentIsCovered) {
  const auto plan =
      Plan({Whole(100, 4, 10), Ref(101, 7, 0, 4, 50 * block()), Ref(102, 0, 1, 2, 2 * block())},
           {Whole(1, 4, 10), Ref(2, 3, 0, 4, 9 * block())});
  EXPECT_EQ(Text(plan), Expect(1, 0, 100, 0, 4 * block() - 10) + ' ' +
                            Expect(2, 3, 101, 7, 4 * block()) + ' ' +
                            Expect(1, 1, 102, 0, 2 * block()));
}

// One reference that stays behind keeps the whole extent: nothing at all may be moved then.
TEST_P(MovesTest, OneReferenceWithoutSourceHoldsAll) {
  EXPECT_EQ(
      Text(Plan({Whole(100, 8), Ref(101, 0, 6, 2, 2 * block())}, {Ref(1, 0, 0, 6, 6 * block())})),
      Held(Holder::kUnmatchedBlocks));
}

// Of two equal extents one has a dead half: the other one cannot lie down on it.
TEST_P(MovesTest, DeadHalfOfTheKeepCoversNothing) {
  EXPECT_EQ(Text(Plan({Whole(100, 8)}, {Ref(1, 0, 0, 4, 4 * block())})),
            Held(Holder::kUnmatchedBlocks));
  EXPECT_EQ(Text(Plan({Whole(100, 8)}, {Ref(1, 0, 4, 4, 4 * block())})),
            Held(Holder::kUnmatchedBlocks));
}

// Dead blocks of the dropped extent need no partner.
TEST_P(MovesTest, DeadHalfOfTheDropNeedsNoSource) {
  EXPECT_EQ(Text(Plan({Ref(100, 5, 4, 4, 30 * block())}, {Ref(1, 9, 4, 4, 99 * block())})),
            Expect(1, 9, 100, 5, 4 * block()));
}

// Rewritten in the middle, a file refers to an extent with two items; another file may cover the
// rest.
TEST_P(MovesTest, SeveralSourcesCoverOneReference) {
  EXPECT_EQ(
      Text(Plan({Whole(100, 8)}, {Ref(1, 0, 0, 3, 3 * block()), Ref(2, 20, 2, 6, 40 * block())})),
      Expect(1, 0, 100, 0, 3 * block()) + ' ' + Expect(2, 21, 100, 3, 5 * block()));
}

// Fewer calls, less to compare: the source that reaches farthest is taken.
TEST_P(MovesTest, SourceThatReachesFarthestIsTaken) {
  EXPECT_EQ(Text(Plan({Whole(100, 8)}, {Ref(1, 0, 0, 2, 2 * block()), Ref(2, 0, 0, 5, 5 * block()),
                                        Ref(3, 0, 0, 8, 8 * block())})),
            Expect(3, 0, 100, 0, 8 * block()));
}

TEST_P(MovesTest, GapBetweenSourcesHolds) {
  EXPECT_EQ(
      Text(Plan({Whole(100, 8)}, {Ref(1, 0, 0, 3, 3 * block()), Ref(2, 0, 4, 4, 4 * block())})),
      Held(Holder::kUnmatchedBlocks));
}

// The file was truncated in its last block after the extent was written: its blocks behind end of
// file cannot be named in a request, and the reference keeps the extent.
TEST_P(MovesTest, BlocksBehindTheEndOfFileHold) {
  EXPECT_EQ(Text(Plan({Ref(100, 0, 0, 8, 5 * block())}, {Whole(1, 8)})), Held(Holder::kTail));
  EXPECT_EQ(Text(Plan({Ref(100, 0, 0, 8, 5 * block() - 7)}, {Whole(1, 8)})), Held(Holder::kTail));
  EXPECT_EQ(Text(Plan({Ref(100, 4, 0, 8, 4 * block())}, {Whole(1, 8)})), Held(Holder::kTail));
}

// What lies behind the end of the source file cannot be named either.
TEST_P(MovesTest, SourceIsUsedUpToItsEndOfFile) {
  EXPECT_EQ(
      Text(Plan({Whole(100, 8)}, {Ref(1, 0, 0, 8, 5 * block()), Ref(2, 0, 5, 3, 3 * block())})),
      Expect(1, 0, 100, 0, 5 * block()) + ' ' + Expect(2, 0, 100, 5, 3 * block()));
  EXPECT_EQ(Text(Plan({Whole(100, 8)}, {Ref(1, 0, 0, 8, 5 * block())})),
            Held(Holder::kUnmatchedBlocks));
}

TEST_P(MovesTest, ReferencesThatMayNotBeReadAreNoSources) {
  Reference outside = Whole(1, 8);
  outside.is_source = false;
  EXPECT_THAT(SourcesOf(View({outside})), IsEmpty());
}

// In the coordinates of an extent that begins `shift` bytes behind the keep.
TEST_P(MovesTest, ShiftedSourcesAreInTheCoordinatesOfTheDrop) {
  const SourceMap sources = SourcesOf(View({Ref(1, 2, 0, 100, 200 * block())}), 40 * block());
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].begin, -40 * block());
  EXPECT_EQ(Text(PlanMoves(View({Whole(100, 8)}), sources, block())),
            Expect(1, 42, 100, 0, 8 * block()));
}

TEST_P(MovesTest, NothingIsMovedWithoutSources) {
  EXPECT_EQ(Text(Plan({Whole(100, 8)}, {})), Held(Holder::kUnmatchedBlocks));
  EXPECT_EQ(Text(Plan({Whole(100, 1, 5)}, {})), Held(Holder::kTail));
}

// The kernel answers EINVAL to what is not aligned, whatever combination of ends brought it about.
TEST_P(MovesTest, EveryRequestIsAlignedOrEndsBothFiles) {
  for (const int64_t drop_cut : {0, 1, 1000, 4095}) {
    for (const int64_t keep_cut : {0, 1, 1000, 4095}) {
      for (const int64_t drop_more : {0, 1, 3}) {  // blocks behind the extent in its file
        for (const int64_t keep_more : {0, 1, 3}) {
          const int64_t drop_bytes = (8 + drop_more) * block() - drop_cut;
          const int64_t keep_bytes = (8 + keep_more) * block() - keep_cut;
          const auto plan = Plan({Ref(100, 0, 0, 8, drop_bytes)}, {Ref(1, 0, 0, 8, keep_bytes)});
          const auto* moves = std::get_if<std::vector<Move>>(&plan);
          if (moves == nullptr) continue;
          int64_t covered = 0;
          for (const Move& move : *moves) {
            EXPECT_EQ(move.source_offset % block(), 0);
            EXPECT_EQ(move.destination_offset % block(), 0);
            EXPECT_LE(move.source_offset + move.length, keep_bytes);
            EXPECT_LE(move.destination_offset + move.length, drop_bytes);
            const bool both_end = move.source_offset + move.length == keep_bytes &&
                                  move.destination_offset + move.length == drop_bytes;
            EXPECT_TRUE(move.length % block() == 0 || both_end);
            covered += move.length;
          }
          EXPECT_EQ(covered, std::min(8 * block(), drop_bytes));
        }
      }
    }
  }
}

}  // namespace
}  // namespace onefold
