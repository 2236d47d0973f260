// Identity: who is who in the fleet. Authority, join tokens, hosts, people and revocations behind
// one lock.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_IDENTITY_H_
#define ONEFOLD_COORDINATOR_IDENTITY_IDENTITY_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/identity/certificate.h"
#include "common/mutex.h"
#include "coordinator/identity/authority.h"
#include "coordinator/identity/caller.h"
#include "coordinator/identity/identity_office.h"
#include "coordinator/identity/roster.h"
#include "coordinator/identity/sign_in_book.h"
#include "coordinator/identity/token_book.h"
#include "coordinator/identity/try_limiter.h"
#include "coordinator/ordered_store.h"

namespace onefold {

// Thread-safe.
class Identity final : public IdentityOffice {
 public:
  struct Options {
    std::string directory;                  // STATE/identity, made at the first start
    std::vector<std::string> server_names;  // see identity::Authority::Open
  };
  struct Joined {
    std::string host_id;
    IssuedCertificate certificate;
  };
  // A browser that has signed in.
  struct WebSession {
    std::string cookie;  // the secret that proves it
    absl::Time expire_time;
    Caller caller;
  };
  // Of display names.
  static constexpr size_t kDisplayNameBytesMax = 253;

  // `state` must outlive it. Errors as of identity::Authority::Open; DATA_LOSS: `state` is damaged.
  static absl::StatusOr<std::unique_ptr<Identity>> Open(Options options, index::OrderedStore& state,
                                                        absl::Time now);

  // Lets a host in. `peer`: where it calls from, for the limit on wrong tries.
  //
  // UNAUTHENTICATED, RESOURCE_EXHAUSTED, INVALID_ARGUMENT: see enrollment_service.proto.
  absl::StatusOr<Joined> Join(absl::string_view secret_text,
                              absl::string_view certificate_request_pem,
                              absl::string_view display_name, const std::string& peer,
                              absl::Time now);

  // A new certificate for a host. The one it has stays good until it ends: the answer may be lost.
  absl::StatusOr<IssuedCertificate> Renew(const Caller& caller,
                                          absl::string_view certificate_request_pem,
                                          absl::Time now);

  // What the door asks on every call: the caller's certificate was revoked.
  bool IsRevoked(const Caller& caller, absl::string_view serial) const;

  // Makes a session of a token of CreateSignIn. `peer`: as of Join.
  //
  // UNAUTHENTICATED     the token is not good, or its owner is no more.
  // RESOURCE_EXHAUSTED  too many wrong tries from there, or the disk is full.
  absl::StatusOr<WebSession> SignInToPage(absl::string_view token, const std::string& peer,
                                          absl::Time now);
  // Who a browser speaks for, with the role the person has now. UNAUTHENTICATED: the session is
  // over, or the person was removed or added anew since.
  absl::StatusOr<Caller> SessionCaller(absl::string_view cookie, absl::Time now) const;
  // Idempotent.
  absl::Status SignOut(absl::string_view cookie);

  // Renews the coordinator's certificate and forgets what is over. Call it once an hour.
  absl::Status Maintain(absl::Time now);

  // Files for grpc_credentials.h.
  std::string server_file() const;
  std::string trusted_file() const;

  absl::StatusOr<JoinToken> CreateJoinToken(absl::Duration ttl, absl::string_view request_id,
                                            int host_count_max, absl::Time now) override;
  absl::StatusOr<IssuedCertificate> CreateUser(absl::string_view name, Role role,
                                               absl::string_view certificate_request_pem,
                                               absl::Time now) override;
  absl::StatusOr<SignIn> CreateSignIn(absl::string_view name, absl::Time now) override;
  absl::StatusOr<Person> RemoveUser(absl::string_view name, absl::Time now) override;
  std::vector<Person> People() const override;
  absl::Status ForgetHost(absl::string_view host_id, absl::Time now) override;
  std::vector<JoinedHost> JoinedHosts() const override;
  std::optional<absl::Time> HostCertificateExpiry(absl::string_view host_id) const override;

 private:
  Identity(std::unique_ptr<identity::Authority> authority,
           std::unique_ptr<identity::TokenBook> tokens, std::unique_ptr<identity::Roster> roster,
           std::unique_ptr<identity::SignInBook> sign_ins)
      : authority_(std::move(authority)),
        tokens_(std::move(tokens)),
        roster_(std::move(roster)),
        sign_ins_(std::move(sign_ins)) {}

  IssuedCertificate Issue(const identity::Certificate& certificate) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The person behind a token or a session, if it is still the one it was made for.
  absl::StatusOr<Caller> PersonOf(const identity::SignInBook::Owner& owner, absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What IsRevoked looks at becomes what the roster says.
  void PublishRevocations() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;  // held while the disk is written
  const std::unique_ptr<identity::Authority> authority_ ABSL_PT_GUARDED_BY(mutex_);
  const std::unique_ptr<identity::TokenBook> tokens_ ABSL_PT_GUARDED_BY(mutex_);
  const std::unique_ptr<identity::Roster> roster_ ABSL_PT_GUARDED_BY(mutex_);
  const std::unique_ptr<identity::SignInBook> sign_ins_ ABSL_PT_GUARDED_BY(mutex_);
  identity::TryLimiter tries_ ABSL_GUARDED_BY(mutex_);

  // Asked on every call, so nobody waits for the disk here. Taken after mutex_.
  mutable Mutex revoked_mutex_;
  std::set<std::string> revoked_ ABSL_GUARDED_BY(revoked_mutex_);
};

// Who a certificate speaks for. That our authority signed it was checked by TLS.
//
// UNAUTHENTICATED: neither a host nor a person with a role.
absl::StatusOr<Caller> CallerOf(const identity::Certificate& certificate);

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_IDENTITY_IDENTITY_H_
