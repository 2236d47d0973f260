#include "worker/daemon/run_journal.h"

#include "common/small_file.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::SizeIs;

storage::v1::WorkerRun StoredRun(const std::string& id, bool working) {
  storage::v1::WorkerRun run;
  run.mutable_order()->set_run_id(id);
  run.set_working(working);
  return run;
}

TEST(RunJournalTest, KeepsRunsUntilTheyAreErased) {
  const TempDir directory;
  FileRunJournal journal(directory.path() + "/runs");
  ASSERT_THAT(journal.ReadAll(), IsOk());
  EXPECT_THAT(journal.Write(StoredRun("a", false)), IsOk());
  EXPECT_THAT(journal.Write(StoredRun("a", true)), IsOk());
  EXPECT_THAT(journal.Write(StoredRun("../../etc/b", false)), IsOk());  // an identity is no path
  const auto runs = FileRunJournal(directory.path() + "/runs").ReadAll();
  ASSERT_THAT(runs, IsOk());
  EXPECT_THAT(*runs, SizeIs(2));
  EXPECT_THAT(journal.Erase("../../etc/b"), IsOk());
  EXPECT_THAT(journal.Erase("never there"), IsOk());
  ASSERT_THAT(*journal.ReadAll(), SizeIs(1));
  EXPECT_TRUE((*journal.ReadAll())[0].working());
}

// A file that a full disk or a person left must not keep the worker from starting.
TEST(RunJournalTest, FilesThatAreNoneOfItsAreLeftAlone) {
  const TempDir directory;
  FileRunJournal journal(directory.path());
  ASSERT_THAT(journal.Write(StoredRun("a", false)), IsOk());
  ASSERT_THAT(WriteSmallFile(directory.path() + "/62.run", "torn"), IsOk());
  ASSERT_THAT(
      WriteSmallFile(directory.path() + "/63.run", StoredRun("b", false).SerializeAsString()),
      IsOk());
  ASSERT_THAT(WriteSmallFile(directory.path() + "/notes", ""), IsOk());
  EXPECT_THAT(*journal.ReadAll(), SizeIs(1));
}

}  // namespace
}  // namespace onefold
