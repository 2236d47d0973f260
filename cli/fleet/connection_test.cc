#include "cli/fleet/connection.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;

ConnectionSources WithBundle(const std::string& coordinator) {
  ConnectionSources sources;
  sources.bundle.emplace();
  sources.bundle->name = "alice";
  sources.bundle->coordinator = coordinator;
  return sources;
}

std::string AddressFor(const ConnectionArguments& arguments, const ConnectionSources& sources) {
  const auto connection = ChooseConnection(arguments, sources);
  return connection.ok() ? connection->address.text : std::string(connection.status().message());
}

TEST(ConnectionTest, FlagThenEnvironmentThenBundleThenThisMachine) {
  ConnectionSources sources = WithBundle("from-bundle");
  sources.socket_exists = true;
  sources.environment_coordinator = "from-environment";
  ConnectionArguments arguments;
  arguments.coordinator = "from-flag";
  EXPECT_EQ(AddressFor(arguments, sources), "from-flag:7171");
  arguments.coordinator.clear();
  EXPECT_EQ(AddressFor(arguments, sources), "from-environment:7171");
  sources.environment_coordinator.clear();
  EXPECT_EQ(AddressFor(arguments, sources), "from-bundle:7171");
  sources.bundle.reset();
  EXPECT_EQ(AddressFor(arguments, sources), "unix:/run/onefold/coordinator.sock");
  sources.socket_exists = false;
  EXPECT_EQ(AddressFor(arguments, sources), "localhost:7171");
}

// Nothing leaves the machine in plain text unless somebody says so.
TEST(ConnectionTest, PlainTextOnlyOnThisMachine) {
  const auto local = ChooseConnection({}, {});
  ASSERT_THAT(local, IsOk());
  EXPECT_FALSE(local->identity.has_value());
  EXPECT_EQ(local->warning, "");
  ConnectionArguments far;
  far.coordinator = "nas1";
  const auto refused = ChooseConnection(far, {});
  EXPECT_THAT(refused, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(refused.status().message(), HasSubstr("onefold fleet user add"));
}

TEST(ConnectionTest, InsecureIsObeyedAndWarnsWhenItMatters) {
  ConnectionArguments arguments;
  arguments.insecure = true;
  arguments.coordinator = "nas1";
  const auto far = ChooseConnection(arguments, WithBundle(""));
  ASSERT_THAT(far, IsOk());
  EXPECT_FALSE(far->identity.has_value());
  EXPECT_THAT(far->warning, HasSubstr("--insecure"));
  arguments.coordinator = "localhost";
  const auto local = ChooseConnection(arguments, WithBundle(""));
  ASSERT_THAT(local, IsOk());
  EXPECT_FALSE(local->identity.has_value());
  EXPECT_EQ(local->warning, "");
}

// With a certificate it is shown everywhere, through a tunnel on this machine too; only the socket
// needs none.
TEST(ConnectionTest, TheBundleIsUsed) {
  ConnectionArguments arguments;
  arguments.coordinator = "localhost:7171";
  const auto tunnel = ChooseConnection(arguments, WithBundle("nas1"));
  ASSERT_THAT(tunnel, IsOk());
  EXPECT_TRUE(tunnel->identity.has_value());
  arguments.coordinator = "unix:/run/x";
  const auto socket = ChooseConnection(arguments, WithBundle("nas1"));
  ASSERT_THAT(socket, IsOk());
  EXPECT_FALSE(socket->identity.has_value());
}

TEST(ConnectionTest, MalformedAddressesNameTheirOrigin) {
  ConnectionArguments arguments;
  arguments.coordinator = "a b";
  EXPECT_THAT(AddressFor(arguments, {}), HasSubstr("--coordinator: "));
  ConnectionSources sources;
  sources.environment_coordinator = "a b";
  EXPECT_THAT(AddressFor({}, sources), HasSubstr("ONEFOLD_COORDINATOR: "));
  EXPECT_THAT(AddressFor({}, WithBundle("a b")), HasSubstr("bundle: "));
}

// A bundle that was asked for must be there; the default one may be absent, but not unreadable.
TEST(ConnectionTest, FindsTheBundleOfThePerson) {
  TempDir home;
  setenv("XDG_CONFIG_HOME", home.path().c_str(), 1);
  unsetenv("ONEFOLD_COORDINATOR");
  unsetenv("ONEFOLD_IDENTITY");
  ConnectionArguments arguments;
  arguments.coordinator = "localhost";
  EXPECT_THAT(FindConnection(arguments), IsOk());
  arguments.identity_file = home.path() + "/absent.pem";
  EXPECT_THAT(FindConnection(arguments), HasCode(absl::StatusCode::kNotFound));
  arguments.identity_file.clear();
  mkdir((home.path() + "/onefold").c_str(), 0700);
  EXPECT_EQ(DefaultBundlePath(), home.path() + "/onefold/user.pem");
  std::ofstream(DefaultBundlePath()) << "x";
  chmod(DefaultBundlePath().c_str(), 0644);
  EXPECT_THAT(FindConnection(arguments), HasCode(absl::StatusCode::kPermissionDenied));
  unsetenv("XDG_CONFIG_HOME");
}

}  // namespace
}  // namespace onefold
