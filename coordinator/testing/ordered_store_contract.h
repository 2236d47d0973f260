// What every OrderedStore promises. The tests of the index run on MemoryStore, so it has to keep
// the same promises as RocksDB; a new implementation adds one INSTANTIATE line.

#ifndef ONEFOLD_COORDINATOR_TESTING_ORDERED_STORE_CONTRACT_H_
#define ONEFOLD_COORDINATOR_TESTING_ORDERED_STORE_CONTRACT_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/testing/status_matchers.h"
#include "coordinator/ordered_store.h"
#include "coordinator/testing/index_invariants.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::index {

class OrderedStoreContract
    : public ::testing::TestWithParam<std::function<std::unique_ptr<OrderedStore>()>> {
 protected:
  using Rows = std::map<std::string, std::string>;

  void Put(const Rows& rows) {
    RowBatch batch;
    for (const auto& [key, value] : rows) batch.Put(key, value);
    EXPECT_THAT(store_->Write(batch), IsOk());
  }
  Rows All() { return RowsWith(*store_, ""); }

  // A key whose first 13 bytes are `prefix`, filled up.
  static std::string Key(absl::string_view prefix, absl::string_view rest = "") {
    return absl::StrCat(prefix, std::string(13 - prefix.size(), '-'), rest);
  }

  std::unique_ptr<OrderedStore> store_ = GetParam()();
};

TEST_P(OrderedStoreContract, KeepsWhatWasPutInKeyOrder) {
  Put({{"b", "2"}, {"a", "1"}, {std::string("a\0", 2), "3"}, {"\xff", ""}});
  EXPECT_THAT(All(), ::testing::ElementsAre(
                         ::testing::Pair("a", "1"), ::testing::Pair(std::string("a\0", 2), "3"),
                         ::testing::Pair("b", "2"), ::testing::Pair("\xff", "")));
  EXPECT_THAT(store_->Get("b"), IsOkAndHolds(std::optional<std::string>("2")));
  EXPECT_THAT(store_->Get("c"), IsOkAndHolds(std::optional<std::string>()));
}

TEST_P(OrderedStoreContract, LaterChangeOfAKeyCounts) {
  RowBatch batch;
  batch.Put("a", "1");
  batch.Delete("a");
  batch.Put("b", "1");
  batch.Put("b", "2");
  batch.Delete("c");
  batch.Put("c", "3");
  EXPECT_THAT(store_->Write(batch), IsOk());
  EXPECT_THAT(All(), ::testing::ElementsAre(::testing::Pair("b", "2"), ::testing::Pair("c", "3")));
}

TEST_P(OrderedStoreContract, DeletingWhatIsAbsentIsHarmless) {
  Put({{"a", "1"}});
  RowBatch batch;
  batch.Delete("a");
  batch.Delete("b");
  EXPECT_THAT(store_->Write(batch), IsOk());
  EXPECT_THAT(store_->Write(batch), IsOk());
  EXPECT_THAT(All(), ::testing::IsEmpty());
}

// Big batches may take another way; they must mean the same.
TEST_P(OrderedStoreContract, BigBatchesDoTheSame) {
  Rows expected;
  RowBatch batch;
  batch.Put(Key("A1"), "gone");
  for (int i = 0; i < 30000; ++i) {
    const std::string key = Key(absl::StrCat(i % 2 == 0 ? "A" : "B", 99999 - i));
    batch.Put(key, "old");
    batch.Put(key, absl::StrCat(i));
    expected[key] = absl::StrCat(i);
  }
  batch.Delete(Key("A1"));
  EXPECT_THAT(store_->Write(batch), IsOk());
  EXPECT_EQ(All(), expected);

  RowBatch changes;
  for (auto& [key, value] : expected) {
    if (key[0] == 'A') {
      changes.Delete(key);
    } else {
      changes.Put(key, value = "new");
    }
  }
  EXPECT_THAT(store_->Write(changes), IsOk());
  std::erase_if(expected, [](const auto& row) { return row.first[0] == 'A'; });
  EXPECT_EQ(All(), expected);
}

// A plan is read while results come in.
TEST_P(OrderedStoreContract, CursorSeesTheStoreAsItWas) {
  Put({{"a", "1"}, {"c", "3"}});
  const auto rows = store_->Walk("");
  RowBatch batch;
  batch.Put("b", "2");
  batch.Delete("c");
  EXPECT_THAT(store_->Write(batch), IsOk());
  rows->Seek("b");
  ASSERT_TRUE(rows->Valid());
  EXPECT_EQ(rows->key(), "c");
  rows->Next();
  EXPECT_FALSE(rows->Valid());
  EXPECT_THAT(rows->status(), IsOk());
}

TEST_P(OrderedStoreContract, WalkStaysAmongRowsOfThePrefix) {
  Put({{"a", "0"}, {"b", "1"}, {"b\xff\xff", "2"}, {"c", "3"}, {"\xff", "4"}, {"\xff\xff", "5"}});
  EXPECT_THAT(RowsWith(*store_, "b"),
              ::testing::ElementsAre(::testing::Pair("b", "1"), ::testing::Pair("b\xff\xff", "2")));
  EXPECT_EQ(RowsWith(*store_, "\xff").size(), 2u);
  EXPECT_EQ(RowsWith(*store_, "d").size(), 0u);
  const auto rows = store_->Walk("b");
  rows->Seek("b1");
  ASSERT_TRUE(rows->Valid());
  EXPECT_EQ(rows->key(), "b\xff\xff");
  rows->Next();
  EXPECT_FALSE(rows->Valid());
  rows->Seek("b");
  EXPECT_TRUE(rows->Valid());
}

TEST_P(OrderedStoreContract, LookUpStaysAmongRowsOfThePrefix) {
  Put({{Key("F1"), "0"}, {Key("F1", "x"), "1"}, {Key("F1", "y"), "2"}, {Key("F2", "a"), "3"}});
  const auto rows = store_->LookUp();
  rows->Seek(Key("F1", "x"));
  ASSERT_TRUE(rows->Valid());
  EXPECT_EQ(rows->value(), "1");
  rows->Next();
  ASSERT_TRUE(rows->Valid());
  EXPECT_EQ(rows->value(), "2");
  rows->Next();
  EXPECT_FALSE(rows->Valid());
  rows->Seek(Key("F0"));
  EXPECT_FALSE(rows->Valid());
  EXPECT_THAT(rows->status(), IsOk());
}

TEST_P(OrderedStoreContract, DropRangeRemovesExactlyTheRange) {
  Put({{"a", "1"}, {"b", "2"}, {"b1", "2"}, {"c", "3"}});
  EXPECT_THAT(store_->DropRange("b", "c"), IsOk());
  EXPECT_THAT(All(), ::testing::ElementsAre(::testing::Pair("a", "1"), ::testing::Pair("c", "3")));
  Put({{"b", "4"}});
  EXPECT_EQ(All().size(), 3u);
}

TEST_P(OrderedStoreContract, CompactChangesNoRow) {
  Put({{"a", "1"}, {"b", "2"}});
  EXPECT_THAT(store_->DropRange("a", "b"), IsOk());
  EXPECT_THAT(store_->Compact(), IsOk());
  EXPECT_THAT(All(), ::testing::ElementsAre(::testing::Pair("b", "2")));
}

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_TESTING_ORDERED_STORE_CONTRACT_H_
