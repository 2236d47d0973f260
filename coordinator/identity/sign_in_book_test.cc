#include "coordinator/identity/sign_in_book.h"

#include <string>

#include "common/testing/status_matchers.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::identity {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
const SignInBook::Owner kAnn = {.name = "ann", .serial = "0a"};
const SignInBook::Owner kBob = {.name = "bob", .serial = "0b"};

class SignInBookTest : public ::testing::Test {
 protected:
  SignInBookTest() { Reopen(); }
  void Reopen() { book_ = *SignInBook::Open(state_); }
  std::string SignIn(const SignInBook::Owner& owner, absl::Time now = kNow) {
    return book_->Spend(book_->CreateToken(owner, now)->text, now)->cookie.text;
  }

  index::MemoryStore state_;
  std::unique_ptr<SignInBook> book_;
};

TEST_F(SignInBookTest, ATokenIsGoodOnce) {
  const std::string token = book_->CreateToken(kAnn, kNow)->text;
  const auto session = book_->Spend(token, kNow);
  ASSERT_THAT(session, IsOk());
  EXPECT_EQ(session->owner, kAnn);
  EXPECT_EQ(book_->FindSession(session->cookie.text, kNow), kAnn);
  EXPECT_THAT(book_->Spend(token, kNow), HasCode(absl::StatusCode::kUnauthenticated));
  // A token is no cookie, and a cookie no token.
  EXPECT_EQ(book_->FindSession(token, kNow), std::nullopt);
  EXPECT_THAT(book_->Spend(session->cookie.text, kNow),
              HasCode(absl::StatusCode::kUnauthenticated));
}

TEST_F(SignInBookTest, BothEnd) {
  const std::string late = book_->CreateToken(kAnn, kNow)->text;
  EXPECT_THAT(book_->Spend(late, kNow + SignInBook::kTokenTtl),
              HasCode(absl::StatusCode::kUnauthenticated));
  const std::string cookie = SignIn(kAnn);
  EXPECT_NE(book_->FindSession(cookie, kNow + SignInBook::kSessionTtl - absl::Seconds(1)),
            std::nullopt);
  EXPECT_EQ(book_->FindSession(cookie, kNow + SignInBook::kSessionTtl), std::nullopt);
  EXPECT_THAT(book_->DropExpired(kNow + SignInBook::kSessionTtl), IsOk());
  EXPECT_EQ(book_->session_count(), 0u);
}

TEST_F(SignInBookTest, ARestartForgetsNothing) {
  const std::string token = book_->CreateToken(kBob, kNow)->text;
  const std::string cookie = SignIn(kAnn);
  Reopen();
  EXPECT_EQ(book_->FindSession(cookie, kNow), kAnn);
  EXPECT_THAT(book_->Spend(token, kNow), IsOk());
}

TEST_F(SignInBookTest, WhoIsRemovedIsOutEverywhere) {
  const std::string first = SignIn(kAnn);
  const std::string second = SignIn(kAnn);
  const std::string token = book_->CreateToken(kAnn, kNow)->text;
  const std::string other = SignIn(kBob);
  ASSERT_THAT(book_->EndAllOf("ann"), IsOk());
  Reopen();
  EXPECT_EQ(book_->FindSession(first, kNow), std::nullopt);
  EXPECT_EQ(book_->FindSession(second, kNow), std::nullopt);
  EXPECT_THAT(book_->FindToken(token, kNow), HasCode(absl::StatusCode::kUnauthenticated));
  EXPECT_EQ(book_->FindSession(other, kNow), kBob);
}

// Whoever signs in over and over fills no disk.
TEST_F(SignInBookTest, TheOldestSessionMakesRoom) {
  const std::string oldest = SignIn(kAnn);
  std::string newest;
  for (size_t i = 1; i <= SignInBook::kSessionsPerPersonMax; ++i) {
    newest = SignIn(kAnn, kNow + absl::Minutes(static_cast<int>(i)));
  }
  EXPECT_EQ(book_->session_count(), SignInBook::kSessionsPerPersonMax);
  EXPECT_EQ(book_->FindSession(oldest, kNow), std::nullopt);
  EXPECT_EQ(book_->FindSession(newest, kNow), kAnn);
}

TEST_F(SignInBookTest, SigningOutTwiceIsNoError) {
  const std::string cookie = SignIn(kAnn);
  EXPECT_THAT(book_->EndSession(cookie), IsOk());
  EXPECT_THAT(book_->EndSession(cookie), IsOk());
  EXPECT_EQ(book_->FindSession(cookie, kNow), std::nullopt);
}

// What browsers send is anything.
TEST_F(SignInBookTest, OddSecretsAreUnknown) {
  for (const std::string& odd :
       {std::string(), std::string("x"), std::string(64, 'z'), std::string(65, 'a'),
        std::string(64, '\0'), std::string(1 << 20, 'a')}) {
    EXPECT_EQ(book_->FindSession(odd, kNow), std::nullopt);
    EXPECT_THAT(book_->Spend(odd, kNow), HasCode(absl::StatusCode::kUnauthenticated));
  }
}

TEST_F(SignInBookTest, TokensAreBounded) {
  for (size_t i = 0; i < SignInBook::kTokensMax; ++i) {
    ASSERT_THAT(book_->CreateToken(kAnn, kNow), IsOk());
  }
  EXPECT_THAT(book_->CreateToken(kAnn, kNow), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(book_->CreateToken(kAnn, kNow + SignInBook::kTokenTtl), IsOk());
}

}  // namespace
}  // namespace onefold::identity
