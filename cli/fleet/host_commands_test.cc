#include "cli/fleet/host_commands.h"

#include <nlohmann/json.hpp>

#include "cli/fleet/testing/verb_fixture.h"

namespace onefold {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HostCommandsTest : public VerbTest {
 protected:
  void AnswerHosts(const std::vector<v1::Host>& hosts) {
    v1::ListHostsResponse response;
    for (const v1::Host& host : hosts) *response.add_hosts() = host;
    client_.list_hosts.Answer(response);
  }
};

TEST_F(HostCommandsTest, ListGoesThroughAllPages) {
  v1::ListHostsResponse page;
  *page.add_hosts() = SampleHost("host-1", "nas1");
  page.set_next_page_token("more");
  client_.list_hosts.Answer(page);
  AnswerHosts({SampleHost("host-2", "nas2")});
  EXPECT_EQ(Run(ListHostsVerb(), {}), 0);
  EXPECT_THAT(console_.out, HasSubstr("nas1"));
  EXPECT_THAT(console_.out, HasSubstr("nas2"));
  ASSERT_THAT(client_.list_hosts.requests, SizeIs(2));
  EXPECT_EQ(client_.list_hosts.requests[1].page_token(), "more");
}

// A coordinator gone mad must not make us ask for ever.
TEST_F(HostCommandsTest, AListWithoutEndEnds) {
  v1::ListHostsResponse page;
  page.set_next_page_token("more");
  client_.list_hosts.Answer(page);
  EXPECT_EQ(Run(ListHostsVerb(), {}), 1);
}

TEST_F(HostCommandsTest, ListAsJson) {
  AnswerHosts({SampleHost("host-1", "nas1")});
  EXPECT_EQ(Run(ListHostsVerb(), {"--json"}), 0);
  EXPECT_EQ(json::parse(console_.out)["hosts"][0]["host_id"], "host-1");
}

TEST_F(HostCommandsTest, DrainAndResume) {
  v1::DrainHostResponse drained;
  *drained.mutable_host() = SampleHost("host-1", "nas1");
  client_.drain_host.Answer(drained);
  EXPECT_EQ(Run(DrainHostVerb(), {"nas1"}), 0);
  EXPECT_EQ(client_.drain_host.requests.at(0).host(), "nas1");
  EXPECT_EQ(Run(ResumeHostVerb(), {"nas1", "--json"}), 0);
  EXPECT_EQ(json::parse(console_.out)["done"], true);
  EXPECT_EQ(Run(DrainHostVerb(), {}), 1);
  EXPECT_THAT(console_.err, HasSubstr("onefold fleet drain --help"));
}

// A slip of the hand must not cost a certificate.
TEST_F(HostCommandsTest, ForgetDoesNothingWithoutYes) {
  AnswerHosts({SampleHost("host-1", "nas1"), SampleHost("host-2", "nas2")});
  EXPECT_EQ(Run(ForgetHostVerb(), {"nas1"}), 1);
  EXPECT_THAT(console_.out, HasSubstr("nas1 (host-1, 1 volume) would lose"));
  EXPECT_THAT(console_.err, HasSubstr("--yes"));
  EXPECT_EQ(Run(ForgetHostVerb(), {"host-2", "--dry-run"}), 0);
  EXPECT_EQ(Run(ForgetHostVerb(), {"nas1", "--dry-run", "--yes"}), 0);
  EXPECT_THAT(client_.forget_host.requests, IsEmpty());
  EXPECT_EQ(Run(ForgetHostVerb(), {"nas1", "--yes"}), 0);
  ASSERT_THAT(client_.forget_host.requests, SizeIs(1));
  EXPECT_EQ(client_.forget_host.requests[0].host(), "nas1");
}

TEST_F(HostCommandsTest, ForgetNamesWhatIsUnclear) {
  AnswerHosts({SampleHost("host-1", "nas"), SampleHost("host-2", "nas")});
  EXPECT_EQ(Run(ForgetHostVerb(), {"nas"}), 1);
  EXPECT_THAT(console_.err, HasSubstr("host-1 host-2"));
  EXPECT_EQ(Run(ForgetHostVerb(), {"nasx"}), 1);
  EXPECT_THAT(console_.err, HasSubstr("onefold fleet list"));
}

TEST_F(HostCommandsTest, TokenPrintsWhatToType) {
  v1::CreateJoinTokenResponse token;
  token.set_token("of1-abc");
  token.set_address("nas.example:7171");
  token.mutable_expire_time()->set_seconds(kSampleSeconds);
  client_.create_join_token.Answer(token);
  EXPECT_EQ(Run(CreateTokenVerb(), {"--ttl", "90m"}), 0);
  EXPECT_EQ(console_.out, "onefold fleet join of1-abc@nas.example:7171\n");
  EXPECT_THAT(console_.err, HasSubstr("2001-09-09T01:46:40Z"));
  EXPECT_EQ(client_.create_join_token.requests.at(0).ttl().seconds(), 5400);
  EXPECT_EQ(client_.create_join_token.requests.at(0).request_id(), "request-1");
}

// Without an address of its own, the coordinator is where we found it.
TEST_F(HostCommandsTest, TokenWithoutAnAddress) {
  v1::CreateJoinTokenResponse token;
  token.set_token("of1-abc");
  client_.create_join_token.Answer(token);
  EXPECT_EQ(Run(CreateTokenVerb(), {"--json"}), 0);
  EXPECT_EQ(json::parse(console_.out)["join"], "of1-abc@nas1:7171");
  EXPECT_EQ(console_.err, "");
}

TEST_F(HostCommandsTest, TokenForManyHosts) {
  client_.create_join_token.Answer({});
  EXPECT_EQ(Run(CreateTokenVerb(), {"--hosts", "20"}), 0);
  EXPECT_EQ(client_.create_join_token.requests.at(0).host_count_max(), 20);
  EXPECT_THAT(console_.err, HasSubstr("20 hosts"));
  for (const char* hosts : {"0", "1001", "all", "-1"}) {
    EXPECT_EQ(Run(CreateTokenVerb(), {"--hosts", hosts}), 1) << hosts;
  }
  EXPECT_EQ(client_.create_join_token.requests.size(), 1u);
}

TEST_F(HostCommandsTest, TokenRefusesOddSpans) {
  for (const char* ttl : {"0", "31d", "soon", "-1h"}) {
    EXPECT_EQ(Run(CreateTokenVerb(), {"--ttl", ttl}), 1) << ttl;
  }
  EXPECT_THAT(client_.create_join_token.requests, IsEmpty());
}

}  // namespace
}  // namespace onefold
