#include "common/identity/join_token.h"

#include <string>

#include "common/identity/random.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::identity {
namespace {

TEST(JoinTokenTest, SurvivesItsText) {
  const JoinToken token = {.secret = RandomBytes(kTokenSecretBytes),
                           .authority_fingerprint = Sha256("authority")};
  const auto read = ParseJoinToken(ToText(token));
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->secret, token.secret);
  EXPECT_EQ(read->authority_fingerprint, token.authority_fingerprint);
  EXPECT_THAT(ParseSecret(SecretToText(token.secret)), IsOkAndHolds(token.secret));
}

TEST(JoinTokenTest, TextIsFrozen) {
  EXPECT_EQ(
      ToText({.secret = std::string(16, '\x01'), .authority_fingerprint = std::string(32, '\xff')}),
      "of1-AQEBAQEBAQEBAQEBAQEBAf__________________________________________");
}

TEST(JoinTokenTest, NonsenseIsRefusedAndNotRepeated) {
  const std::string good =
      ToText({.secret = std::string(16, 'a'), .authority_fingerprint = std::string(32, 'b')});
  for (const std::string& text :
       {std::string(), std::string("of1-"), good.substr(0, good.size() - 1), good + "A",
        good.substr(4), "of2-" + good.substr(4), std::string(68, ' '),
        "of1-" + std::string(64, '=')}) {
    const auto read = ParseJoinToken(text);
    EXPECT_THAT(read, HasCode(absl::StatusCode::kInvalidArgument)) << text;
    EXPECT_THAT(std::string(read.status().message()), ::testing::Not(::testing::HasSubstr("YWFh")));
  }
  EXPECT_THAT(ParseSecret(std::string(32, 'g')), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseSecret(std::string(31, 'a')), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseSecret(""), HasCode(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace onefold::identity
