#include "cli/doctor/report.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<Finding> kFindings = {
    {Severity::kOk, "kernel", "", "Linux 6.12", ""},
    {Severity::kWarning, "quotas", "/a\x1b[2J\xff", "quotas are on", "btrfs quota disable /a"}};

TEST(DoctorReportTest, TextNamesWhatToType) {
  const std::string text = FindingsText(kFindings, false);
  EXPECT_THAT(text, HasSubstr("ok       kernel: Linux 6.12\n"));
  EXPECT_THAT(text, HasSubstr("warning  quotas /a\\x1b[2J\\xff: quotas are on\n"
                              "         → btrfs quota disable /a\n"));
  EXPECT_THAT(text, HasSubstr("One thing to mend.\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(DoctorReportTest, ColourOnlyWhereAskedFor) {
  EXPECT_THAT(FindingsText(kFindings, true), HasSubstr("\x1b[33mwarning\x1b[0m"));
}

TEST(DoctorReportTest, JsonIsOneObjectOfAscii) {
  const std::string text = FindingsJson(kFindings);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["schema"], "onefold.doctor.v1");
  EXPECT_EQ(json["worst"], "warning");
  EXPECT_TRUE(json["findings"][0]["command"].is_null());
  EXPECT_EQ(json["findings"][1]["kind"], "quotas");
  for (const char c : text) EXPECT_TRUE(c >= ' ' && c <= '~');
}

}  // namespace
}  // namespace onefold
