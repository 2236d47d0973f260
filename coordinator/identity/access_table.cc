#include "coordinator/identity/access_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace onefold {
namespace {

enum class Who { kEverybody, kHost, kViewer, kOperator, kAdmin };

struct Row {
  absl::string_view method;
  Who who;
};

constexpr Row kRows[] = {
    // How a host gets its certificate, and how probes ask whether the service is up.
    {"/onefold.v1.EnrollmentService/Join", Who::kEverybody},
    {"/grpc.health.v1.Health/Check", Who::kEverybody},
    {"/grpc.health.v1.Health/Watch", Who::kEverybody},

    {"/onefold.v1.EnrollmentService/RenewCertificate", Who::kHost},
    {"/onefold.v1.CoordinatorService/GetAssignment", Who::kHost},
    {"/onefold.v1.CoordinatorService/Sync", Who::kHost},
    {"/onefold.v1.CoordinatorService/UploadExtents", Who::kHost},
    {"/onefold.v1.CoordinatorService/ListIncompleteExtents", Who::kHost},
    {"/onefold.v1.CoordinatorService/GetHeads", Who::kHost},
    {"/onefold.v1.CoordinatorService/UploadHits", Who::kHost},
    {"/onefold.v1.CoordinatorService/FetchPlan", Who::kHost},
    {"/onefold.v1.CoordinatorService/ReportResults", Who::kHost},

    {"/onefold.v1.AdminService/ListHosts", Who::kViewer},
    {"/onefold.v1.AdminService/ListPolicies", Who::kViewer},
    {"/onefold.v1.AdminService/ListRuns", Who::kViewer},
    {"/onefold.v1.AdminService/WatchRun", Who::kViewer},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Who::kViewer},
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Who::kViewer},

    {"/onefold.v1.AdminService/DrainHost", Who::kOperator},
    {"/onefold.v1.AdminService/ResumeHost", Who::kOperator},
    {"/onefold.v1.AdminService/StartRuns", Who::kOperator},
    {"/onefold.v1.AdminService/CancelRun", Who::kOperator},
    {"/onefold.v1.AdminService/PauseRun", Who::kOperator},
    {"/onefold.v1.AdminService/ResumeRun", Who::kOperator},
    {"/onefold.v1.AdminService/ApplyPolicies", Who::kOperator},

    {"/onefold.v1.AdminService/ForgetHost", Who::kAdmin},
    {"/onefold.v1.AdminService/CreateJoinToken", Who::kAdmin},
    {"/onefold.v1.AdminService/CreateUser", Who::kAdmin},
    {"/onefold.v1.AdminService/ListUsers", Who::kAdmin},
    {"/onefold.v1.AdminService/RemoveUser", Who::kAdmin},
    {"/onefold.v1.AdminService/CreateSignIn", Who::kAdmin},
    {"/onefold.v1.AdminService/DeletePolicy", Who::kAdmin},
    // Over a Unix socket only, whoever calls: see maintenance_service.h.
    {"/onefold.v1.MaintenanceService/HoldCheckpoint", Who::kAdmin},
};

// The least role, for rows that are for people.
Role LeastRole(Who who) {
  switch (who) {
    case Who::kViewer: return Role::kViewer;
    case Who::kOperator: return Role::kOperator;
    default: return Role::kAdmin;
  }
}

absl::Status Denied(absl::string_view why) { return absl::PermissionDeniedError(why); }

}  // namespace

absl::Status CheckAccess(absl::string_view method, const Caller& caller) {
  const Row* const row = std::find_if(std::begin(kRows), std::end(kRows),
                                      [&](const Row& each) { return each.method == method; });
  if (row == std::end(kRows)) return Denied("nobody may call this");
  if (row->who == Who::kEverybody) return absl::OkStatus();
  switch (caller.kind) {
    case Caller::Kind::kLocal: return absl::OkStatus();
    case Caller::Kind::kNobody:
      return absl::UnauthenticatedError("this needs a certificate of the fleet");
    case Caller::Kind::kHost:
      return row->who == Who::kHost ? absl::OkStatus()
                                    : Denied("this is for people, not for hosts");
    case Caller::Kind::kUser: break;
  }
  if (row->who == Who::kHost) return Denied("this is for hosts, not for people");
  const Role least = LeastRole(row->who);
  if (caller.role >= least) return absl::OkStatus();
  return Denied(
      absl::StrCat("this needs the role ", ToString(least), "; yours is ", ToString(caller.role)));
}

std::vector<std::string> MethodsWithAccess() {
  std::vector<std::string> methods;
  for (const Row& row : kRows) methods.emplace_back(row.method);
  return methods;
}

}  // namespace onefold
