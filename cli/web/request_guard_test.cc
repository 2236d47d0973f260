#include "cli/web/request_guard.h"

#include <string>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

HttpRequest With(std::map<std::string, std::string, std::less<>> headers,
                 const std::string& method = "GET") {
  HttpRequest request;
  request.method = method;
  request.headers = std::move(headers);
  return request;
}

TEST(RequestGuardTest, HostOfWhatBrowsersSend) {
  EXPECT_EQ(HostOf("nas1:7180"), "nas1");
  EXPECT_EQ(HostOf("NAS1.Example."), "nas1.example");
  EXPECT_EQ(HostOf("[::1]:7180"), "::1");
  EXPECT_EQ(HostOf("127.0.0.1"), "127.0.0.1");
  for (const char* odd : {"", "[::1", "a:b", "a:", "a:0", "a:65536", "[::1]x", "a:1:2"}) {
    EXPECT_EQ(HostOf(odd), "") << odd;
  }
  EXPECT_EQ(HostOf(std::string(10000, 'a')), "");
}

// A name of somebody else that points here would make their page the same origin.
TEST(RequestGuardTest, OnlyOwnNamesAreServed) {
  const std::set<std::string> names = {"nas1"};
  for (const char* ours : {"127.0.0.1:7180", "localhost:7180", "[::1]:7180", "192.0.2.7", "NAS1"}) {
    EXPECT_THAT(CheckHost(With({{"host", ours}}), names), IsOk()) << ours;
  }
  for (const char* other : {"", "evil.example", "nas1.evil.example", "127.0.0.1.evil.example",
                            "localhost.evil.example", "0x7f.1"}) {
    EXPECT_THAT(CheckHost(With({{"host", other}}), names),
                HasCode(absl::StatusCode::kPermissionDenied))
        << other;
  }
}

TEST(RequestGuardTest, OtherPagesCannotMakeABrowserAsk) {
  EXPECT_THAT(CheckOrigin(With({{"host", "nas1:7180"}})), IsOk());
  EXPECT_THAT(CheckOrigin(With({{"host", "nas1:7180"}, {"sec-fetch-site", "same-origin"}})),
              IsOk());
  for (const char* site : {"cross-site", "same-site", "x"}) {
    EXPECT_THAT(CheckOrigin(With({{"host", "nas1:7180"}, {"sec-fetch-site", site}})),
                HasCode(absl::StatusCode::kPermissionDenied));
  }
  EXPECT_THAT(CheckOrigin(With({{"host", "nas1:7180"}, {"origin", "http://nas1:7180"}})), IsOk());
  for (const char* origin :
       {"http://nas1:8080", "http://evil.example", "null", "http://nas1:7180.evil.example"}) {
    EXPECT_THAT(CheckOrigin(With({{"host", "nas1:7180"}, {"origin", origin}})),
                HasCode(absl::StatusCode::kPermissionDenied))
        << origin;
  }
}

TEST(RequestGuardTest, ChangesNeedAHeaderThatFormsCannotSend) {
  EXPECT_THAT(CheckOrigin(With({{"host", "a"}}, "POST")),
              HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(CheckOrigin(With({{"host", "a"}, {"x-onefold-request", "1"}}, "POST")), IsOk());
}

TEST(RequestGuardTest, Cookies) {
  EXPECT_EQ(SessionCookieOf(With({{"cookie", "a=b; onefold=abc;x=y"}}), false), "abc");
  EXPECT_EQ(SessionCookieOf(With({{"cookie", "onefold=abc"}}), true), "");
  EXPECT_EQ(SessionCookieOf(With({{"cookie", "__Host-onefold=abc"}}), true), "abc");
  EXPECT_EQ(SessionCookieOf(With({}), true), "");
  const std::string cookie = SessionCookie("abc", absl::Hours(1), true);
  for (const char* part :
       {"__Host-onefold=abc", "Path=/", "Max-Age=3600", "HttpOnly", "SameSite=Strict", "Secure"}) {
    EXPECT_THAT(cookie, HasSubstr(part));
  }
  EXPECT_THAT(SessionCookie("abc", absl::Hours(1), false), Not(HasSubstr("Secure")));
  EXPECT_THAT(NoSessionCookie(false), HasSubstr("onefold=; Path=/; Max-Age=0"));
}

TEST(RequestGuardTest, NothingInlineIsEverRun) {
  HttpResponse response;
  AddSecurityHeaders(true, response);
  const std::string policy = response.headers.at(0).second;
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
}

}  // namespace
}  // namespace onefold
