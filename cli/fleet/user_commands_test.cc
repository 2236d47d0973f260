#include "cli/fleet/user_commands.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/fleet/testing/verb_fixture.h"
#include "cli/fleet/user_bundle.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace onefold {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class AddUserTest : public VerbTest {
 protected:
  void AnswerUser() {
    v1::CreateUserResponse user;
    user.set_certificate_pem(Pem("CERTIFICATE"));
    user.set_authority_pem(Pem("CERTIFICATE"));
    user.mutable_expire_time()->set_seconds(kSampleSeconds);
    client_.create_user.Answer(user);
  }

  TempDir folder_;
  const std::string path_ = folder_.path() + "/alice.pem";
};

TEST_F(AddUserTest, WritesABundle) {
  AnswerUser();
  EXPECT_EQ(Run(AddUserVerb(), {"alice", "--role", "operator", "--output", path_}), 0);
  EXPECT_EQ(console_.out, path_ + "\n");
  const auto bundle = ReadUserBundle(path_);
  ASSERT_THAT(bundle, IsOk());
  EXPECT_EQ(bundle->name, "alice");
  EXPECT_EQ(bundle->coordinator, "nas1:7171");
  const v1::CreateUserRequest& request = client_.create_user.requests.at(0);
  EXPECT_EQ(request.role(), v1::USER_ROLE_OPERATOR);
  EXPECT_EQ(request.certificate_request_pem(), Pem("CERTIFICATE REQUEST"));
  // The key stays here.
  EXPECT_THAT(request.DebugString(), Not(HasSubstr("PRIVATE")));
}

// A file that is there already is found out before an earlier certificate is revoked for nothing.
TEST_F(AddUserTest, NothingIsAskedForThatCannotBeKept) {
  AnswerUser();
  EXPECT_EQ(Run(AddUserVerb(), {"alice", "--role", "admin", "--output", path_}), 0);
  EXPECT_EQ(Run(AddUserVerb(), {"alice", "--role", "admin", "--output", path_}), 1);
  EXPECT_THAT(console_.err, HasSubstr("exists"));
  EXPECT_EQ(Run(AddUserVerb(), {"alice", "--role", "admin", "--output", "/nonexistent/a"}), 1);
  EXPECT_EQ(Run(AddUserVerb(), {"alice"}), 1);
  EXPECT_EQ(Run(AddUserVerb(), {"alice", "--role", "root"}), 1);
  EXPECT_EQ(Run(AddUserVerb(), {"al/ice", "--role", "admin"}), 1);
  EXPECT_EQ(Run(AddUserVerb(), {"alice", "--role", "admin", "--address", "a b"}), 1);
  EXPECT_THAT(client_.create_user.requests, SizeIs(1));
}

TEST_F(AddUserTest, ShowsTheWayToTheWebPage) {
  AnswerUser();
  v1::CreateSignInResponse sign_in;
  sign_in.set_token("abc");
  sign_in.set_page_address("http://127.0.0.1:7180");
  client_.create_sign_in.Answer(sign_in);
  EXPECT_EQ(Run(AddUserVerb(), {"alice", "--role", "viewer", "--output", path_}), 0);
  EXPECT_THAT(console_.err, HasSubstr("http://127.0.0.1:7180/#/sign-in/abc"));
  EXPECT_EQ(Run(AddUserVerb(), {"bob", "--role", "viewer", "--web"}), 0);
  EXPECT_THAT(console_.out, HasSubstr("http://127.0.0.1:7180/#/sign-in/abc\n"));
  EXPECT_EQ(client_.create_sign_in.requests.at(1).name(), "bob");
}

TEST_F(AddUserTest, NoFileIsLeftWhenItFails) {
  client_.create_user.Fail(absl::PermissionDeniedError("user:bob is no admin"));
  EXPECT_EQ(Run(AddUserVerb(), {"alice", "--role", "admin", "--output", path_}), 1);
  EXPECT_THAT(console_.err, HasSubstr("not allowed"));
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(AddUserTest, InstallsOnesOwn) {
  AnswerUser();
  setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
  EXPECT_EQ(Run(AddUserVerb(), {"me", "--role", "admin", "--install", "--address", "nas9"}), 0);
  const auto bundle = ReadUserBundle(folder_.path() + "/onefold/user.pem");
  unsetenv("XDG_CONFIG_HOME");
  ASSERT_THAT(bundle, IsOk());
  EXPECT_EQ(bundle->coordinator, "nas9:7171");
}

class RemoveUserTest : public VerbTest {
 protected:
  RemoveUserTest() {
    ann_.set_name("ann");
    ann_.set_role(v1::USER_ROLE_OPERATOR);
    ann_.mutable_certificate_expire_time()->set_seconds(kSampleSeconds);
    v1::ListUsersResponse users;
    *users.add_users() = ann_;
    client_.list_users.Answer(users);
  }
  v1::User ann_;
};

TEST_F(RemoveUserTest, ListsPeople) {
  EXPECT_EQ(Run(ListUsersVerb(), {}), 0);
  EXPECT_THAT(console_.out, HasSubstr("ann"));
  EXPECT_THAT(console_.out, HasSubstr("operator"));
}

// What cannot be taken back is shown first.
TEST_F(RemoveUserTest, IsShownBeforeItIsDone) {
  EXPECT_EQ(Run(RemoveUserVerb(), {"ann"}), 1);
  EXPECT_THAT(console_.out, HasSubstr("would be revoked"));
  EXPECT_THAT(client_.remove_user.requests, IsEmpty());
  v1::RemoveUserResponse removed;
  *removed.mutable_user() = ann_;
  client_.remove_user.Answer(removed);
  console_.out.clear();
  EXPECT_EQ(Run(RemoveUserVerb(), {"ann", "--yes", "--json"}), 0);
  const json answer = json::parse(console_.out);
  EXPECT_EQ(answer["removed"], true);
  EXPECT_EQ(answer["user"]["role"], "operator");
  EXPECT_EQ(client_.remove_user.requests.at(0).name(), "ann");
}

TEST_F(RemoveUserTest, NobodyOfThatName) {
  EXPECT_EQ(Run(RemoveUserVerb(), {"bob", "--dry-run"}), 1);
  EXPECT_THAT(console_.err, HasSubstr("fleet user list"));
}

}  // namespace
}  // namespace onefold
