#include "worker/kernel_check.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Warning(const std::string& release) { return KernelWarning({release, "", ""}); }

std::string Version(const KernelNames& names) {
  const auto version = ParseKernelVersion(names);
  if (!version.has_value()) return "none";
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         (version->patch_known ? std::to_string(version->patch) : "?");
}

TEST(KernelCheckTest, SuffixesOfVendorsAreUnderstood) {
  EXPECT_EQ(Version({"6.18.44", "", ""}), "6.18.44");
  EXPECT_EQ(Version({"6.12", "", ""}), "6.12.0");
  EXPECT_EQ(Version({"6.10.0-rc3", "", ""}), "6.10.0");
  EXPECT_EQ(Version({"6.12-rc1+", "", ""}), "6.12.0");
  EXPECT_EQ(Version({"4.4.302+", "", ""}), "4.4.302");  // Synology
  EXPECT_EQ(Version({"6.4.0-150600.23.25-default", "", ""}), "6.4.?");
  EXPECT_EQ(Version({"6.12.9-1-default", "", ""}), "6.12.9");
  EXPECT_EQ(Version({"4.18.0-553.el8_10.x86_64", "", ""}), "4.18.?");
  EXPECT_EQ(Version({"5.15.167.4-microsoft-standard-WSL2", "", ""}), "5.15.167");
}

// Debian and Ubuntu count their own releases in uname -r.
TEST(KernelCheckTest, TheTrueVersionIsTakenWhereTheVendorPutsIt) {
  EXPECT_EQ(Version({"6.1.0-18-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)", ""}),
            "6.1.76");
  EXPECT_EQ(Version({"5.15.0-91-generic", "#101-Ubuntu SMP Tue Nov 14 13:30:08 UTC 2023",
                     "Ubuntu 5.15.0-91.101-generic 5.15.131"}),
            "5.15.131");
  EXPECT_EQ(Version({"5.15.0-91-generic", "#101-Ubuntu SMP 4.2.1", ""}), "5.15.?");
}

TEST(KernelCheckTest, WhatIsNoVersionWarnsOfNothing) {
  for (const char* text : {"", "linux", "6", "6.", "x.y", ".", "99999999999999.1.2"}) {
    EXPECT_EQ(Warning(text), "") << text;
  }
}

TEST(KernelCheckTest, KernelsOfTodayAreFine) {
  for (const char* text :
       {"5.10.200", "5.15.160", "6.1.76", "6.6.30", "6.12.9", "6.18.44", "7.0"}) {
    EXPECT_EQ(Warning(text), "") << text;
  }
}

TEST(KernelCheckTest, TheBorderOfABugIsExact) {
  EXPECT_THAT(Warning("5.4.13"),
              HasSubstr("metadata can be damaged beyond repair (fixed in 5.4.14)"));
  EXPECT_THAT(Warning("5.4.14"), Not(HasSubstr("beyond repair")));
  EXPECT_THAT(Warning("5.3.18"), HasSubstr("beyond repair (fixed in 5.5)"));
  EXPECT_THAT(Warning("5.0.21"), Not(HasSubstr("beyond repair")));

  EXPECT_EQ(Warning("6.9.12"), "");
  EXPECT_THAT(Warning("6.10.0"), HasSubstr("fixed in 6.12"));
  EXPECT_THAT(Warning("6.10.14"), HasSubstr("fixed in 6.12"));
  EXPECT_THAT(Warning("6.11.9"), HasSubstr("fixed in 6.11.10"));
  EXPECT_EQ(Warning("6.11.10"), "");

  EXPECT_EQ(Warning("6.1.20"), "");
  EXPECT_THAT(Warning("6.2.15"), HasSubstr("leaves out references"));
  EXPECT_EQ(Warning("6.2.16"), "");
  EXPECT_THAT(Warning("6.3.2"), HasSubstr("fixed in 6.3.3"));
  EXPECT_EQ(Warning("6.3.3"), "");

  EXPECT_THAT(Warning("5.4.124"), HasSubstr("fixed in 5.4.125"));
  EXPECT_THAT(Warning("5.4.125"), Not(HasSubstr("as if memory were bad")));
  EXPECT_THAT(Warning("5.10.42"), HasSubstr("fixed in 5.10.43"));
  EXPECT_EQ(Warning("5.10.43"), "");
  EXPECT_THAT(Warning("5.4.300"), HasSubstr("being deleted (fixed in 5.7)"));  // never carried over
  EXPECT_THAT(Warning("5.12.2"),
              HasSubstr("crash while references are resolved (fixed in 5.12.3)"));
}

TEST(KernelCheckTest, OneWarningNamesTheWorst) {
  EXPECT_THAT(Warning("4.4.50"), AllOf(HasSubstr("Linux 4.4.50 has bugs"), HasSubstr("read wrong"),
                                       HasSubstr("more. Update the kernel")));
}

// Where the patch level cannot be told, nothing is claimed.
TEST(KernelCheckTest, VendorKernelsMayHaveTheFix) {
  EXPECT_THAT(Warning("5.15.0-91-generic"),
              AllOf(HasSubstr("may have bugs"), HasSubstr("your vendor")));
  EXPECT_EQ(KernelWarning({"5.15.0-91-generic", "", "Ubuntu 5.15.0-91.101-generic 5.15.131"}), "");
}

}  // namespace
}  // namespace onefold
