#include "coordinator/identity/authority.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/identity/private_file.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::identity {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
constexpr absl::Duration kDay = absl::Hours(24);

class AuthorityTest : public ::testing::Test {
 protected:
  std::unique_ptr<Authority> Open(absl::Time now = kNow) {
    auto authority = Authority::Open(directory_, {"nas.example", "bad name"}, now);
    EXPECT_THAT(authority, IsOk());
    return *std::move(authority);
  }
  std::string Read(const std::string& name) {
    return ReadPrivateFile(directory_ + "/" + name)->value_or("");
  }
  Certificate Server() { return *Certificate::FromPem(Read("server.pem")); }
  std::vector<Certificate> Trusted() { return *ParseCertificates(Read("trusted.pem")); }

  TempDir temp_;
  const std::string directory_ = temp_.path() + "/identity";
  const CertificateRequest request_ =
      *CertificateRequest::FromPem(*MakeCertificateRequest(*PrivateKey::Generate()));
};

TEST_F(AuthorityTest, FirstStartMakesPrivateFiles) {
  const mode_t before = umask(0);
  Open();
  umask(before);
  struct stat info = {};
  ASSERT_EQ(stat(directory_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    ASSERT_EQ(stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600u) << entry.path();
    ++count;
  }
  EXPECT_EQ(count, 3);
}

TEST_F(AuthorityTest, LaterStartsKeepIt) {
  const std::string fingerprint = Open()->fingerprint();
  const std::string server = Read("server.pem");
  EXPECT_EQ(Open(kNow + kDay)->fingerprint(), fingerprint);
  EXPECT_EQ(Read("server.pem"), server);
  EXPECT_EQ(Trusted().front().fingerprint(), fingerprint);
}

TEST_F(AuthorityTest, ServerShowsKeyNamesAndAuthority) {
  const std::string fingerprint = Open()->fingerprint();
  EXPECT_EQ(PrivateKey::FromPem(Read("server.pem"))->Fingerprint(), Server().key_fingerprint());
  EXPECT_THAT(Server().subject_names(), ::testing::ElementsAre("onefold-coordinator", "nas.example",
                                                               "localhost", "127.0.0.1", "::1"));
  const auto chain = *ParseCertificates(Read("server.pem"));
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(chain[1].fingerprint(), fingerprint);
}

TEST_F(AuthorityTest, ServerCertificateIsRenewedInTime) {
  const auto authority = Open();
  const std::string first = Server().serial();
  ASSERT_THAT(authority->Maintain(kNow + 59 * kDay), IsOk());
  EXPECT_EQ(Server().serial(), first);
  ASSERT_THAT(authority->Maintain(kNow + 61 * kDay), IsOk());
  EXPECT_NE(Server().serial(), first);
  EXPECT_EQ(Server().not_after(), kNow + (61 + 90) * kDay);
}

TEST_F(AuthorityTest, NewNamesMakeANewServerCertificate) {
  Open();
  const std::string first = Server().serial();
  ASSERT_THAT(Authority::Open(directory_, {"other.example"}, kNow), IsOk());
  EXPECT_NE(Server().serial(), first);
}

// Whatever of the derived files is torn or lost comes back; the authority itself never changes.
TEST_F(AuthorityTest, DerivedFilesAreMadeAgain) {
  const std::string fingerprint = Open()->fingerprint();
  ASSERT_THAT(WritePrivateFile(directory_ + "/server.pem", "torn"), IsOk());
  std::filesystem::remove(directory_ + "/trusted.pem");
  EXPECT_EQ(Open()->fingerprint(), fingerprint);
  EXPECT_TRUE(Server().IsSignedBy(Trusted().front()));
}

TEST_F(AuthorityTest, LostAuthorityIsNotReplacedSilently) {
  Open();
  std::filesystem::remove(directory_ + "/authority.pem");
  EXPECT_THAT(Authority::Open(directory_, {}, kNow),
              HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_F(AuthorityTest, DamagedOrReadableAuthorityIsRefused) {
  Open();
  const std::string path = directory_ + "/authority.pem";
  const std::string good = Read("authority.pem");
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_THAT(Authority::Open(directory_, {}, kNow),
              HasCode(absl::StatusCode::kFailedPrecondition));
  const std::string other_key = PrivateKey::Generate()->ToPem();
  for (const std::string& bad :
       {std::string(), good.substr(0, good.size() / 2), good.substr(0, good.size() - 40),
        other_key + good.substr(good.find("-----BEGIN CERT"))}) {
    ASSERT_THAT(WritePrivateFile(path, bad), IsOk());
    EXPECT_THAT(Authority::Open(directory_, {}, kNow), HasCode(absl::StatusCode::kInvalidArgument));
  }
}

// While the authority changes, what either signed counts, and old hosts find the server.
TEST_F(AuthorityTest, Rotation) {
  auto authority = Open();
  const Certificate old_host = *authority->SignHost(request_, "a", kNow);
  const Certificate old_authority = Trusted().front();
  ASSERT_THAT(authority->Rotate(/*distrust=*/false, kNow), IsOk());
  const Certificate new_host = *authority->SignHost(request_, "b", kNow);

  authority = Open(kNow + kDay);
  const std::vector<Certificate> trusted = Trusted();
  ASSERT_EQ(trusted.size(), 2u);
  EXPECT_EQ(trusted[0].fingerprint(), authority->fingerprint());
  EXPECT_TRUE(new_host.IsSignedBy(trusted[0]));
  EXPECT_EQ(trusted[1].fingerprint(), old_authority.fingerprint());
  EXPECT_TRUE(old_host.IsSignedBy(trusted[1]));

  const auto chain = *ParseCertificates(Read("server.pem"));
  ASSERT_EQ(chain.size(), 4u);
  EXPECT_TRUE(chain[0].IsSignedBy(chain[1]));
  EXPECT_TRUE(chain[1].IsSignedBy(old_authority));                 // the bridge
  EXPECT_EQ(chain[3].fingerprint(), old_authority.fingerprint());  // for older tokens

  // A year later everything the old one has signed is over.
  ASSERT_THAT(authority->Maintain(old_host.not_after()), IsOk());
  EXPECT_EQ(Trusted().size(), 2u);
  ASSERT_THAT(authority->Maintain(old_host.not_after() + 2 * kDay), IsOk());
  EXPECT_EQ(Trusted().size(), 1u);
  EXPECT_EQ(ParseCertificates(Read("server.pem"))->size(), 2u);
}

TEST_F(AuthorityTest, SecondRotationKeepsAllBridges) {
  auto authority = Open();
  ASSERT_THAT(authority->Rotate(false, kNow), IsOk());
  ASSERT_THAT(authority->Rotate(false, kNow), IsOk());
  authority = Open();
  const std::vector<Certificate> trusted = Trusted();
  ASSERT_EQ(trusted.size(), 3u);
  const auto chain = *ParseCertificates(Read("server.pem"));
  ASSERT_EQ(chain.size(), 6u);
  EXPECT_TRUE(chain[1].IsSignedBy(trusted[1]));
  EXPECT_TRUE(chain[2].IsSignedBy(trusted[2]));
  ASSERT_THAT(authority->Rotate(false, kNow), IsOk());
  EXPECT_THAT(authority->Rotate(false, kNow), HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_F(AuthorityTest, DistrustDropsTheOldAtOnce) {
  const auto authority = Open();
  const std::string old = authority->fingerprint();
  ASSERT_THAT(authority->Rotate(/*distrust=*/true, kNow), IsOk());
  EXPECT_NE(authority->fingerprint(), old);
  ASSERT_EQ(Trusted().size(), 1u);
  EXPECT_EQ(Trusted()[0].fingerprint(), authority->fingerprint());
}

TEST_F(AuthorityTest, ChangesByItselfLongBeforeItsEnd) {
  const auto authority = Open();
  const std::string old = authority->fingerprint();
  const absl::Time end = kNow + Authority::kAuthorityLifetime;
  ASSERT_THAT(authority->Maintain(end - Authority::kAuthorityRenewal - kDay), IsOk());
  EXPECT_EQ(authority->fingerprint(), old);
  ASSERT_THAT(authority->Maintain(end - Authority::kAuthorityRenewal + kDay), IsOk());
  EXPECT_NE(authority->fingerprint(), old);
  EXPECT_EQ(Trusted().size(), 2u);
}

}  // namespace
}  // namespace onefold::identity
