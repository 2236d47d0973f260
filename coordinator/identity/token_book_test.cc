#include "coordinator/identity/token_book.h"

#include <set>
#include <string>

#include "common/identity/join_token.h"
#include "common/testing/status_matchers.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::identity {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

class TokenBookTest : public ::testing::Test {
 protected:
  TokenBookTest() { Reopen(); }
  void Reopen() { book_ = *TokenBook::Open(state_, "key"); }
  std::string Create(absl::string_view request_id = "", absl::Time now = kNow) {
    return book_->Create(absl::Hours(1), request_id, 1, now)->secret;
  }

  index::MemoryStore state_;
  std::unique_ptr<TokenBook> book_;
};

TEST_F(TokenBookTest, LetsOneHostInOnce) {
  const std::string secret = Create();
  EXPECT_EQ(secret.size(), kTokenSecretBytes);
  const auto host = book_->Spend(secret, "key a", kNow);
  ASSERT_THAT(host, IsOk());
  EXPECT_EQ(host->size(), 36u);
  EXPECT_THAT(book_->Spend(secret, "key b", kNow), HasCode(absl::StatusCode::kUnauthenticated));
}

// The answer may have been lost: the same key asks again and becomes the same host.
TEST_F(TokenBookTest, SameKeyMayAskAgain) {
  const std::string secret = Create();
  const std::string host = *book_->Spend(secret, "key a", kNow);
  EXPECT_THAT(book_->Spend(secret, "key a", kNow + absl::Minutes(59)), IsOkAndHolds(host));
  EXPECT_THAT(book_->Spend(secret, "key a", kNow + absl::Hours(1)),
              HasCode(absl::StatusCode::kUnauthenticated));
}

// For hosts that are made by a machine, all alike.
TEST_F(TokenBookTest, LetsAsManyHostsInAsWasSaid) {
  const std::string secret = book_->Create(absl::Hours(1), "", 3, kNow)->secret;
  const std::string first = *book_->Spend(secret, "key a", kNow);
  const std::string second = *book_->Spend(secret, "key b", kNow);
  Reopen();
  const std::string third = *book_->Spend(secret, "key c", kNow);
  EXPECT_EQ(std::set<std::string>({first, second, third}).size(), 3u);
  EXPECT_THAT(book_->Spend(secret, "key d", kNow), HasCode(absl::StatusCode::kUnauthenticated));
  EXPECT_THAT(book_->Spend(secret, "key a", kNow), IsOkAndHolds(first));
  EXPECT_THAT(book_->Spend(secret, "key c", kNow), IsOkAndHolds(third));
  for (const int hosts : {-1, TokenBook::kHostsMax + 1}) {
    EXPECT_THAT(book_->Create(absl::Hours(1), "", hosts, kNow),
                HasCode(absl::StatusCode::kInvalidArgument));
  }
}

TEST_F(TokenBookTest, ARestartForgetsNothing) {
  const std::string unused = Create();
  const std::string used = Create();
  const std::string host = *book_->Spend(used, "key a", kNow);
  Reopen();
  EXPECT_THAT(book_->Spend(unused, "key b", kNow), IsOk());
  EXPECT_THAT(book_->Spend(used, "key a", kNow), IsOkAndHolds(host));
  EXPECT_THAT(book_->Spend(used, "key c", kNow), HasCode(absl::StatusCode::kUnauthenticated));
}

TEST_F(TokenBookTest, TooOldAndUnknownLookAlike) {
  const std::string secret = Create();
  const auto old = book_->Spend(secret, "key", kNow + absl::Hours(2)).status();
  const auto unknown = book_->Spend(std::string(16, 'x'), "key", kNow).status();
  EXPECT_EQ(old, unknown);
  EXPECT_THAT(old, HasCode(absl::StatusCode::kUnauthenticated));
}

TEST_F(TokenBookTest, RepeatedRequestGivesTheSameToken) {
  const std::string secret = Create("request");
  Reopen();
  EXPECT_EQ(Create("request"), secret);
  EXPECT_NE(Create("other"), secret);
  EXPECT_NE(Create(), Create());
  EXPECT_NE(Create("request", kNow + absl::Hours(1)), secret);
}

TEST_F(TokenBookTest, UsedTokenIsNotGivenOutAgain) {
  const std::string secret = Create("request");
  ASSERT_THAT(book_->Spend(secret, "key", kNow), IsOk());
  EXPECT_NE(Create("request"), secret);
}

TEST_F(TokenBookTest, TheStoreHoldsNoSecret) {
  const std::string secret = Create();
  for (const auto& [key, value] : state_.rows()) {
    EXPECT_THAT(key, Not(HasSubstr(secret)));
    EXPECT_THAT(value, Not(HasSubstr(secret)));
  }
}

TEST_F(TokenBookTest, Bounds) {
  EXPECT_THAT(book_->Create(absl::Hours(24 * 30) + absl::Seconds(1), "", 1, kNow),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(book_->Create(-absl::Seconds(1), "", 1, kNow),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(book_->Create(absl::Hours(1), std::string(65, 'x'), 1, kNow),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(book_->Create(absl::ZeroDuration(), "", 1, kNow)->expire_time, kNow + absl::Hours(1));
  while (book_->size() < TokenBook::kTokensMax) Create();
  EXPECT_THAT(book_->Create(absl::Hours(1), "", 1, kNow),
              HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(book_->Create(absl::Hours(1), "", 1, kNow + absl::Hours(1)), IsOk());
  EXPECT_EQ(book_->size(), 1u);
  EXPECT_EQ(state_.rows().size(), 1u);
}

// With a full disk nobody may be let in by a token that would come back to life at the next start.
TEST_F(TokenBookTest, FullDiskSpendsNothing) {
  const std::string secret = Create();
  state_.FailWrites(absl::ResourceExhaustedError("full"));
  EXPECT_THAT(book_->Spend(secret, "key a", kNow), HasCode(absl::StatusCode::kResourceExhausted));
  state_.FailWrites(absl::OkStatus());
  EXPECT_THAT(book_->Spend(secret, "key b", kNow), IsOk());
}

TEST_F(TokenBookTest, DamageIsNoticed) {
  index::RowBatch batch;
  batch.Put("It123", "\xff\xff");
  ASSERT_THAT(state_.Write(batch), IsOk());
  EXPECT_THAT(TokenBook::Open(state_, "key"), HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace onefold::identity
