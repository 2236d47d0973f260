#include "coordinator/fleet/policy.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::fleet {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

Policy Make(absl::string_view yaml) {
  absl::StatusOr<std::vector<Policy>> policies = ParsePolicies(yaml, absl::UTCTimeZone());
  if (!policies.ok()) ADD_FAILURE() << policies.status();
  CHECK(policies.ok());
  return policies->front();
}

std::string Error(absl::string_view yaml) {
  const absl::Status status = ParsePolicies(yaml, absl::UTCTimeZone()).status();
  return status.ok() ? "accepted" : std::string(status.message());
}

constexpr absl::string_view kFull = R"(name: nightly
select:
  - "host=nas1,label=data"
  - "label:site=berlin"
roots:
  - /srv/data
  - ./home
excludes:
  - "*.iso"
min_size: 16KiB
max_size: 100GiB
snapshots: skip
match: extents
schedule: "30 2 * * sat"
time_zone: Europe/Berlin
window:
  - "mon-fri 22:00-06:00"
  - "sat,sun 00:00-24:00"
jitter: 15m
priority: -5
throttle:
  threads: 2
  read_per_second: 50MiB
  operations_per_second: 500
  load: 4.5
  latency: 20ms
at_once:
  hosts: 4
  group: site
  per_group: 1
)";

TEST(PolicyTest, EverythingIsRead) {
  const Policy policy = Make(kFull);
  EXPECT_EQ(policy.name, "nightly");
  EXPECT_THAT(policy.select, SizeIs(2));
  EXPECT_EQ(policy.scope.roots(1), "./home");
  EXPECT_EQ(policy.scope.min_file_bytes(), 16384);
  EXPECT_TRUE(policy.scope.skip_readonly_subvolumes());
  EXPECT_TRUE(policy.scope.match_extents_only());
  EXPECT_EQ(policy.schedule->zone().name(), "Europe/Berlin");
  EXPECT_THAT(policy.windows, SizeIs(2));
  EXPECT_EQ(policy.jitter, absl::Minutes(15));
  EXPECT_EQ(policy.priority, -5);
  EXPECT_EQ(policy.throttle.read_bytes_per_second(), 50 << 20);
  EXPECT_EQ(policy.throttle.device_latency_max().nanos(), 20'000'000);
  EXPECT_EQ(policy.at_once.per_group, 1);
}

// What is stored, shown and compared is the canonical form: it must mean the same.
TEST(PolicyTest, CanonicalFormComesBack) {
  EXPECT_EQ(CanonicalYaml(Make(kFull)), std::string(kFull));
  const std::string small = CanonicalYaml(Make("{select: [all], name: x, priority: 0}"));
  EXPECT_EQ(small, "name: x\nselect: all\n");
  EXPECT_EQ(CanonicalYaml(Make(small)), small);
}

TEST(PolicyTest, ErrorsNameLineKeyAndRemedy) {
  EXPECT_THAT(Error("name: x\nselect: all\nwindw: 22:00-06:00\n"),
              HasSubstr("line 3: \"windw\" is no key here; there are name, select"));
  EXPECT_THAT(Error("name: x\nselect: all\nschedule: 0 25 * * *\n"),
              HasSubstr("line 3: schedule: hour \"25\""));
  EXPECT_THAT(Error("name: x\nselect: all\nthrottle:\n  threads: 2\n  speed: 3\n"),
              HasSubstr("line 5: \"speed\" is no key here; there are threads"));
  EXPECT_THAT(Error("name: x\nselect: all\nthrottle:\n  threads: many\n"),
              HasSubstr("line 4: threads: \"many\" must be a whole number"));
  EXPECT_THAT(Error("name: x\nselect: all\nthrottle: fast\n"), HasSubstr("line 3"));
  EXPECT_THAT(Error("name: x\nselect: some\n"), HasSubstr("line 2: select: \"some\" selects"));
  EXPECT_THAT(Error("name: Nightly Run\nselect: all\n"), HasSubstr("line 1: name"));
  EXPECT_THAT(Error("name: x\n"), HasSubstr("select: is missing"));
  EXPECT_THAT(Error("select: all\n"), HasSubstr("name: is missing"));
  EXPECT_THAT(Error("name: x\nselect: all\nroots: [data]\n"), HasSubstr("absolute path"));
  EXPECT_THAT(Error("name: x\nselect: all\nroots: [/a/../b]\n"), HasSubstr("absolute path"));
  EXPECT_THAT(Error("name: x\nselect: all\nroots: []\n"), HasSubstr("line 3: roots"));
  EXPECT_THAT(Error("name: x\nselect: all\ntime_zone: Europe/Bärlin\n"), HasSubstr("time zone"));
  EXPECT_THAT(Error("name: x\nselect: all\ntime_zone: ../../etc/passwd\n"), HasSubstr("time zone"));
  EXPECT_THAT(Error("name: x\nselect: all\nmin_size: 2G\nmax_size: 1G\n"),
              HasSubstr("line 3: min_size"));
  EXPECT_THAT(Error("name: x\nselect: all\nat_once:\n  group: site\n"), HasSubstr("go together"));
  EXPECT_THAT(Error("name: x\nselect: all\njitter: 5m\n"), HasSubstr("needs a schedule"));
  EXPECT_THAT(Error("name: x\nselect: all\nsnapshots: maybe\n"), HasSubstr("include or skip"));
  EXPECT_THAT(Error("name: x\nselect: all\nwindow: [22:00-06:00, nights]\n"),
              HasSubstr("line 3: window"));
  EXPECT_THAT(Error("name: x\nselect: all\n---\nname: x\nselect: all\n"),
              HasSubstr("line 4: name: \"x\" is the name of an earlier one"));
  EXPECT_THAT(Error("- a\n- b\n"), HasSubstr("line 1"));
  EXPECT_THAT(Error(""), HasSubstr("no policy"));
  EXPECT_THAT(Error("name: x\nselect: all\nthrottle: {load: nan}\n"), HasSubstr("load"));
}

TEST(PolicyTest, TimeZoneIsTheCoordinatorsUnlessGiven) {
  absl::TimeZone kolkata;
  CHECK(absl::LoadTimeZone("Asia/Kolkata", &kolkata));
  const auto policies = ParsePolicies("name: x\nselect: all\nschedule: '@daily'\n", kolkata);
  ASSERT_THAT(policies, IsOk());
  EXPECT_EQ(policies->front().schedule->zone(), kolkata);
  EXPECT_EQ(policies->front().time_zone, "");
}

TEST(PolicyTest, DiffShowsEveryLine) {
  EXPECT_EQ(
      DiffLines("name: x\nselect: all\npriority: 1\n", "name: x\nselect: host=a\npriority: 1\n"),
      " name: x\n-select: all\n+select: host=a\n priority: 1\n");
  EXPECT_EQ(DiffLines("", "name: x\n"), "+name: x\n");
  EXPECT_EQ(DiffLines("a\nb\n", "a\n"), " a\n-b\n");
}

TEST(SelectorTest, Terms) {
  const std::map<std::string, std::string> labels = {{"site", "berlin"}};
  const Selector::Subject subject = {.host_id = "h-1",
                                     .host_name = "nas1",
                                     .volume_label = "data",
                                     .volume_uuid = "3f0c61b2-0000-4000-8000-00000000000a",
                                     .host_labels = &labels};
  const auto matches = [&](absl::string_view text) {
    const absl::StatusOr<Selector> selector = Selector::Parse(text);
    CHECK(selector.ok());
    return selector->Matches(subject);
  };
  for (const char* text :
       {"all", "host=nas1", "host=h-1", "host=nas*", "label=data", "uuid=3f0c61b2",
        "uuid=3F0C61B2-0000-4000-8000-00000000000A", "label:site=berlin", "label:site=*",
        "host=nas1, label=data", "label=*a*a"}) {
    EXPECT_TRUE(matches(text)) << text;
  }
  for (const char* text : {"host=nas", "host=nas2", "label=dat", "uuid=3f0c61b3",
                           "label:site=paris", "label:rack=1", "host=nas1,label=other"}) {
    EXPECT_FALSE(matches(text)) << text;
  }
  for (const char* text : {"", "some", "host=", "uuid=xyz", "uuid=3f0c", "label:=x", "rack=1",
                           "all,host=nas1", "host=nas1,"}) {
    EXPECT_THAT(Selector::Parse(text), HasCode(absl::StatusCode::kInvalidArgument)) << text;
  }
}

}  // namespace
}  // namespace onefold::fleet
