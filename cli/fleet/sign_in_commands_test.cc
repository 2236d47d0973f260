#include "cli/fleet/sign_in_commands.h"

#include <nlohmann/json.hpp>
#include <string>

#include "cli/fleet/testing/verb_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;

class SignInCommandsTest : public VerbTest {
 protected:
  void AnswerSignIn(const std::string& page) {
    v1::CreateSignInResponse response;
    response.set_token("abc");
    response.set_page_address(page);
    client_.create_sign_in.Answer(response);
  }
};

TEST_F(SignInCommandsTest, PrintsALinkWhoseSecretIsSentToNobody) {
  AnswerSignIn("https://nas1:7180");
  EXPECT_EQ(Run(SignInLinkVerb(), {"ann"}), 0);
  EXPECT_EQ(console_.out, "https://nas1:7180/#/sign-in/abc\n");
  EXPECT_EQ(client_.create_sign_in.requests.at(0).name(), "ann");
}

TEST_F(SignInCommandsTest, LinkAsJson) {
  AnswerSignIn("https://nas1:7180");
  EXPECT_EQ(Run(SignInLinkVerb(), {"ann", "--json"}), 0);
  const auto json = nlohmann::json::parse(console_.out);
  EXPECT_EQ(json["schema"], "onefold.sign_in.v1");
  EXPECT_EQ(json["link"], "https://nas1:7180/#/sign-in/abc");
  EXPECT_TRUE(json["expires_at"].is_null());
}

TEST_F(SignInCommandsTest, NoPageNoLink) {
  AnswerSignIn("");
  EXPECT_EQ(Run(SignInLinkVerb(), {"ann"}), 1);
  EXPECT_THAT(console_.err, HasSubstr("web_listen"));
}

// A coordinator of an earlier version has no page; adding people works as before.
TEST_F(SignInCommandsTest, OlderCoordinatorsHaveNoLinks) {
  client_.create_sign_in.Fail(absl::UnimplementedError(""));
  EXPECT_EQ(*LinkForNewUser(client_, "ann"), "");
}

}  // namespace
}  // namespace onefold
