#include "cli/fleet/join_arguments.h"

#include <string>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const identity::JoinToken kToken = {.secret = std::string(16, 's'),
                                    .authority_fingerprint = std::string(32, 'f')};
const std::string kText = identity::ToText(kToken);

TEST(JoinArgumentsTest, Everything) {
  const auto parsed = ParseJoin({"--allow", "/srv/data/", "--name=attic", kText + "@nas1:7200",
                                 "--allow=/srv/./b", "--state-directory", "/srv/state",
                                 "--config=/srv/worker.yaml", "--rejoin", "--if-needed", "--json"});
  ASSERT_THAT(parsed, IsOk());
  EXPECT_EQ(parsed->token.secret, kToken.secret);
  EXPECT_EQ(ToString(parsed->coordinator), "nas1:7200");
  EXPECT_THAT(parsed->allow, ElementsAre("/srv/data", "/srv/b"));
  EXPECT_EQ(parsed->name, "attic");
  EXPECT_EQ(parsed->state_directory, "/srv/state");
  EXPECT_EQ(parsed->config_file, "/srv/worker.yaml");
  EXPECT_TRUE(parsed->rejoin);
  EXPECT_TRUE(parsed->if_needed);
  EXPECT_TRUE(parsed->json);
}

TEST(JoinArgumentsTest, PortHasADefault) {
  EXPECT_EQ(ToString(ParseJoin({kText + "@nas1"})->coordinator), "nas1:7171");
  EXPECT_EQ(ToString(ParseJoin({kText + "@[fe80::1]"})->coordinator), "[fe80::1]:7171");
}

TEST(JoinArgumentsTest, RefusedWithoutRepeatingTheToken) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {""},
                                             {kText},
                                             {kText + "@"},
                                             {kText + "@ho st"},
                                             {kText.substr(1) + "@nas1"},
                                             {kText + "@nas1", "more"},
                                             {kText + "@nas1", "--allow"},
                                             {kText + "@nas1", "--allow", "relative"},
                                             {kText + "@nas1", "--allow", ""},
                                             {kText + "@nas1", "--allow", "/new\nline"},
                                             {kText + "@nas1", "--allow", "/not utf-8 \xff"},
                                             {kText + "@nas1", "--name", ""},
                                             {kText + "@nas1", "--name", std::string(254, 'n')},
                                             {kText + "@nas1", "--unknown"},
                                             {kText + "@nas1", "--json=1"},
                                             {kText + "@nas1", "--state-directory", "state"}}) {
    const auto parsed = ParseJoin(arguments);
    EXPECT_THAT(parsed, HasCode(absl::StatusCode::kInvalidArgument))
        << ::testing::PrintToString(arguments);
    EXPECT_THAT(std::string(parsed.status().message()), Not(HasSubstr(kText.substr(10))));
  }
}

}  // namespace
}  // namespace onefold
