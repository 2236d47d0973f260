#include "cli/web/json_gateway.h"

#include <google/protobuf/descriptor.h>
#include <grpcpp/channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onefold/v1/admin_service.grpc.pb.h"

namespace onefold {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Caller kViewer = {.kind = Caller::Kind::kUser, .id = "ann", .role = Role::kViewer};
const Caller kOperator = {.kind = Caller::Kind::kUser, .id = "bob", .role = Role::kOperator};

class FakeService final : public v1::AdminService::Service {
 public:
  grpc::Status ListRuns(grpc::ServerContext*, const v1::ListRunsRequest* request,
                        v1::ListRunsResponse* response) override {
    asked = request->ShortDebugString();
    v1::Run& run = *response->add_runs();
    run.set_run_id("r1");
    run.set_volume_name("<b>\"&");
    run.set_volume_uuid(std::string(16, '\x01'));
    run.mutable_status()->mutable_figures()->set_bytes_freed(int64_t{1} << 53);
    return grpc::Status::OK;
  }
  grpc::Status CancelRun(grpc::ServerContext*, const v1::CancelRunRequest* request,
                         v1::CancelRunResponse*) override {
    asked = request->ShortDebugString();
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no run x");
  }
  grpc::Status WatchRun(grpc::ServerContext* context, const v1::WatchRunRequest* request,
                        grpc::ServerWriter<v1::WatchRunResponse>* writer) override {
    v1::WatchRunResponse response;
    response.mutable_run()->set_run_id(request->run_id());
    writer->Write(response);
    if (request->run_id() == "failing") return grpc::Status(grpc::StatusCode::INTERNAL, "broken");
    while (request->run_id() == "endless" && !context->IsCancelled()) {
    }
    writer->Write(response);
    return grpc::Status::OK;
  }

  std::string asked;
};

class JsonGatewayTest : public ::testing::Test {
 protected:
  JsonGatewayTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    gateway_ = std::make_unique<JsonGateway>(server_->InProcessChannel({}));
  }
  HttpResponse Get(const std::string& method,
                   std::vector<std::pair<std::string, std::string>> parameters,
                   const Caller& caller = kViewer) {
    HttpRequest request;
    request.method = "GET";
    request.parameters = std::move(parameters);
    return gateway_->Handle(method, request, caller);
  }
  HttpResponse Post(const std::string& method, const std::string& body, const Caller& caller) {
    HttpRequest request;
    request.method = "POST";
    request.body = body;
    return gateway_->Handle(method, request, caller);
  }
  static std::vector<std::string> Pieces(const HttpResponse& response) {
    std::vector<std::string> pieces;
    response.stream([&](absl::string_view piece) {
      pieces.emplace_back(piece);
      return true;
    });
    return pieces;
  }

  FakeService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<JsonGateway> gateway_;
};

TEST_F(JsonGatewayTest, AnswersInProtobufsJson) {
  const HttpResponse response =
      Get("AdminService/ListRuns", {{"pageSize", "7"}, {"active_only", "true"}});
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(service_.asked, "page_size: 7 active_only: true");
  const json answer = json::parse(response.body);
  const json& run = answer["runs"][0];
  EXPECT_EQ(run["runId"], "r1");
  EXPECT_EQ(run["volumeName"], "<b>\"&");
  EXPECT_EQ(run["volumeUuid"], "AQEBAQEBAQEBAQEBAQEBAQ==");
  // Beyond what JavaScript's numbers hold.
  EXPECT_EQ(run["status"]["figures"]["bytesFreed"], "9007199254740992");
  // Not known is absent, not 0.
  EXPECT_FALSE(run["status"]["figures"].contains("bytesPinned"));
  EXPECT_FALSE(run.contains("expectedBytes"));
}

TEST_F(JsonGatewayTest, TheTableSaysWhoMay) {
  EXPECT_EQ(Post("AdminService/CancelRun", R"({"runId": "x"})", kViewer).status, 403);
  EXPECT_EQ(service_.asked, "");
  const HttpResponse response = Post("AdminService/CancelRun", R"({"runId": "x"})", kOperator);
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(service_.asked, "run_id: \"x\"");
  const json error = json::parse(response.body);
  EXPECT_EQ(error["code"], "NOT_FOUND");
  EXPECT_EQ(error["message"], "there is no run x");
}

TEST_F(JsonGatewayTest, ALookChangesNothing) {
  EXPECT_EQ(Get("AdminService/CancelRun", {{"runId", "x"}}, kOperator).status, 405);
  EXPECT_EQ(Post("AdminService/WatchRun", "{}", kOperator).status, 405);
  EXPECT_EQ(service_.asked, "");
}

// Making tokens and people is nothing for a browser, whoever asks.
TEST_F(JsonGatewayTest, OnlyWhatThePageNeedsIsThere) {
  const Caller admin = {.kind = Caller::Kind::kUser, .id = "eve", .role = Role::kAdmin};
  for (const char* method :
       {"AdminService/CreateUser", "AdminService/CreateSignIn", "AdminService/CreateJoinToken",
        "AdminService/ForgetHost", "CoordinatorService/Sync", "MaintenanceService/HoldCheckpoint",
        "AdminService", "AdminService/", "/", "", "AdminService/ListRuns/x",
        "onefold.v1.AdminService/ListRuns"}) {
    EXPECT_EQ(Post(method, "{}", admin).status, 404) << method;
  }
}

TEST_F(JsonGatewayTest, MalformedRequestsAreTold) {
  for (const char* body : {"{", "[]", "x", R"({"nothing": 1})", R"({"runId": {}})"}) {
    EXPECT_EQ(Post("AdminService/CancelRun", body, kOperator).status, 400) << body;
  }
  EXPECT_EQ(Get("AdminService/ListRuns", {{"nothing", "1"}}).status, 400);
  EXPECT_EQ(Get("AdminService/ListRuns", {{"pageSize", "x"}}).status, 400);
  EXPECT_EQ(Get("AdminService/ListRuns", {{"pageSize.x", "1"}}).status, 400);
}

TEST_F(JsonGatewayTest, StreamsAsEvents) {
  const HttpResponse response = Get("AdminService/WatchRun", {{"runId", "r1"}});
  EXPECT_EQ(response.content_type, "text/event-stream");
  const std::vector<std::string> pieces = Pieces(response);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_THAT(pieces[1], StartsWith("data: {\"run\":{\"runId\":\"r1\""));
  EXPECT_THAT(pieces[3], StartsWith("event: end\n"));
  EXPECT_THAT(Pieces(Get("AdminService/WatchRun", {{"runId", "failing"}})).back(),
              ::testing::AllOf(StartsWith("event: failed\n"), HasSubstr("\"code\":\"INTERNAL\"")));
}

// The service would write for ever; who closed the page does not read any more.
TEST_F(JsonGatewayTest, AReaderThatIsGoneEndsTheStream) {
  const HttpResponse response = Get("AdminService/WatchRun", {{"runId", "endless"}});
  int pieces = 0;
  response.stream([&](absl::string_view) { return ++pieces < 2; });
  EXPECT_EQ(pieces, 2);
  gateway_->EndStreams();
  Pieces(Get("AdminService/WatchRun", {{"runId", "endless"}}));
}

TEST_F(JsonGatewayTest, StreamsAreBounded) {
  std::vector<HttpResponse> open;
  for (int i = 0; i < JsonGateway::kStreamsMax; ++i) {
    open.push_back(Get("AdminService/WatchRun", {{"runId", "r1"}}));
    EXPECT_EQ(open.back().status, 200);
  }
  EXPECT_EQ(Get("AdminService/WatchRun", {{"runId", "r1"}}).status, 429);
  open.clear();
  EXPECT_EQ(Get("AdminService/WatchRun", {{"runId", "r1"}}).status, 200);
}

}  // namespace
}  // namespace onefold
