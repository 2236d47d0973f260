#include "cli/run_store.h"

#include <map>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MemoryRecordStore final : public RecordStore {
 public:
  absl::StatusOr<std::optional<std::string>> Get(const std::string& name) override {
    const auto found = records.find(name);
    if (found == records.end()) return std::optional<std::string>();
    return std::optional<std::string>(found->second);
  }
  absl::Status Put(const std::string& name, const std::string& bytes) override {
    records[name] = bytes;
    return absl::OkStatus();
  }

  std::map<std::string, std::string> records;
};

class RunStoreTest : public ::testing::Test {
 protected:
  void Begin(const DedupeJob& job, bool dry_run = false) {
    EXPECT_THAT(RunStore(records_).LastJob(), IsOk());
    store_.emplace(records_);
    EXPECT_THAT(store_->Begin("id", absl::FromUnixSeconds(1), dry_run, job), IsOk());
  }

  LifetimeFreed End(std::optional<int64_t> freed, bool dry_run = false) {
    RunReport report;
    report.dry_run = dry_run;
    report.volumes.emplace_back();
    report.volumes[0].counters.bytes_freed = freed;
    const auto lifetime = store_->End(report);
    EXPECT_THAT(lifetime, IsOk());
    return lifetime.value_or(LifetimeFreed());
  }

  static DedupeJob JobOn(const std::string& path) {
    DedupeJob job;
    job.paths = {path};
    return job;
  }

  std::vector<std::string> LastPaths() {
    const auto job = RunStore(records_).LastJob();
    EXPECT_THAT(job, IsOk());
    return job.ok() && job->has_value() ? (*job)->paths : std::vector<std::string>();
  }

  MemoryRecordStore records_;
  std::optional<RunStore> store_;
};

TEST_F(RunStoreTest, TheWholeJobComesBack) {
  DedupeJob job = JobOn("/srv/caf\xe9\n");
  job.exclude_patterns = {"*.iso", "\xff"};
  job.min_file_bytes = 1;
  job.max_file_bytes = 2;
  job.skip_readonly_subvolumes = true;
  job.match_extents_only = true;
  job.thread_count = 3;
  job.max_time = absl::Minutes(90);
  Begin(job);
  const auto stored = RunStore(records_).LastJob();
  ASSERT_THAT(stored, IsOk());
  ASSERT_TRUE(stored->has_value());
  const DedupeJob& last = **stored;
  EXPECT_EQ(last.paths, job.paths);
  EXPECT_EQ(last.exclude_patterns, job.exclude_patterns);
  EXPECT_EQ(last.min_file_bytes, 1);
  EXPECT_EQ(last.max_file_bytes, 2);
  EXPECT_TRUE(last.skip_readonly_subvolumes);
  EXPECT_TRUE(last.match_extents_only);
  EXPECT_EQ(last.thread_count, 3);
  EXPECT_EQ(last.max_time, absl::Minutes(90));
}

TEST_F(RunStoreTest, AtFirstThereIsNothingToRepeat) {
  const auto job = RunStore(records_).LastJob();
  ASSERT_THAT(job, IsOk());
  EXPECT_FALSE(job->has_value());
}

// Trying something out must not change what the nightly timer does.
TEST_F(RunStoreTest, ADryRunChangesNoReplay) {
  Begin(JobOn("/srv"));
  End(0);
  Begin(JobOn("/other"), /*dry_run=*/true);
  End(0, /*dry_run=*/true);
  EXPECT_THAT(LastPaths(), ElementsAre("/srv"));
}

TEST_F(RunStoreTest, WhatRunsFreedAddsUp) {
  Begin(JobOn("/srv"));
  EXPECT_EQ(End(100).bytes, 100);
  Begin(JobOn("/srv"));
  const LifetimeFreed lifetime = End(50);
  EXPECT_EQ(lifetime.bytes, 150);
  EXPECT_FALSE(lifetime.at_least);
}

TEST_F(RunStoreTest, DryRunsFreeNothing) {
  Begin(JobOn("/srv"));
  End(100);
  Begin(JobOn("/srv"), /*dry_run=*/true);
  EXPECT_EQ(End(7, /*dry_run=*/true).bytes, 100);
}

// A figure that may be too small has to say so, for ever.
TEST_F(RunStoreTest, AfterARunWithoutFiguresItIsAtLeast) {
  Begin(JobOn("/srv"));  // killed
  Begin(JobOn("/srv"));
  EXPECT_TRUE(End(5).at_least);
  Begin(JobOn("/srv"));
  EXPECT_TRUE(End(5).at_least);

  records_.records.clear();
  Begin(JobOn("/srv"));
  EXPECT_TRUE(End(std::nullopt).at_least);
}

// What was killed stands in the history too, and a killed dry run has freed nothing.
TEST_F(RunStoreTest, AKilledRunIsFoundByTheNext) {
  Begin(JobOn("/srv"), /*dry_run=*/true);  // killed
  EXPECT_EQ(records_.records.count("run/000"), 0u);
  Begin(JobOn("/srv"));
  EXPECT_THAT(records_.records["run/000"], HasSubstr("killed"));
  EXPECT_FALSE(End(5).at_least);
  EXPECT_THAT(records_.records["run/001"], HasSubstr("completed"));
}

TEST_F(RunStoreTest, TheHistoryIsBounded) {
  for (int i = 0; i < kRunsKeptMax + 5; ++i) {
    Begin(JobOn("/srv"));
    End(1);
  }
  int64_t runs = 0;
  for (const auto& [name, bytes] : records_.records) runs += name.rfind("run/", 0) == 0 ? 1 : 0;
  EXPECT_EQ(runs, kRunsKeptMax);
  Begin(JobOn("/srv"));
  EXPECT_EQ(End(0).bytes, kRunsKeptMax + 5);
}

TEST_F(RunStoreTest, ADamagedRecordIsSaid) {
  records_.records["last_run"] = "\xff\xff\xff";
  EXPECT_THAT(RunStore(records_).LastJob(), HasCode(absl::StatusCode::kDataLoss));
}

TEST_F(RunStoreTest, DamagedSumsStopNoRun) {
  records_.records["lifetime"] = "\xff\xff\xff";
  Begin(JobOn("/srv"));
  EXPECT_TRUE(End(5).at_least);
}

}  // namespace
}  // namespace onefold
