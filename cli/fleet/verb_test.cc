#include "cli/fleet/verb.h"

#include <nlohmann/json.hpp>

#include "cli/fleet/host_commands.h"
#include "cli/fleet/testing/verb_fixture.h"

namespace onefold {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(VerbTest, ConnectsToWhatWasSaid) {
  EXPECT_EQ(Run(ListHostsVerb(), {"--coordinator", "nas9", "--identity=me.pem", "--insecure"}), 0);
  EXPECT_EQ(connected_to_.coordinator, "nas9");
  EXPECT_EQ(connected_to_.identity_file, "me.pem");
  EXPECT_TRUE(connected_to_.insecure);
}

TEST_F(VerbTest, WrongArgumentsNeverReachTheCoordinator) {
  EXPECT_EQ(Run(ListHostsVerb(), {"--frobnicate"}), 1);
  EXPECT_THAT(console_.err,
              AllOf(HasSubstr("no option --frobnicate"), HasSubstr("onefold fleet list --help")));
  EXPECT_EQ(Run(ListHostsVerb(), {"x"}), 1);
  EXPECT_THAT(client_.list_hosts.requests, IsEmpty());
}

// A program reads our output: it gets an object whatever happens, and nothing else.
TEST_F(VerbTest, EveryFailureIsAnObjectToo) {
  EXPECT_EQ(Run(ListHostsVerb(), {"--json", "--frobnicate"}), 1);
  EXPECT_EQ(json::parse(console_.out)["code"], "INVALID_ARGUMENT");
  connect_status_ = absl::FailedPreconditionError("no certificate");
  EXPECT_EQ(Run(ListHostsVerb(), {"--json"}), 1);
  EXPECT_EQ(json::parse(console_.out)["message"], "no certificate");
  connect_status_ = absl::OkStatus();
  client_.list_hosts.Fail(absl::UnavailableError("refused"));
  EXPECT_EQ(Run(ListHostsVerb(), {"--json"}), 1);
  EXPECT_EQ(json::parse(console_.out)["code"], "UNAVAILABLE");
}

// What did not arrive was not done: `onefold run list >/dev/full`.
TEST_F(VerbTest, OutputThatIsLostIsAFailure) {
  console_.printable = false;
  EXPECT_EQ(Run(ListHostsVerb(), {}), 1);
}

TEST_F(VerbTest, ErrorsSayWhatToDo) {
  EXPECT_THAT(
      ExplainError(absl::UnavailableError("x"), "nas1:7171"),
      AllOf(HasSubstr("nas1:7171"), HasSubstr("systemctl status"), HasSubstr("--coordinator")));
  EXPECT_THAT(ExplainError(absl::UnauthenticatedError("x"), "a"), HasSubstr("fleet user add"));
  EXPECT_THAT(ExplainError(absl::DeadlineExceededError("x"), "a"), HasSubstr("again is safe"));
  EXPECT_THAT(ExplainError(absl::UnimplementedError("x"), "a"), HasSubstr("older"));
  EXPECT_THAT(ExplainError(absl::ResourceExhaustedError("disk full"), "a"),
              AllOf(HasSubstr("disk full"), HasSubstr("Nothing was changed")));
  EXPECT_THAT(ExplainError(absl::NotFoundError("no \x1b[2J"), "a"), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace onefold
