#include "cli/fleet/user_bundle.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;

std::string Pem(const std::string& label, const std::string& content) {
  return "-----BEGIN " + label + "-----\n" + content + "\n-----END " + label + "-----\n";
}

UserBundle Bundle() {
  UserBundle bundle;
  bundle.name = "alice";
  bundle.role = "operator";
  bundle.coordinator = "nas1:7171";
  bundle.expires = "2027-01-01T00:00:00Z";
  bundle.key_pem = Pem("PRIVATE KEY", "a2V5");
  bundle.certificate_pem = Pem("CERTIFICATE", "YWxpY2U=");
  bundle.authority_pem = Pem("CERTIFICATE", "b2xk") + Pem("CERTIFICATE", "bmV3");
  return bundle;
}

std::string Text() { return *FormatUserBundle(Bundle()); }

TEST(UserBundleTest, WhatIsWrittenIsRead) {
  const auto read = ParseUserBundle(Text());
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->name, "alice");
  EXPECT_EQ(read->role, "operator");
  EXPECT_EQ(read->coordinator, "nas1:7171");
  EXPECT_EQ(read->key_pem, Bundle().key_pem);
  EXPECT_EQ(read->certificate_pem, Bundle().certificate_pem);
  EXPECT_EQ(read->authority_pem, Bundle().authority_pem);
}

// A later version may say more, and mail programs change the ends of lines.
TEST(UserBundleTest, UnknownLinesAndCarriageReturns) {
  std::string text = Text();
  text.insert(text.find("name:"), "colour: blue\n");
  std::string with_returns;
  for (const char c : text) with_returns += c == '\n' ? "\r\n" : std::string(1, c);
  const auto read = ParseUserBundle(with_returns);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->name, "alice");
  EXPECT_EQ(read->certificate_pem, Bundle().certificate_pem);
}

TEST(UserBundleTest, SaysWhatIsMissing) {
  EXPECT_THAT(ParseUserBundle("").status().message(), HasSubstr("no bundle"));
  EXPECT_THAT(ParseUserBundle(Pem("CERTIFICATE", "x")).status().message(), HasSubstr("no bundle"));
  const std::string head = "onefold user bundle 1\n";
  EXPECT_THAT(ParseUserBundle(head).status().message(), HasSubstr("key is missing"));
  EXPECT_THAT(
      ParseUserBundle(head + Pem("PRIVATE KEY", "x") + Pem("CERTIFICATE", "x")).status().message(),
      HasSubstr("certificate is missing"));
  EXPECT_THAT(ParseUserBundle(Text().substr(0, Text().size() - 10)).status().message(),
              HasSubstr("damaged"));
}

// The answer of a coordinator that is none may hold anything.
TEST(UserBundleTest, OnlyPemIsWritten) {
  UserBundle bundle = Bundle();
  bundle.authority_pem = "hello";
  EXPECT_THAT(FormatUserBundle(bundle), HasCode(absl::StatusCode::kFailedPrecondition));
  bundle = Bundle();
  bundle.certificate_pem = "";
  EXPECT_THAT(FormatUserBundle(bundle), HasCode(absl::StatusCode::kFailedPrecondition));
  bundle = Bundle();
  bundle.coordinator = "a\nrole: admin";
  EXPECT_THAT(FormatUserBundle(bundle), HasCode(absl::StatusCode::kFailedPrecondition));
}

class UserBundleFileTest : public ::testing::Test {
 protected:
  TempDir folder_;
  const std::string path_ = folder_.path() + "/alice.pem";
};

// Nobody else may read a key, not even for a moment.
TEST_F(UserBundleFileTest, IsForItsOwnerOnly) {
  const mode_t before = umask(0);
  auto file = UserBundleFile::Create(path_);
  umask(before);
  ASSERT_THAT(file, IsOk());
  struct stat status = {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_THAT(file->Write(Text()), IsOk());
  EXPECT_THAT(ReadUserBundle(path_), IsOk());
}

TEST_F(UserBundleFileTest, NothingIsOverwritten) {
  std::ofstream(path_) << "precious";
  EXPECT_THAT(UserBundleFile::Create(path_), HasCode(absl::StatusCode::kAlreadyExists));
}

// Without a certificate there is no file left that looks like one.
TEST_F(UserBundleFileTest, IsRemovedUnlessWritten) {
  { ASSERT_THAT(UserBundleFile::Create(path_), IsOk()); }
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
  {
    auto file = UserBundleFile::Create(path_);
    ASSERT_THAT(file, IsOk());
    ASSERT_THAT(file->Write(Text()), IsOk());
  }
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

TEST_F(UserBundleFileTest, OneThatOthersMayReadIsNotUsed) {
  std::ofstream(path_) << Text();
  chmod(path_.c_str(), 0640);
  const auto read = ReadUserBundle(path_);
  EXPECT_THAT(read, HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(read.status().message(), HasSubstr("chmod 600"));
}

TEST_F(UserBundleFileTest, WhatIsNoFileIsNotRead) {
  EXPECT_THAT(ReadUserBundle(path_), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(ReadUserBundle(folder_.path()), HasCode(absl::StatusCode::kFailedPrecondition));
  std::ofstream(path_) << std::string(100'000, 'x');
  chmod(path_.c_str(), 0600);
  EXPECT_THAT(ReadUserBundle(path_), HasCode(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace onefold
