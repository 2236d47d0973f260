// Runs verbs against a fake coordinator and a fake console.

#ifndef ONEFOLD_CLI_FLEET_TESTING_VERB_FIXTURE_H_
#define ONEFOLD_CLI_FLEET_TESTING_VERB_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/fleet/testing/admin_samples.h"
#include "cli/fleet/testing/fake_admin_client.h"
#include "cli/fleet/testing/fake_console.h"
#include "cli/fleet/verb.h"
#include "common/testing/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {

class VerbTest : public ::testing::Test {
 protected:
  // Returns the exit code. What was printed before is gone.
  int Run(const Verb& verb, const std::vector<std::string>& arguments) {
    console_.out.clear();
    console_.err.clear();
    Surroundings around = {
        .console = console_,
        .clock = clock_,
        .connect = [this](const ConnectionArguments& given)
            -> absl::StatusOr<std::unique_ptr<AdminClient>> {
          connected_to_ = given;
          if (!connect_status_.ok()) return connect_status_;
          return std::unique_ptr<AdminClient>(std::make_unique<Borrowed>(client_));
        },
        .new_request_id = [this] { return absl::StrCat("request-", ++request_count_); },
        .new_key =
            [] {
              return KeyAndRequest{Pem("PRIVATE KEY"), Pem("CERTIFICATE REQUEST")};
            },
        .sleep = [this](absl::Duration span) { slept_ += span; },
    };
    return RunVerb(verb, arguments, around);
  }

  static std::string Pem(const std::string& label) {
    return absl::StrCat("-----BEGIN ", label, "-----\nAA==\n-----END ", label, "-----\n");
  }

  FakeAdminClient client_;
  FakeConsole console_;
  FakeClock clock_;
  ConnectionArguments connected_to_;
  absl::Status connect_status_;
  absl::Duration slept_;
  int request_count_ = 0;

 private:
  // Outlives the verb, so that the test can look at it afterwards.
  class Borrowed final : public AdminClient {
   public:
    explicit Borrowed(FakeAdminClient& client) : client_(client) {}
    const std::string& address() const override { return client_.address(); }
#define ONEFOLD_PASS_ON(name)                                                          \
  absl::StatusOr<v1::name##Response> name(const v1::name##Request& request) override { \
    return client_.name(request);                                                      \
  }
    ONEFOLD_PASS_ON(ListHosts)
    ONEFOLD_PASS_ON(DrainHost)
    ONEFOLD_PASS_ON(ResumeHost)
    ONEFOLD_PASS_ON(ForgetHost)
    ONEFOLD_PASS_ON(CreateJoinToken)
    ONEFOLD_PASS_ON(CreateUser)
    ONEFOLD_PASS_ON(CreateSignIn)
    ONEFOLD_PASS_ON(ListUsers)
    ONEFOLD_PASS_ON(RemoveUser)
    ONEFOLD_PASS_ON(ApplyPolicies)
    ONEFOLD_PASS_ON(ListPolicies)
    ONEFOLD_PASS_ON(DeletePolicy)
    ONEFOLD_PASS_ON(StartRuns)
    ONEFOLD_PASS_ON(CancelRun)
    ONEFOLD_PASS_ON(PauseRun)
    ONEFOLD_PASS_ON(ResumeRun)
    ONEFOLD_PASS_ON(ListRuns)
#undef ONEFOLD_PASS_ON
    absl::Status WatchRun(const v1::WatchRunRequest& request, absl::Duration deadline,
                          const std::function<void(const v1::Run&)>& on_change) override {
      return client_.WatchRun(request, deadline, on_change);
    }

   private:
    FakeAdminClient& client_;
  };
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_TESTING_VERB_FIXTURE_H_
