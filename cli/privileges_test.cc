#include "cli/privileges.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHostMap[] = "         0          0 4294967295\n";
constexpr char kRoot[] = "Name:\tonefold\nCapPrm:\t0\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n";

std::string Refusal(const std::string& capabilities, const std::string& map = kHostMap) {
  const auto privileges = ParsePrivileges("CapEff:\t" + capabilities + "\n", map);
  EXPECT_TRUE(privileges.has_value());
  return std::string(CheckPrivileges(privileges.value_or(Privileges())).message());
}

TEST(PrivilegesTest, RootMayEverything) {
  const auto privileges = ParsePrivileges(kRoot, kHostMap);
  ASSERT_TRUE(privileges.has_value());
  EXPECT_THAT(CheckPrivileges(*privileges), IsOk());
  EXPECT_EQ(PrivilegeWarning(*privileges), "");
}

TEST(PrivilegesTest, WhatIsMissingIsNamedWithTheWayToGetIt) {
  EXPECT_THAT(Refusal("0"), AllOf(HasSubstr("CAP_SYS_ADMIN"), HasSubstr("CAP_DAC_READ_SEARCH"),
                                  HasSubstr("sudo"), HasSubstr("--cap-add SYS_ADMIN")));
  // 0x200000 is CAP_SYS_ADMIN, 0x4 CAP_DAC_READ_SEARCH.
  EXPECT_THAT(Refusal("0000000000200000"),
              AllOf(Not(HasSubstr("CAP_SYS_ADMIN")), HasSubstr("--cap-add DAC_READ_SEARCH")));
  EXPECT_THAT(Refusal("0000000000000004"), Not(HasSubstr("DAC_READ_SEARCH")));
  EXPECT_EQ(Refusal("0000000000200004"), "");
}

TEST(PrivilegesTest, RootOfARootlessContainerIsNone) {
  EXPECT_THAT(Refusal("000001ffffffffff", "0 1000 1\n1 100000 65536\n"), HasSubstr("rootless"));
  EXPECT_EQ(Refusal("000001ffffffffff", ""), "");
}

TEST(PrivilegesTest, WithoutFownerThereIsAWarning) {
  const auto privileges = ParsePrivileges("CapEff:\t0000000000200004\n", kHostMap);
  EXPECT_THAT(PrivilegeWarning(*privileges), HasSubstr("CAP_FOWNER"));
}

TEST(PrivilegesTest, WhatIsNoStatusFileIsNotTakenForOne) {
  EXPECT_EQ(ParsePrivileges("", ""), std::nullopt);
  EXPECT_EQ(ParsePrivileges("CapEff:\tzz\n", ""), std::nullopt);
}

}  // namespace
}  // namespace onefold
