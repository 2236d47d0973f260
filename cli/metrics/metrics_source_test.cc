#include "cli/metrics/metrics_source.h"

#include <grpcpp/channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>

#include <string>

#include "common/small_file.h"
#include "common/testing/fake_clock.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onefold/v1/query_service.grpc.pb.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two pages of one volume each; what is not overridden is not implemented.
class FakeService final : public v1::QueryService::Service {
 public:
  grpc::Status ListVolumes(grpc::ServerContext*, const v1::ListVolumesRequest* request,
                           v1::ListVolumesResponse* response) override {
    ++asked;
    const bool first = request->page_token().empty();
    response->add_volumes()->set_uuid(first ? "u1" : "u2");
    if (first) response->set_next_page_token("more");
    return grpc::Status::OK;
  }
  int asked = 0;
};

TEST(MetricsSourceTest, AsksForAllPagesButNotAllTheTime) {
  FakeService service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  TempDir folder;
  FakeClock clock;
  MetricsSource source({.version = "1", .state_directory = folder.path()},
                       server->InProcessChannel({}), clock);
  const std::string text = source.Text();
  EXPECT_THAT(text, HasSubstr("onefold_volume_info{uuid=\"u1\""));
  EXPECT_THAT(text, HasSubstr("onefold_volume_info{uuid=\"u2\""));
  EXPECT_THAT(text, HasSubstr("onefold_index_filesystem_avail_bytes "));
  EXPECT_THAT(text, Not(HasSubstr("onefold_host_up")));
  EXPECT_EQ(source.Text(), text);
  EXPECT_EQ(service.asked, 2);
  clock.Advance(MetricsSource::kKeep);
  source.Text();
  EXPECT_EQ(service.asked, 4);
}

TEST(MetricsSourceTest, TextfilesAreWholeAndReadable) {
  TempDir folder;
  const std::string path = folder.path() + "/onefold.prom";
  ASSERT_THAT(WriteTextfile(path, "a 1\n"), IsOk());
  ASSERT_THAT(WriteTextfile(path, "b 2\n"), IsOk());
  EXPECT_THAT(ReadSmallFile(path, 100), IsOkAndHolds("b 2\n"));
  struct stat found = {};
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0644u);
  EXPECT_NE(stat((path + ".new").c_str(), &found), 0);
  EXPECT_FALSE(WriteTextfile(folder.path() + "/nothing/onefold.prom", "").ok());
}

}  // namespace
}  // namespace onefold
