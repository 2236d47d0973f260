#include "cli/fleet/address.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;

Address Parsed(absl::string_view text) {
  const absl::StatusOr<Address> address = ParseAddress(text);
  EXPECT_THAT(address, IsOk()) << text;
  return address.ok() ? *address : Address{};
}

TEST(AddressTest, HostsAndPorts) {
  EXPECT_EQ(Parsed("nas1").text, "nas1:7171");
  EXPECT_EQ(Parsed("nas1:7200").target, "dns:///nas1:7200");
  EXPECT_EQ(Parsed("[fe80::1]").text, "[fe80::1]:7171");
  EXPECT_EQ(Parsed("[fe80::1%eth0]:80").target, "dns:///[fe80::1%eth0]:80");
  EXPECT_FALSE(Parsed("nas1").is_unix);
}

TEST(AddressTest, Sockets) {
  EXPECT_TRUE(Parsed("unix:/run/x.sock").is_unix);
  EXPECT_EQ(Parsed("unix:/run/x.sock").target, "unix:/run/x.sock");
  EXPECT_THAT(ParseAddress("unix:x.sock"), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseAddress("unix:/" + std::string(200, 'x')),
              HasCode(absl::StatusCode::kInvalidArgument));
}

// Plain text is spoken to these without being asked for: no other name may pass for one.
TEST(AddressTest, Loopback) {
  for (const char* text : {"localhost", "LOCALHOST:1", "127.0.0.1", "127.1.2.3:80", "[::1]:7171"}) {
    EXPECT_TRUE(Parsed(text).is_loopback) << text;
  }
  for (const char* text : {"127.evil.example", "localhost.example", "nas1", "[::2]", "127.0.0.1.a",
                           "1127.0.0.1", "12.7.0.1"}) {
    EXPECT_FALSE(Parsed(text).is_loopback) << text;
  }
}

TEST(AddressTest, SaysWhatIsWrong) {
  for (const char* text : {"", ":7171", "nas1:", "nas1:0", "nas1:65536", "nas1:x", "nas1:+1", "a b",
                           "[::1", "[]:1", "[::1]x", "-nas", "a/b", "dns:///a:1"}) {
    EXPECT_THAT(ParseAddress(text), HasCode(absl::StatusCode::kInvalidArgument)) << text;
  }
  EXPECT_THAT(ParseAddress("fe80::1").status().message(), HasSubstr("brackets"));
  EXPECT_THAT(ParseAddress("nas\x1b[2J").status().message(), HasSubstr("\\x1b"));
}

}  // namespace
}  // namespace onefold
