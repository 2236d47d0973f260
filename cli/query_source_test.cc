#include "cli/query_source.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/clock.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "coordinator/coordinator.h"
#include "onefold/storage/v1/run.pb.h"

namespace onefold {
namespace {

class QuerySourceTest : public testing::Test {
 protected:
  v1::GetSummaryResponse Summary(QuerySource& source) {
    grpc::ClientContext context;
    v1::GetSummaryResponse response;
    const grpc::Status status =
        source.queries().GetSummary(&context, v1::GetSummaryRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  std::unique_ptr<Coordinator> OpenCoordinator() {
    auto coordinator = Coordinator::Open({.state_directory = directory_.path()}, clock_);
    EXPECT_THAT(coordinator, IsOk());
    return *std::move(coordinator);
  }

  // Names of all files below the directory and when they were written.
  std::string Snapshot() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path())) {
      files.push_back(absl::StrCat(entry.path().string(), " ",
                                   entry.last_write_time().time_since_epoch().count()));
    }
    std::sort(files.begin(), files.end());
    return absl::StrJoin(files, "\n");
  }

  Clock& clock_ = SystemClock();
  TempDir directory_;
};

TEST_F(QuerySourceTest, NothingIsThere) {
  EXPECT_EQ(OpenStateDirectory(directory_.path() + "/absent", clock_).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(OpenStateDirectory(directory_.path(), clock_).status().code(),
            absl::StatusCode::kNotFound);
  std::filesystem::create_directory(directory_.path() + "/state");
  std::ofstream(directory_.path() + "/state/film.mkv") << "x";
  EXPECT_EQ(OpenStateDirectory(directory_.path(), clock_).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// Looking changes nothing, and works beside a process that has the directory.
TEST_F(QuerySourceTest, ReadsAStateDirectory) {
  std::unique_ptr<Coordinator> coordinator = OpenCoordinator();
  storage::v1::Lifetime lifetime;
  lifetime.set_run_count(1);
  lifetime.set_freed_bytes(4096);
  *lifetime.mutable_open_run() = storage::v1::RunRecord();
  lifetime.mutable_open_run()->set_run_id("the-run-under-way");
  ASSERT_THAT(coordinator->PutRecord("lifetime", lifetime.SerializeAsString()), IsOk());
  {
    auto source = OpenStateDirectory(directory_.path(), clock_);
    ASSERT_THAT(source, IsOk());
    EXPECT_TRUE((*source)->is_still());
    EXPECT_EQ((*source)->name(), directory_.path());
    EXPECT_EQ(Summary(**source).total().freed_bytes(), 4096);
    EXPECT_EQ(Summary(**source).host_count(), 1);
  }
  coordinator.reset();
  const std::string before = Snapshot();
  {
    auto source = OpenStateDirectory(directory_.path(), clock_);
    ASSERT_THAT(source, IsOk());
    EXPECT_TRUE(Summary(**source).total().freed_at_least());  // it was killed
    grpc::ClientContext context;
    v1::GetOverlapResponse overlap;
    EXPECT_TRUE((*source)->queries().GetOverlap(&context, v1::GetOverlapRequest(), &overlap).ok());
    EXPECT_TRUE(overlap.has_time());
  }
  EXPECT_EQ(Snapshot(), before);
}

TEST_F(QuerySourceTest, ReadsTheBooksOfAFleet) {
  {
    std::unique_ptr<Coordinator> coordinator = OpenCoordinator();
    const absl::StatusOr<Fleet*> fleet = coordinator->OpenFleet({});
    ASSERT_THAT(fleet, IsOk());
    v1::HostReport report;
    report.set_display_name("nas7");
    ASSERT_THAT((*fleet)->HandleSync("host-id-7", "1.0", report), IsOk());
  }
  auto source = OpenStateDirectory(directory_.path(), clock_);
  ASSERT_THAT(source, IsOk());
  grpc::ClientContext context;
  v1::QueryHostsResponse hosts;
  ASSERT_TRUE((*source)->queries().QueryHosts(&context, v1::QueryHostsRequest(), &hosts).ok());
  ASSERT_EQ(hosts.hosts_size(), 1);
  EXPECT_EQ(hosts.hosts(0).display_name(), "nas7");
}

}  // namespace
}  // namespace onefold
