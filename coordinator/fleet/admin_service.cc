#include "coordinator/fleet/admin_service.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/grpc_status.h"
#include "common/status_macros.h"
#include "coordinator/identity/grpc_caller.h"
#include "google/protobuf/util/message_differencer.h"

namespace onefold {
namespace {

constexpr int kPageMax = 1000;
constexpr int kRunsPerPage = 100;
constexpr size_t kPolicyBytesMax = size_t{1} << 20;
// How often a watched run is looked at: at most one message a second is promised.
constexpr absl::Duration kWatchInterval = absl::Seconds(1);

google::protobuf::Timestamp ToTimestamp(absl::Time time) {
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(absl::ToUnixSeconds(time));
  return timestamp;
}

absl::StatusOr<int> PageSize(int asked, int otherwise) {
  if (asked < 0) return absl::InvalidArgumentError("page_size: negative");
  return asked == 0 ? otherwise : std::min(asked, kPageMax);
}

// Hosts are listed by name, then id; a token says behind which one to go on.
using HostPlace = std::pair<std::string, std::string>;
HostPlace PlaceOf(const v1::Host& host) { return {host.display_name(), host.host_id()}; }

std::string ToToken(const HostPlace& place) {
  return absl::BytesToHexString(absl::StrCat(place.first, absl::string_view("", 1), place.second));
}
absl::StatusOr<HostPlace> ParseToken(absl::string_view token) {
  const std::string bytes = absl::HexStringToBytes(token);
  const size_t zero = bytes.find('\0');
  if (absl::BytesToHexString(bytes) != token || zero == bytes.npos) {
    return absl::InvalidArgumentError("page_token: not from an earlier answer");
  }
  return HostPlace(bytes.substr(0, zero), bytes.substr(zero + 1));
}

Role ToRole(v1::UserRole role) {
  switch (role) {
    case v1::USER_ROLE_VIEWER: return Role::kViewer;
    case v1::USER_ROLE_OPERATOR: return Role::kOperator;
    case v1::USER_ROLE_ADMIN: return Role::kAdmin;
    default: return Role::kNone;
  }
}

// Moves a value into the response, or answers why there is none.
template <typename Value, typename Response>
grpc::Status Answer(absl::StatusOr<Value> value, Response* to) {
  if (!value.ok()) return ToGrpcStatus(value.status());
  *to = *std::move(value);
  return grpc::Status::OK;
}

v1::UserRole ToProto(Role role) {
  switch (role) {
    case Role::kViewer: return v1::USER_ROLE_VIEWER;
    case Role::kOperator: return v1::USER_ROLE_OPERATOR;
    case Role::kAdmin: return v1::USER_ROLE_ADMIN;
    case Role::kNone: break;
  }
  return v1::USER_ROLE_UNSPECIFIED;
}

v1::User ToProto(const IdentityOffice::Person& person) {
  v1::User user;
  user.set_name(person.name);
  user.set_role(ToProto(person.role));
  *user.mutable_certificate_expire_time() = ToTimestamp(person.certificate_expire_time);
  return user;
}

absl::Status NoAuthority() {
  return absl::FailedPreconditionError(
      "this coordinator speaks plain text and has no authority: nobody needs a certificate here");
}

}  // namespace

void AdminService::Note(const grpc::ServerContext& context, absl::string_view what,
                        LogFields fields, const grpc::Status& status) const {
  if (log_ == nullptr) return;
  const absl::StatusOr<Caller> caller = CallerOf(context);
  fields.emplace_back("by", caller.ok() ? ToString(*caller) : "nobody");
  if (!status.ok()) fields.emplace_back("error", status.error_message());
  log_->Info(what, fields);
}

// ---- hosts ----

void AdminService::FillInCertificate(v1::Host& host) const {
  if (identity_ == nullptr) return;
  const std::optional<absl::Time> expiry = identity_->HostCertificateExpiry(host.host_id());
  if (expiry) *host.mutable_certificate_expire_time() = ToTimestamp(*expiry);
}

std::vector<v1::Host> AdminService::AllHosts() const {
  std::vector<v1::Host> hosts = fleet_.ListHosts();
  if (identity_ == nullptr) return hosts;
  std::set<std::string> reported;
  for (v1::Host& host : hosts) {
    reported.insert(host.host_id());
    FillInCertificate(host);
  }
  for (const IdentityOffice::JoinedHost& joined : identity_->JoinedHosts()) {
    if (reported.contains(joined.host_id)) continue;
    v1::Host& host = hosts.emplace_back();
    host.set_host_id(joined.host_id);
    host.set_display_name(joined.display_name.empty() ? joined.host_id : joined.display_name);
    host.set_state(v1::Host::STATE_SILENT);
    *host.mutable_certificate_expire_time() = ToTimestamp(joined.certificate_expire_time);
    host.add_advice(
        "it has joined but never reported: start `onefold worker` there (systemctl enable --now "
        "onefold-worker)");
  }
  std::sort(hosts.begin(), hosts.end(),
            [](const v1::Host& a, const v1::Host& b) { return PlaceOf(a) < PlaceOf(b); });
  return hosts;
}

absl::StatusOr<v1::Host> AdminService::FindHost(const std::string& host) const {
  absl::StatusOr<v1::Host> reported = fleet_.FindHost(host);
  if (reported.ok() || !absl::IsNotFound(reported.status())) return reported;
  std::vector<v1::Host> found = AllHosts();
  std::erase_if(found, [&](const v1::Host& each) {
    return each.host_id() != host && each.display_name() != host;
  });
  if (found.size() == 1) return found.front();
  if (found.empty()) return reported;
  return absl::InvalidArgumentError(
      absl::StrCat("several hosts are called \"", host, "\": name it by its id"));
}

grpc::Status AdminService::ListHosts(grpc::ServerContext*, const v1::ListHostsRequest* request,
                                     v1::ListHostsResponse* response) {
  const auto list = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const int size, PageSize(request->page_size(), kPageMax));
    HostPlace after;
    if (!request->page_token().empty()) {
      ASSIGN_OR_RETURN(after, ParseToken(request->page_token()));
    }
    for (v1::Host& host : AllHosts()) {
      if (!request->page_token().empty() && PlaceOf(host) <= after) continue;
      if (response->hosts_size() == size) {
        response->set_next_page_token(ToToken(PlaceOf(response->hosts(size - 1))));
        break;
      }
      *response->add_hosts() = std::move(host);
    }
    return absl::OkStatus();
  };
  return ToGrpcStatus(list());
}

grpc::Status AdminService::DrainHost(grpc::ServerContext* context,
                                     const v1::DrainHostRequest* request,
                                     v1::DrainHostResponse* response) {
  const grpc::Status status =
      Answer(fleet_.SetDrained(request->host(), true), response->mutable_host());
  FillInCertificate(*response->mutable_host());
  Note(*context, "a host was drained", {{"host", request->host()}}, status);
  return status;
}

grpc::Status AdminService::ResumeHost(grpc::ServerContext* context,
                                      const v1::ResumeHostRequest* request,
                                      v1::ResumeHostResponse* response) {
  const grpc::Status status =
      Answer(fleet_.SetDrained(request->host(), false), response->mutable_host());
  FillInCertificate(*response->mutable_host());
  Note(*context, "a host was resumed", {{"host", request->host()}}, status);
  return status;
}

grpc::Status AdminService::ForgetHost(grpc::ServerContext* context,
                                      const v1::ForgetHostRequest* request,
                                      v1::ForgetHostResponse* response) {
  const auto forget = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(*response->mutable_host(), FindHost(request->host()));
    const std::string& id = response->host().host_id();
    // Its certificate first: a host that can still call would be back at once.
    if (identity_ != nullptr) RETURN_IF_ERROR(identity_->ForgetHost(id, clock_.Now()));
    const absl::Status forgotten = fleet_.ForgetHost(id).status();
    return absl::IsNotFound(forgotten) ? absl::OkStatus() : forgotten;
  };
  const grpc::Status status = ToGrpcStatus(forget());
  Note(*context, "a host was forgotten", {{"host", request->host()}}, status);
  return status;
}

// ---- identities ----

absl::StatusOr<IdentityOffice*> AdminService::Identity() const {
  if (identity_ != nullptr) return identity_;
  return NoAuthority();
}

grpc::Status AdminService::CreateJoinToken(grpc::ServerContext* context,
                                           const v1::CreateJoinTokenRequest* request,
                                           v1::CreateJoinTokenResponse* response) {
  const auto create = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(IdentityOffice * identity, Identity());
    if (!options_.hosts_join) return NoAuthority();
    const absl::Duration ttl = absl::Seconds(request->ttl().seconds());
    ASSIGN_OR_RETURN(IdentityOffice::JoinToken token,
                     identity->CreateJoinToken(ttl, request->request_id(),
                                               request->host_count_max(), clock_.Now()));
    response->set_token(std::move(token.text));
    *response->mutable_expire_time() = ToTimestamp(token.expire_time);
    response->set_address(options_.public_address);
    return absl::OkStatus();
  };
  const grpc::Status status = ToGrpcStatus(create());
  Note(*context, "a join token was made", {}, status);
  return status;
}

grpc::Status AdminService::CreateUser(grpc::ServerContext* context,
                                      const v1::CreateUserRequest* request,
                                      v1::CreateUserResponse* response) {
  const auto create = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(IdentityOffice * identity, Identity());
    const Role role = ToRole(request->role());
    if (role == Role::kNone) return absl::InvalidArgumentError("role: viewer, operator or admin");
    ASSIGN_OR_RETURN(IdentityOffice::IssuedCertificate issued,
                     identity->CreateUser(request->name(), role, request->certificate_request_pem(),
                                          clock_.Now()));
    response->set_certificate_pem(std::move(issued.certificate_pem));
    response->set_authority_pem(std::move(issued.authority_pem));
    response->set_address(options_.public_address);
    *response->mutable_expire_time() = ToTimestamp(issued.expire_time);
    return absl::OkStatus();
  };
  const grpc::Status status = ToGrpcStatus(create());
  Note(*context, "a certificate was made for a person",
       {{"name", request->name()}, {"role", std::string(ToString(ToRole(request->role())))}},
       status);
  return status;
}

grpc::Status AdminService::ListUsers(grpc::ServerContext*, const v1::ListUsersRequest*,
                                     v1::ListUsersResponse* response) {
  const absl::StatusOr<IdentityOffice*> identity = Identity();
  if (!identity.ok()) return ToGrpcStatus(identity.status());
  for (const IdentityOffice::Person& person : (*identity)->People()) {
    *response->add_users() = ToProto(person);
  }
  return grpc::Status::OK;
}

grpc::Status AdminService::RemoveUser(grpc::ServerContext* context,
                                      const v1::RemoveUserRequest* request,
                                      v1::RemoveUserResponse* response) {
  const auto remove = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(IdentityOffice * identity, Identity());
    ASSIGN_OR_RETURN(const IdentityOffice::Person person,
                     identity->RemoveUser(request->name(), clock_.Now()));
    *response->mutable_user() = ToProto(person);
    return absl::OkStatus();
  };
  const grpc::Status status = ToGrpcStatus(remove());
  Note(*context, "a person was removed", {{"name", request->name()}}, status);
  return status;
}

grpc::Status AdminService::CreateSignIn(grpc::ServerContext* context,
                                        const v1::CreateSignInRequest* request,
                                        v1::CreateSignInResponse* response) {
  const auto create = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(IdentityOffice * identity, Identity());
    ASSIGN_OR_RETURN(IdentityOffice::SignIn sign_in,
                     identity->CreateSignIn(request->name(), clock_.Now()));
    response->set_token(std::move(sign_in.token));
    *response->mutable_expire_time() = ToTimestamp(sign_in.expire_time);
    response->set_page_address(options_.page_address());
    return absl::OkStatus();
  };
  const grpc::Status status = ToGrpcStatus(create());
  Note(*context, "a link to the web page was made", {{"name", request->name()}}, status);
  return status;
}

// ---- policies ----

grpc::Status AdminService::ApplyPolicies(grpc::ServerContext* context,
                                         const v1::ApplyPoliciesRequest* request,
                                         v1::ApplyPoliciesResponse* response) {
  if (request->yaml().size() > kPolicyBytesMax) {
    return ToGrpcStatus(absl::InvalidArgumentError("yaml: more than 1 MiB"));
  }
  const grpc::Status status =
      Answer(fleet_.ApplyPolicies(request->yaml(), request->dry_run()), response);
  if (request->dry_run()) return status;
  std::string names;
  for (const v1::ApplyPoliciesResponse::Change& change : response->changes()) {
    if (change.kind() == v1::ApplyPoliciesResponse::Change::KIND_UNCHANGED) continue;
    absl::StrAppend(&names, names.empty() ? "" : ",", change.name());
  }
  Note(*context, "policies were applied", {{"changed", std::move(names)}}, status);
  return status;
}

grpc::Status AdminService::ListPolicies(grpc::ServerContext*, const v1::ListPoliciesRequest*,
                                        v1::ListPoliciesResponse* response) {
  for (v1::Policy& policy : fleet_.ListPolicies()) *response->add_policies() = std::move(policy);
  return grpc::Status::OK;
}

grpc::Status AdminService::DeletePolicy(grpc::ServerContext* context,
                                        const v1::DeletePolicyRequest* request,
                                        v1::DeletePolicyResponse*) {
  const grpc::Status status = ToGrpcStatus(fleet_.DeletePolicy(request->name()));
  Note(*context, "a policy was deleted", {{"policy", request->name()}}, status);
  return status;
}

// ---- runs ----

grpc::Status AdminService::StartRuns(grpc::ServerContext* context,
                                     const v1::StartRunsRequest* request,
                                     v1::StartRunsResponse* response) {
  const grpc::Status status = Answer(fleet_.StartRuns(*request), response);
  Note(*context, "runs were started",
       {{"volume", request->volume()}, {"selector", request->selector()}}, status);
  return status;
}

grpc::Status AdminService::CancelRun(grpc::ServerContext* context,
                                     const v1::CancelRunRequest* request,
                                     v1::CancelRunResponse* response) {
  const grpc::Status status = Answer(fleet_.CancelRun(request->run_id()), response->mutable_run());
  Note(*context, "a run was cancelled", {{"run", request->run_id()}}, status);
  return status;
}

grpc::Status AdminService::PauseRun(grpc::ServerContext* context,
                                    const v1::PauseRunRequest* request,
                                    v1::PauseRunResponse* response) {
  const grpc::Status status = Answer(fleet_.PauseRun(request->run_id()), response->mutable_run());
  Note(*context, "a run was paused", {{"run", request->run_id()}}, status);
  return status;
}

grpc::Status AdminService::ResumeRun(grpc::ServerContext* context,
                                     const v1::ResumeRunRequest* request,
                                     v1::ResumeRunResponse* response) {
  const grpc::Status status = Answer(fleet_.ResumeRun(request->run_id()), response->mutable_run());
  Note(*context, "a run was resumed", {{"run", request->run_id()}}, status);
  return status;
}

grpc::Status AdminService::ListRuns(grpc::ServerContext*, const v1::ListRunsRequest* request,
                                    v1::ListRunsResponse* response) {
  const auto list = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const int size, PageSize(request->page_size(), kRunsPerPage));
    int64_t before = 0;
    if (!request->page_token().empty() &&
        (!absl::SimpleAtoi(request->page_token(), &before) || before <= 0)) {
      return absl::InvalidArgumentError("page_token: not from an earlier answer");
    }
    std::vector<Fleet::NumberedRun> runs =
        fleet_.ListRuns(before, static_cast<size_t>(size) + 1, request->active_only());
    if (runs.size() > static_cast<size_t>(size)) {
      runs.pop_back();
      response->set_next_page_token(absl::StrCat(runs.back().number));
    }
    for (Fleet::NumberedRun& run : runs) *response->add_runs() = std::move(run.run);
    return absl::OkStatus();
  };
  return ToGrpcStatus(list());
}

grpc::Status AdminService::WatchRun(grpc::ServerContext* context,
                                    const v1::WatchRunRequest* request,
                                    grpc::ServerWriter<v1::WatchRunResponse>* writer) {
  v1::WatchRunResponse last;
  std::string run_id = request->run_id();
  while (!context->IsCancelled()) {
    absl::StatusOr<v1::Run> run = fleet_.FindRun(run_id);
    if (!run.ok()) return ToGrpcStatus(run.status());
    run_id = run->run_id();  // another one could come to begin like it
    v1::WatchRunResponse response;
    *response.mutable_run() = *std::move(run);
    const bool same = google::protobuf::util::MessageDifferencer::Equals(response, last);
    if (!same && !writer->Write(response)) break;
    if (response.run().state() >= v1::RUN_STATE_COMPLETED) break;
    last = std::move(response);
    absl::SleepFor(kWatchInterval);
  }
  return grpc::Status::OK;
}

}  // namespace onefold
