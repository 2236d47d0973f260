#include "worker/identity/certificate_keeper.h"

#include <string>

#include "common/identity/signing.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using identity::CertificateRequest;
using identity::KeyAndCertificate;
using identity::MakeCertificateRequest;
using identity::PrivateKey;

const absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);
constexpr absl::Duration kDay = absl::Hours(24);
constexpr absl::Duration kYear = absl::Hours(24 * 365);
using Outcome = CertificateKeeper::Outcome;

class CertificateKeeperTest : public ::testing::Test {
 protected:
  CertificateKeeperTest() {
    const PrivateKey key = *PrivateKey::Generate();
    EXPECT_THAT(SaveHostIdentity(temp_.path(), key, Sign(*MakeCertificateRequest(key), kStart)),
                IsOk());
  }
  HostCertificate Sign(const std::string& request_pem, absl::Time now) {
    const auto request = *CertificateRequest::FromPem(request_pem);
    return {.certificate_pem = SignHost(authority_, request, "abc", kYear, now)->ToPem(),
            .authority_pem = authority_.certificate.ToPem()};
  }
  // Signs, or fails if the test says so.
  absl::StatusOr<HostCertificate> Answer(const std::string& request_pem) {
    ++asked_;
    if (!answer_.ok()) return answer_;
    return Sign(request_pem, now_);
  }
  absl::StatusOr<Outcome> At(absl::Duration after) {
    now_ = kStart + after;
    return keeper_.RenewIfDue(now_);
  }

  TempDir temp_;
  const KeyAndCertificate authority_ = *identity::MakeAuthority("fleet", 10 * kYear, kStart);
  absl::Time now_;
  absl::Status answer_;
  int asked_ = 0;
  CertificateKeeper keeper_{temp_.path(),
                            [this](const std::string& request) { return Answer(request); }};
};

TEST_F(CertificateKeeperTest, RenewsAtHalfTime) {
  EXPECT_THAT(At(absl::ZeroDuration()), IsOkAndHolds(Outcome::kNotDue));
  EXPECT_THAT(At(180 * kDay), IsOkAndHolds(Outcome::kNotDue));
  EXPECT_EQ(asked_, 0);
  EXPECT_THAT(At(184 * kDay), IsOkAndHolds(Outcome::kRenewed));
  EXPECT_EQ(LoadHostIdentity(temp_.path())->not_after, kStart + 184 * kDay + kYear);
  EXPECT_EQ(LoadHostIdentity(temp_.path())->host_id, "abc");
  EXPECT_THAT(At(185 * kDay), IsOkAndHolds(Outcome::kNotDue));
  EXPECT_EQ(asked_, 1);
}

// A coordinator that is down must not be asked with every call, nor never again.
TEST_F(CertificateKeeperTest, FailureIsRetriedInAWhile) {
  answer_ = absl::UnavailableError("down");
  EXPECT_THAT(At(200 * kDay), HasCode(absl::StatusCode::kUnavailable));
  EXPECT_THAT(At(200 * kDay + absl::Minutes(59)), IsOkAndHolds(Outcome::kNotDue));
  EXPECT_EQ(asked_, 1);
  answer_ = absl::OkStatus();
  EXPECT_THAT(At(200 * kDay + absl::Hours(1)), IsOkAndHolds(Outcome::kRenewed));
}

// A clock that was far ahead for a while must not end renewals.
TEST_F(CertificateKeeperTest, ClockSetBack) {
  EXPECT_THAT(At(5 * kYear), IsOkAndHolds(Outcome::kRenewed));
  EXPECT_THAT(At(kDay), IsOkAndHolds(Outcome::kNotDue));
  EXPECT_THAT(At(184 * kDay), IsOkAndHolds(Outcome::kNotDue));
}

TEST_F(CertificateKeeperTest, NonsenseIsNotKept) {
  CertificateKeeper keeper(temp_.path(), [](const std::string&) -> absl::StatusOr<HostCertificate> {
    return HostCertificate{.certificate_pem = "x", .authority_pem = "y"};
  });
  EXPECT_THAT(keeper.RenewIfDue(kStart + 200 * kDay),
              HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(LoadHostIdentity(temp_.path())->not_after, kStart + kYear);
}

}  // namespace
}  // namespace onefold
