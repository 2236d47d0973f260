#include "cli/fleet/name_command.h"

#include <string>

#include "cli/fleet/testing/verb_fixture.h"
#include "cli/run_summary.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NameCommandTest : public VerbTest {};

TEST_F(NameCommandTest, NamesAreListedOneALine) {
  v1::Host host;
  host.set_display_name("nas1");
  host.add_volumes()->set_label("data");
  host.mutable_volumes(0)->set_volume_uuid(std::string(16, '\x11'));
  v1::ListHostsResponse response;
  *response.add_hosts() = host;
  client_.list_hosts.Answer(response);
  EXPECT_EQ(Run(NamesVerb(), {"hosts"}), kExitDone);
  EXPECT_EQ(console_.out, "nas1\n");
  EXPECT_EQ(Run(NamesVerb(), {"volumes"}), kExitDone);
  EXPECT_EQ(console_.out, "11111111-1111-1111-1111-111111111111\ndata\n");
}

// A line break would make two names of one, and a dash an option.
TEST_F(NameCommandTest, NamesThatCannotBeTypedAreLeftOut) {
  v1::ListHostsResponse response;
  for (const char* name : {"a\nb", "\x1b[2J", "-rf", "a\\b"}) {
    response.add_hosts()->set_display_name(name);
  }
  client_.list_hosts.Answer(response);
  EXPECT_EQ(Run(NamesVerb(), {"hosts"}), kExitDone);
  EXPECT_THAT(console_.out, IsEmpty());
}

TEST_F(NameCommandTest, UnknownKindIsRefused) {
  EXPECT_EQ(Run(NamesVerb(), {"colours"}), kExitRefused);
  EXPECT_THAT(console_.err, HasSubstr("no names of 'colours'"));
}

}  // namespace
}  // namespace onefold
