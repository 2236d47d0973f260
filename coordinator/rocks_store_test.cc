// What only a disk can get wrong; the rest is OrderedStoreContract.

#include "coordinator/rocks_store.h"

#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "common/testing/temp_dir.h"
#include "coordinator/rocks_status.h"
#include "coordinator/testing/ordered_store_contract.h"

namespace onefold::index {
namespace {

// A store together with its directory.
class RocksStoreInTempDir final : public OrderedStore {
 public:
  explicit RocksStoreInTempDir(const RocksBudget& budget = {}) {
    auto store = OpenRocksStore(directory_.path(), budget);
    CHECK(store.ok());
    store_ = *std::move(store);
  }
  std::unique_ptr<StoreCursor> Walk(absl::string_view prefix) const override {
    return store_->Walk(prefix);
  }
  std::unique_ptr<StoreCursor> LookUp() const override { return store_->LookUp(); }
  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override {
    return store_->Get(key);
  }
  absl::Status Write(const RowBatch& batch) override { return store_->Write(batch); }
  absl::Status DropRange(absl::string_view begin, absl::string_view end) override {
    return store_->DropRange(begin, end);
  }
  absl::Status Compact() override { return store_->Compact(); }

 private:
  const TempDir directory_;
  std::unique_ptr<OrderedStore> store_;
};

INSTANTIATE_TEST_SUITE_P(Rocks, OrderedStoreContract,
                         ::testing::Values([] { return std::make_unique<RocksStoreInTempDir>(); }));

INSTANTIATE_TEST_SUITE_P(LargeRocks, OrderedStoreContract, ::testing::Values([] {
                           return std::make_unique<RocksStoreInTempDir>(RocksBudget{.large = true});
                         }));

std::string Key(int i) { return absl::StrCat("E", std::string(4, '\1'), 10000000 + i); }

RowBatch Batch(int begin, int end) {
  RowBatch batch;
  for (int i = begin; i < end; ++i) batch.Put(Key(i), absl::StrCat("value ", i));
  return batch;
}

constexpr int kBig = static_cast<int>(kIngestRowsMin);

class RocksStoreTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<OrderedStore>> Open() { return OpenRocksStore(path(), {}); }
  std::string path() const { return directory_.path(); }

  // What a crash would leave: the files as they are now, while the store is open.
  void CopyTo(const std::string& target) {
    std::filesystem::copy(path(), target, std::filesystem::copy_options::recursive);
  }

  TempDir directory_;
};

// An acknowledgement means durable, whichever way the batch took.
TEST_F(RocksStoreTest, WrittenBatchesSurviveACrash) {
  auto store = Open();
  ASSERT_THAT(store, IsOk());
  ASSERT_THAT((*store)->Write(Batch(0, 10)), IsOk());
  ASSERT_THAT((*store)->Write(Batch(10, 10 + kBig)), IsOk());
  ASSERT_THAT((*store)->Write(Batch(5, 7)), IsOk());
  const TempDir crashed;
  CopyTo(crashed.path() + "/copy");

  auto copy = OpenRocksStore(crashed.path() + "/copy", {});
  ASSERT_THAT(copy, IsOk());
  EXPECT_EQ(RowsWith(**copy, "E").size(), static_cast<size_t>(10 + kBig));
}

// An index that has grown large is opened by a program with little memory too, and the other way
// round.
// Beside the process that writes, and from its log alone.
TEST_F(RocksStoreTest, IsLookedAtWhileItIsInUse) {
  TempDir directory;
  EXPECT_EQ(OpenRocksStoreReadOnly(directory.path(), {}).status().code(),
            absl::StatusCode::kNotFound);
  auto store = OpenRocksStore(directory.path(), {});
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)->Write(Batch(0, 10)).ok());
  auto view = OpenRocksStoreReadOnly(directory.path(), {});
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(**(*view)->Get(Key(7)), "value 7");
  ASSERT_TRUE((*store)->Write(Batch(10, 20)).ok());
  EXPECT_FALSE((*view)->Get(Key(17))->has_value());
  EXPECT_EQ((*view)->Write(Batch(0, 1)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RocksStoreTest, OpensWithAnotherBudget) {
  const auto key_of = [](char kind, int i) { return absl::StrCat(std::string(1, kind), Key(i)); };
  RowBatch batch;
  for (int i = 0; i < kBig; ++i) {
    for (const char kind : {'A', 'E', 'F'}) batch.Put(key_of(kind, i), "value");
  }
  for (const bool large : {true, false, true}) {
    auto store = OpenRocksStore(path(), {.large = large});
    ASSERT_THAT(store, IsOk());
    ASSERT_THAT((*store)->Write(batch), IsOk());
    EXPECT_THAT((*store)->Compact(), IsOk());
    for (const char kind : {'A', 'E', 'F'}) {
      EXPECT_EQ(RowsWith(**store, std::string(1, kind)).size(), static_cast<size_t>(kBig));
    }
  }
}

TEST_F(RocksStoreTest, LeftoversOfACrashAreRemoved) {
  ASSERT_THAT(Open(), IsOk());
  std::filesystem::create_directory(path() + "/incoming");
  std::ofstream(path() + "/incoming/7-E.sst") << "half a table";
  ASSERT_THAT(Open(), IsOk());
  EXPECT_TRUE(std::filesystem::is_empty(path() + "/incoming"));
}

TEST_F(RocksStoreTest, SpaceOfDeletedRowsIsGivenBack) {
  const auto bytes = [&] {
    uintmax_t sum = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
      if (entry.is_regular_file()) sum += entry.file_size();
    }
    return sum;
  };
  auto store = Open();
  ASSERT_THAT(store, IsOk());
  const int count = 8 * kBig;
  ASSERT_THAT((*store)->Write(Batch(0, count)), IsOk());
  RowBatch deletions;
  for (int i = 0; i < count; ++i) deletions.Delete(Key(i));
  ASSERT_THAT((*store)->Write(deletions), IsOk());
  const uintmax_t before = bytes();
  ASSERT_THAT((*store)->Compact(), IsOk());
  EXPECT_LT(bytes(), before / 4);
}

// Flips bytes in all table files.
void Damage(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    for (int at = 100; at < 4000; at += 50) {
      file.seekp(at);
      file.put('\x55');
    }
  }
}

// Damage that is met while reading is remembered: the next start rebuilds instead of failing again.
TEST_F(RocksStoreTest, DamageMetWhileReadingIsRemembered) {
  {
    auto store = Open();
    ASSERT_THAT(store, IsOk());
    ASSERT_THAT((*store)->Write(Batch(0, kBig)), IsOk());
  }
  Damage(path());
  {
    auto store = Open();
    ASSERT_THAT(store, IsOk());
    EXPECT_THAT((*store)->Get(Key(1)), HasCode(absl::StatusCode::kDataLoss));
  }
  EXPECT_THAT(Open(), HasCode(absl::StatusCode::kDataLoss));
}

TEST_F(RocksStoreTest, CutFilesAreDamage) {
  {
    auto store = Open();
    ASSERT_THAT(store, IsOk());
    ASSERT_THAT((*store)->Write(Batch(0, kBig)), IsOk());
  }
  for (const auto& entry : std::filesystem::directory_iterator(path())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("MANIFEST")) std::filesystem::resize_file(entry, entry.file_size() / 2);
    if (name == "CURRENT") std::filesystem::resize_file(entry, 0);
  }
  EXPECT_THAT(Open(), HasCode(absl::StatusCode::kDataLoss));
}

TEST_F(RocksStoreTest, MissingTableIsDamage) {
  {
    auto store = Open();
    ASSERT_THAT(store, IsOk());
    ASSERT_THAT((*store)->Write(Batch(0, kBig)), IsOk());
  }
  for (const auto& entry : std::filesystem::directory_iterator(path())) {
    if (entry.path().extension() == ".sst") std::filesystem::remove(entry);
  }
  EXPECT_THAT(Open(), HasCode(absl::StatusCode::kDataLoss));
}

// Whatever is done to it, a store is never taken for one that has lost writes.
TEST_F(RocksStoreTest, StrictLogNeverLooksLost) {
  const RocksBudget strict = {.write_buffer_bytes = 256 << 10, .strict_log = true};
  for (int round = 0; round < 8; ++round) {
    auto store = OpenRocksStore(path(), strict);
    ASSERT_THAT(store, IsOk());
    EXPECT_THAT((*store)->Get(Key(0)),
                IsOkAndHolds(round == 0 ? std::optional<std::string>() : "value 0"));
    ASSERT_THAT((*store)->Write(Batch(0, 10 + 1000 * (round % 3))), IsOk());
    if (round % 4 == 1) {
      ASSERT_THAT((*store)->Write(Batch(0, kBig)), IsOk());
    } else if (round % 4 == 2) {
      ASSERT_THAT((*store)->DropRange(Key(5), Key(2000)), IsOk());
    } else if (round % 4 == 3) {
      ASSERT_THAT((*store)->Compact(), IsOk());
    }
    TempDir crashed;
    const std::string copy = crashed.path() + "/copy";
    CopyTo(copy);
    EXPECT_THAT(OpenRocksStore(copy, strict), IsOk()) << round;
    std::filesystem::remove(copy + "/ONEFOLD_SEQUENCE");
    EXPECT_THAT(OpenRocksStore(copy, strict), IsOk()) << round;
  }
}

// What is in the note after a crash may be anything but a number that leads.
TEST_F(RocksStoreTest, NoteThatCannotBeReadIsNone) {
  const RocksBudget strict = {.strict_log = true};
  for (const std::string& text : {std::string(), std::string("12\n"), std::string(21, '\0')}) {
    std::ofstream(path() + "/ONEFOLD_SEQUENCE") << text;
    auto store = OpenRocksStore(path(), strict);
    ASSERT_THAT(store, IsOk());
    ASSERT_THAT((*store)->Write(Batch(0, 10)), IsOk());
  }
}

// What a limit refuses is no damage: an index that is whole must not be put aside for it.
TEST(RocksStatusTest, LimitsAreNoDamage) {
  for (const int error : {EDQUOT, EFBIG, ENOSPC}) {
    const rocksdb::Status status = error == ENOSPC
                                       ? rocksdb::Status::NoSpace("a.log", std::strerror(error))
                                       : rocksdb::Status::IOError("a.log", std::strerror(error));
    for (const absl::Status& result :
         {FromRocksStatus(status, "/srv"), FromRocksOpenStatus(status, "/srv")}) {
      EXPECT_THAT(result, HasCode(absl::StatusCode::kResourceExhausted));
      EXPECT_THAT(std::string(result.message()), ::testing::HasSubstr("/srv"));
    }
  }
}

// A filesystem of 2 MiB; skipped where mounting is not allowed.
class RocksStoreFullDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    mounted_ = mount("tmpfs", path().c_str(), "tmpfs", 0, "size=2m") == 0;
    if (!mounted_) GTEST_SKIP() << "mounting a small filesystem: " << std::strerror(errno);
  }
  void TearDown() override {
    if (mounted_) umount(path().c_str());
  }
  std::string path() const { return directory_.path(); }
  std::string ballast() const { return path() + "/ballast"; }

  const TempDir directory_;
  bool mounted_ = false;
};

// It must be named, whichever way the batch took, and leave what was there whole.
TEST_F(RocksStoreFullDiskTest, IsReportedAndHarmsNothing) {
  const auto full = HasCode(absl::StatusCode::kResourceExhausted);
  {
    auto store = OpenRocksStore(path(), {});
    ASSERT_THAT(store, IsOk());
    ASSERT_THAT((*store)->Write(Batch(0, 100)), IsOk());
    std::ofstream(ballast()) << std::string(1900000, 'x');

    const absl::Status ingested = (*store)->Write(Batch(1000, 1000 + 4 * kBig));
    EXPECT_THAT(ingested, full);
    EXPECT_THAT(std::string(ingested.message()), ::testing::HasSubstr(path()));
    absl::Status logged;
    for (int i = 0; i < 50 && logged.ok(); ++i) logged = (*store)->Write(Batch(100, 4000));
    EXPECT_THAT(logged, full);
    EXPECT_THAT((*store)->Write(Batch(100, 200)), full);
    EXPECT_THAT((*store)->Get(Key(5)), IsOkAndHolds(::testing::Ne(std::nullopt)));
  }
  std::filesystem::remove(ballast());
  auto store = OpenRocksStore(path(), {});
  ASSERT_THAT(store, IsOk());
  EXPECT_GE(RowsWith(**store, "E").size(), 100u);
  EXPECT_THAT((*store)->Write(Batch(0, 4 * kBig)), IsOk());
}

}  // namespace
}  // namespace onefold::index
