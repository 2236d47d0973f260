#include "cli/web/http_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Sends `text` and returns all that comes until the other side closes.
std::string Talk(int port, const std::string& text) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t got; (got = recv(fd, buffer, sizeof(buffer), 0)) > 0;) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  return answer;
}

class HttpServerTest : public ::testing::Test {
 protected:
  void Serve(HttpServer::Handler handler) {
    auto server = HttpServer::Start({.host = "127.0.0.1", .port = 0}, std::move(handler));
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }
  std::string Ask(const std::string& request) { return Talk(server_->port(), request); }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, PassesOnWhatIsAsked) {
  Serve([](const HttpRequest& request) {
    HttpResponse response;
    response.body = absl::StrCat(request.method, " ", request.path, " ", request.Header("x-one"),
                                 " ", request.body, " ", request.peer);
    for (const auto& [name, value] : request.parameters) {
      absl::StrAppend(&response.body, " ", name, "=", value);
    }
    response.headers.emplace_back("X-Two", "2");
    return response;
  });
  const std::string answer =
      Ask("POST /a%20b?c=%2F HTTP/1.1\r\nHost: h\r\nX-One: 1\r\nContent-Length: 4\r\n"
          "Connection: close\r\n\r\nbody");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("X-Two: 2\r\n"));
  EXPECT_THAT(answer, EndsWith("POST /a b 1 body 127.0.0.1 c=/"));
}

// A peer cannot say where it comes from.
TEST_F(HttpServerTest, PeersDoNotNameThemselves) {
  Serve([](const HttpRequest& request) {
    HttpResponse response;
    response.body = absl::StrCat(request.peer, "|", request.Header("remote_addr"));
    return response;
  });
  EXPECT_THAT(
      Ask("GET / HTTP/1.1\r\nHost: h\r\nREMOTE_ADDR: 192.0.2.1\r\nConnection: close\r\n\r\n"),
      EndsWith("127.0.0.1|"));
}

TEST_F(HttpServerTest, StreamsInPieces) {
  Serve([](const HttpRequest&) {
    HttpResponse response;
    response.content_type = "text/event-stream";
    response.stream = [](const HttpResponse::Send& send) {
      EXPECT_TRUE(send("data: 1\n\n"));
      EXPECT_TRUE(send("data: 2\n\n"));
    };
    return response;
  });
  const std::string answer = Ask("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("chunked"));
  EXPECT_THAT(answer, HasSubstr("data: 1"));
  EXPECT_THAT(answer, HasSubstr("data: 2"));
}

TEST_F(HttpServerTest, RefusesWhatIsTooLongOrOdd) {
  Serve([](const HttpRequest&) { return HttpResponse{.status = 200, .body = "reached"}; });
  EXPECT_THAT(Ask(absl::StrCat("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ",
                               HttpServer::kBodyBytesMax + 1, "\r\nConnection: close\r\n\r\n")),
              Not(HasSubstr("reached")));
  for (const std::string& odd :
       {std::string("GET\r\n\r\n"), std::string("\0\0\0\r\n\r\n", 7),
        absl::StrCat("GET /", std::string(20000, 'a'), " HTTP/1.1\r\nHost: h\r\n\r\n"),
        std::string("DELETE / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")}) {
    EXPECT_THAT(Ask(odd), Not(HasSubstr("reached"))) << odd.substr(0, 40);
  }
}

TEST_F(HttpServerTest, AnAddressInUseIsToldAndNotShared) {
  Serve([](const HttpRequest&) { return HttpResponse(); });
  EXPECT_THAT(HttpServer::Start({.host = "127.0.0.1", .port = server_->port()},
                                [](const HttpRequest&) { return HttpResponse(); }),
              HasCode(absl::StatusCode::kUnavailable));
}

TEST_F(HttpServerTest, EndsWhatWasNeverAsked) {
  for (int i = 0; i < 3; ++i) Serve([](const HttpRequest&) { return HttpResponse(); });
}

}  // namespace
}  // namespace onefold
