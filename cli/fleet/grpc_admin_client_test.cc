#include "cli/fleet/grpc_admin_client.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/fleet/testing/admin_samples.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onefold/v1/admin_service.grpc.pb.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A coordinator of a later version: it says more than this program knows.
class NewerAdmin final : public v1::AdminService::Service {
 public:
  grpc::Status ListHosts(grpc::ServerContext* context, const v1::ListHostsRequest* request,
                         v1::ListHostsResponse* response) override {
    has_deadline = context->deadline() < std::chrono::system_clock::now() + std::chrono::hours(1);
    EXPECT_EQ(request->page_size(), 7);
    v1::Host& host = *response->add_hosts();
    host = SampleHost("host-1", "nas1");
    host.set_state(static_cast<v1::Host::State>(77));
    host.GetReflection()->MutableUnknownFields(&host)->AddLengthDelimited(999, "new");
    return grpc::Status::OK;
  }
  grpc::Status DrainHost(grpc::ServerContext*, const v1::DrainHostRequest*,
                         v1::DrainHostResponse*) override {
    return {grpc::StatusCode::PERMISSION_DENIED, "user:bob is a viewer"};
  }
  grpc::Status ResumeHost(grpc::ServerContext*, const v1::ResumeHostRequest*,
                          v1::ResumeHostResponse*) override {
    return {grpc::StatusCode::CANCELLED, "CANCELLED"};
  }
  grpc::Status WatchRun(grpc::ServerContext*, const v1::WatchRunRequest* request,
                        grpc::ServerWriter<v1::WatchRunResponse>* writer) override {
    for (const v1::RunState state : {v1::RUN_STATE_RUNNING, v1::RUN_STATE_COMPLETED}) {
      v1::WatchRunResponse response;
      *response.mutable_run() = SampleRun(request->run_id(), state);
      writer->Write(response);
    }
    return grpc::Status::OK;
  }

  bool has_deadline = false;
};

class GrpcAdminClientTest : public ::testing::Test {
 protected:
  GrpcAdminClientTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    client_ = Connect();
  }
  ~GrpcAdminClientTest() override {
    if (server_ != nullptr) server_->Shutdown();
  }

  std::unique_ptr<AdminClient> Connect() {
    Connection connection;
    connection.address = *ParseAddress(address_);
    return *NewGrpcAdminClient(connection, false);
  }

  TempDir folder_;
  const std::string address_ = absl::StrCat("unix:", folder_.path(), "/socket");
  NewerAdmin service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<AdminClient> client_;
};

TEST_F(GrpcAdminClientTest, AsksWithADeadlineAndSkipsWhatItDoesNotKnow) {
  v1::ListHostsRequest request;
  request.set_page_size(7);
  const auto response = client_->ListHosts(request);
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->hosts(0).display_name(), "nas1");
  EXPECT_TRUE(service_.has_deadline);
  EXPECT_EQ(client_->address(), address_);
}

TEST_F(GrpcAdminClientTest, CodesComeThrough) {
  const auto denied = client_->DrainHost({});
  EXPECT_THAT(denied, HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(denied.status().message(), "user:bob is a viewer");
  // Who is stopped will be back: the watcher waits.
  EXPECT_THAT(client_->ResumeHost({}), HasCode(absl::StatusCode::kUnavailable));
  EXPECT_THAT(client_->ForgetHost({}), HasCode(absl::StatusCode::kUnimplemented));
}

TEST_F(GrpcAdminClientTest, WatchesARun) {
  v1::WatchRunRequest request;
  request.set_run_id("abc");
  std::vector<v1::RunState> states;
  EXPECT_THAT(client_->WatchRun(request, absl::Seconds(20),
                                [&](const v1::Run& run) { states.push_back(run.state()); }),
              IsOk());
  EXPECT_THAT(states, ElementsAre(v1::RUN_STATE_RUNNING, v1::RUN_STATE_COMPLETED));
}

TEST_F(GrpcAdminClientTest, NobodyThere) {
  server_->Shutdown();
  server_.reset();
  const auto response = Connect()->ListPolicies({});
  EXPECT_THAT(response, HasCode(absl::StatusCode::kUnavailable));
  EXPECT_THAT(response.status().message(), testing::Not(HasSubstr("last error")));
}

TEST_F(GrpcAdminClientTest, PlainTextStaysHere) {
  Connection connection;
  connection.address = *ParseAddress("nas1");
  EXPECT_THAT(NewGrpcAdminClient(connection, false), HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(NewGrpcAdminClient(connection, true), IsOk());
}

}  // namespace
}  // namespace onefold
