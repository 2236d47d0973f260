#include "coordinator/identity/access_table.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onefold/v1/admin_service.pb.h"
#include "onefold/v1/coordinator_service.pb.h"
#include "onefold/v1/enrollment_service.pb.h"
#include "onefold/v1/maintenance_service.pb.h"

namespace onefold {
namespace {

const Caller kNobody = {};
const Caller kLocal = {.kind = Caller::Kind::kLocal, .id = "", .role = Role::kAdmin};
const Caller kHost = {.kind = Caller::Kind::kHost, .id = "h", .role = Role::kNone};
Caller Person(Role role) { return {.kind = Caller::Kind::kUser, .id = "p", .role = role}; }

std::string Admin(absl::string_view method) {
  return absl::StrCat("/onefold.v1.AdminService/", method);
}

// All methods of all services below proto/onefold/v1.
std::set<std::string> MethodsOfProtos() {
  // Linking them makes their descriptors known.
  v1::ListHostsRequest::descriptor();
  v1::SyncRequest::descriptor();
  v1::JoinRequest::descriptor();
  v1::HoldCheckpointRequest::descriptor();
  std::set<std::string> methods;
  for (const auto& entry : std::filesystem::directory_iterator(ONEFOLD_PROTO_DIR "/onefold/v1")) {
    const std::string name = entry.path().filename().string();
    if (!absl::EndsWith(name, "_service.proto")) continue;
    const auto* file = google::protobuf::DescriptorPool::generated_pool()->FindFileByName(
        absl::StrCat("onefold/v1/", name));
    EXPECT_NE(file, nullptr) << name << ": include it in this test";
    for (int s = 0; file != nullptr && s < file->service_count(); ++s) {
      const auto* service = file->service(s);
      for (int m = 0; m < service->method_count(); ++m) {
        methods.insert(absl::StrCat("/", service->full_name(), "/", service->method(m)->name()));
      }
    }
  }
  return methods;
}

// A new method must be given a row before anybody can call it.
TEST(AccessTableTest, EveryMethodHasARow) {
  const std::vector<std::string> rows = MethodsWithAccess();
  const std::set<std::string> protos = MethodsOfProtos();
  EXPECT_GE(protos.size(), 25u);
  for (const std::string& method : protos) EXPECT_THAT(rows, ::testing::Contains(method));
  for (const std::string& row : rows) {
    EXPECT_EQ(std::count(rows.begin(), rows.end(), row), 1) << row;
    if (absl::StartsWith(row, "/onefold.")) {
      EXPECT_EQ(protos.count(row), 1u) << row << " exists no more";
    }
  }
}

TEST(AccessTableTest, NobodyMayOnlyJoinAndAskForHealth) {
  std::vector<std::string> allowed;
  for (const std::string& method : MethodsWithAccess()) {
    const absl::Status status = CheckAccess(method, kNobody);
    if (status.ok()) {
      allowed.push_back(method);
    } else {
      EXPECT_THAT(status, HasCode(absl::StatusCode::kUnauthenticated)) << method;
    }
  }
  EXPECT_THAT(allowed, ::testing::UnorderedElementsAre("/onefold.v1.EnrollmentService/Join",
                                                       "/grpc.health.v1.Health/Check",
                                                       "/grpc.health.v1.Health/Watch"));
}

TEST(AccessTableTest, HostsWorkAndNeverAdminister) {
  for (const std::string& method : MethodsWithAccess()) {
    const bool is_admin = absl::StrContains(method, "AdminService");
    const bool is_work = absl::StrContains(method, "CoordinatorService");
    if (is_admin) {
      EXPECT_THAT(CheckAccess(method, kHost), HasCode(absl::StatusCode::kPermissionDenied));
    }
    if (is_work) {
      EXPECT_THAT(CheckAccess(method, kHost), IsOk());
      EXPECT_THAT(CheckAccess(method, Person(Role::kAdmin)),
                  HasCode(absl::StatusCode::kPermissionDenied));
    }
  }
}

TEST(AccessTableTest, Roles) {
  EXPECT_THAT(CheckAccess(Admin("ListHosts"), Person(Role::kViewer)), IsOk());
  EXPECT_THAT(CheckAccess(Admin("StartRuns"), Person(Role::kViewer)),
              HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(CheckAccess(Admin("StartRuns"), Person(Role::kOperator)), IsOk());
  EXPECT_THAT(CheckAccess(Admin("ApplyPolicies"), Person(Role::kOperator)), IsOk());
  EXPECT_THAT(CheckAccess(Admin("ApplyPolicies"), Person(Role::kViewer)),
              HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(CheckAccess(Admin("CreateUser"), Person(Role::kOperator)),
              HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(CheckAccess(Admin("CreateUser"), Person(Role::kAdmin)), IsOk());
  EXPECT_THAT(CheckAccess(Admin("ListHosts"), Person(Role::kNone)),
              HasCode(absl::StatusCode::kPermissionDenied));
}

TEST(AccessTableTest, UnknownMethodsAreRefusedToEverybody) {
  for (const char* method : {"", "/", "/onefold.v1.AdminService/", "/onefold.v1.AdminService/Drop",
                             "onefold.v1.AdminService/ListHosts", "/grpc.channelz.v1.Channelz/X"}) {
    for (const Caller& caller : {kNobody, kLocal, kHost, Person(Role::kAdmin)}) {
      EXPECT_THAT(CheckAccess(method, caller), HasCode(absl::StatusCode::kPermissionDenied));
    }
  }
}

TEST(AccessTableTest, LocalMayEverythingThatHasARow) {
  for (const std::string& method : MethodsWithAccess()) {
    EXPECT_THAT(CheckAccess(method, kLocal), IsOk()) << method;
  }
}

TEST(CallerTest, SpeaksOnlyForItself) {
  EXPECT_THAT(CheckSpeaksFor(kHost, "h"), IsOk());
  EXPECT_THAT(CheckSpeaksFor(kHost, "other"), HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(CheckSpeaksFor(kHost, ""), HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(CheckSpeaksFor({.kind = Caller::Kind::kHost, .id = "", .role = Role::kNone}, ""),
              HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(CheckSpeaksFor(kLocal, "h"), IsOk());
  EXPECT_THAT(CheckSpeaksFor(Person(Role::kAdmin), "p"),
              HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(CheckSpeaksFor(kNobody, ""), HasCode(absl::StatusCode::kPermissionDenied));
}

TEST(CallerTest, RolesHaveOneSpelling) {
  for (const Role role : {Role::kViewer, Role::kOperator, Role::kAdmin}) {
    EXPECT_EQ(ParseRole(ToString(role)), role);
  }
  for (const char* word : {"", "none", "Admin", "admin ", "root"}) {
    EXPECT_EQ(ParseRole(word), Role::kNone) << word;
  }
}

}  // namespace
}  // namespace onefold
