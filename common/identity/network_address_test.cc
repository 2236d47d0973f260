#include "common/identity/network_address.h"

#include <string>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

TEST(NetworkAddressTest, Parses) {
  const auto name = ParseHostAndPort("nas.example:7171");
  ASSERT_THAT(name, IsOk());
  EXPECT_EQ(name->host, "nas.example");
  EXPECT_EQ(name->port, 7171);
  const auto six = ParseHostAndPort("[fe80::1%eth0]:1");
  ASSERT_THAT(six, IsOk());
  EXPECT_EQ(six->host, "fe80::1%eth0");
  EXPECT_EQ(ToString(*six), "[fe80::1%eth0]:1");
  EXPECT_EQ(ToString(*name), "nas.example:7171");
}

TEST(NetworkAddressTest, NonsenseIsRefused) {
  for (const std::string text :
       {"",           ":",          "host",          "host:",       ":7171",
        "host:0",     "host:65536", "host:-1",       "host:+1",     "host: 1",
        "host:7171x", "::1:7171",   "[::1:7171",     "[::1]7171",   "[]:1",
        "ho st:1",    "host\n:1",   "http://host:1", "user@host:1", "host:999999999999999999999"}) {
    EXPECT_THAT(ParseHostAndPort(text), HasCode(absl::StatusCode::kInvalidArgument)) << text;
  }
  EXPECT_THAT(ParseHostAndPort(std::string(300, 'a') + ":1"),
              HasCode(absl::StatusCode::kInvalidArgument));
}

TEST(NetworkAddressTest, PlainTextStaysOnTheMachine) {
  for (const char* text :
       {"unix:/run/onefold.sock", "unix-abstract:onefold", "127.0.0.1:7171", "127.8.9.1:1",
        "127.0.0.1:0", "[::1]:7171", "localhost:7171", "LocalHost:1"}) {
    EXPECT_TRUE(PlainTextAllowed(text)) << text;
  }
  for (const char* text : {"0.0.0.0:7171", "[::]:7171", "192.168.0.2:7171", "localhost.example:1",
                           "127.0.0.1", "", "127.1:1", "[::ffff:10.0.0.1]:1", "nas:7171",
                           "dns:///localhost:1", "1270.0.0.1:1", "127.0.0.1.example:1"}) {
    EXPECT_FALSE(PlainTextAllowed(text)) << text;
  }
}

}  // namespace
}  // namespace onefold
