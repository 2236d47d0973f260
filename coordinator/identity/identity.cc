#include "coordinator/identity/identity.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/escape.h"
#include "common/identity/certificate_request.h"
#include "common/identity/join_token.h"
#include "common/identity/private_file.h"
#include "common/identity/random.h"
#include "common/identity/signing.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr size_t kTokenKeyBytes = 32;
constexpr size_t kUserNameBytesMax = 64;
constexpr size_t kHostIdBytesMax = 64;

// From a file of its own, so that a copy of the database is no key ring.
absl::StatusOr<std::string> ReadTokenKey(const std::string& path) {
  ASSIGN_OR_RETURN(std::optional<std::string> key, identity::ReadPrivateFile(path));
  if (key.has_value() && key->size() == kTokenKeyBytes) return *std::move(key);
  // With another key, repeating a request gives another token; nothing else depends on it.
  std::string made = identity::RandomBytes(kTokenKeyBytes);
  RETURN_IF_ERROR(identity::WritePrivateFile(path, made));
  return made;
}

bool IsWord(absl::string_view text, size_t bytes_max) {
  return !text.empty() && text.size() <= bytes_max &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
         });
}

}  // namespace

absl::StatusOr<Caller> CallerOf(const identity::Certificate& certificate) {
  absl::string_view name = certificate.common_name();
  Caller caller;
  if (absl::ConsumePrefix(&name, identity::kHostPrefix)) {
    caller = {.kind = Caller::Kind::kHost, .id = std::string(name), .role = Role::kNone};
    if (IsWord(name, kHostIdBytesMax)) return caller;
  } else if (absl::ConsumePrefix(&name, identity::kUserPrefix)) {
    caller = {.kind = Caller::Kind::kUser,
              .id = std::string(name),
              .role = ParseRole(certificate.organizational_unit())};
    if (IsWord(name, kUserNameBytesMax) && caller.role != Role::kNone) return caller;
  }
  return absl::UnauthenticatedError("the certificate is neither a host's nor a person's");
}

absl::StatusOr<std::unique_ptr<Identity>> Identity::Open(Options options,
                                                         index::OrderedStore& state,
                                                         absl::Time now) {
  ASSIGN_OR_RETURN(
      auto authority,
      identity::Authority::Open(options.directory, std::move(options.server_names), now),
      "the fleet's authority");
  ASSIGN_OR_RETURN(std::string token_key, ReadTokenKey(options.directory + "/token.key"));
  ASSIGN_OR_RETURN(auto tokens, identity::TokenBook::Open(state, std::move(token_key)));
  ASSIGN_OR_RETURN(auto roster,
                   identity::Roster::Open(state, identity::Authority::kClientLifetime));
  ASSIGN_OR_RETURN(auto sign_ins, identity::SignInBook::Open(state));
  std::unique_ptr<Identity> opened(new Identity(std::move(authority), std::move(tokens),
                                                std::move(roster), std::move(sign_ins)));
  MutexLock lock(&opened->mutex_);
  opened->PublishRevocations();
  return opened;
}

Identity::IssuedCertificate Identity::Issue(const identity::Certificate& certificate) const {
  return {.certificate_pem = certificate.ToPem(),
          .authority_pem = authority_->TrustedPem(),
          .expire_time = certificate.not_after()};
}

absl::StatusOr<Identity::Joined> Identity::Join(absl::string_view secret_text,
                                                absl::string_view certificate_request_pem,
                                                absl::string_view display_name,
                                                const std::string& peer, absl::Time now) {
  if (display_name.size() > kDisplayNameBytesMax || !IsUtf8(display_name)) {
    return absl::InvalidArgumentError("the display name is too long, or not UTF-8");
  }
  ASSIGN_OR_RETURN(const std::string secret, identity::ParseSecret(secret_text));
  ASSIGN_OR_RETURN(const auto request,
                   identity::CertificateRequest::FromPem(certificate_request_pem));
  MutexLock lock(&mutex_);
  if (!tries_.MayTry(peer, now)) {
    return absl::ResourceExhaustedError("too many wrong tokens: wait a minute");
  }
  const absl::StatusOr<std::string> host = tokens_->Spend(secret, request.key_fingerprint(), now);
  if (absl::IsUnauthenticated(host.status())) tries_.CountWrongTry(peer, now);
  RETURN_IF_ERROR(host.status());
  ASSIGN_OR_RETURN(const auto certificate, authority_->SignHost(request, *host, now));
  const absl::Status put = roster_->PutHost(*host, display_name, certificate);
  // Joined with this token, and was forgotten since.
  if (absl::IsPermissionDenied(put)) return absl::UnauthenticatedError("the token is not good");
  RETURN_IF_ERROR(put);
  return Joined{.host_id = *host, .certificate = Issue(certificate)};
}

absl::StatusOr<Identity::IssuedCertificate> Identity::Renew(
    const Caller& caller, absl::string_view certificate_request_pem, absl::Time now) {
  if (caller.kind != Caller::Kind::kHost) {
    return absl::UnauthenticatedError("only a host renews its certificate, with the one it has");
  }
  ASSIGN_OR_RETURN(const auto request,
                   identity::CertificateRequest::FromPem(certificate_request_pem));
  MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const auto certificate, authority_->SignHost(request, caller.id, now));
  const absl::Status put = roster_->RenewHost(caller.id, certificate);
  if (absl::IsPermissionDenied(put)) {
    return absl::UnauthenticatedError("the certificate was revoked");
  }
  RETURN_IF_ERROR(put);
  return Issue(certificate);
}

void Identity::PublishRevocations() {
  std::set<std::string> revoked = roster_->RevokedSubjects();
  MutexLock lock(&revoked_mutex_);
  revoked_.swap(revoked);
}

bool Identity::IsRevoked(const Caller& caller, absl::string_view serial) const {
  MutexLock lock(&revoked_mutex_);
  return identity::IsRevoked(revoked_, caller, serial);
}

absl::Status Identity::Maintain(absl::Time now) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(authority_->Maintain(now), "the fleet's authority");
  RETURN_IF_ERROR(tokens_->DropExpired(now), "join tokens");
  RETURN_IF_ERROR(roster_->DropExpired(now), "revocations");
  RETURN_IF_ERROR(sign_ins_->DropExpired(now), "sessions");
  PublishRevocations();
  return absl::OkStatus();
}

std::string Identity::server_file() const {
  MutexLock lock(&mutex_);
  return authority_->server_file();
}

std::string Identity::trusted_file() const {
  MutexLock lock(&mutex_);
  return authority_->trusted_file();
}

absl::StatusOr<Identity::JoinToken> Identity::CreateJoinToken(absl::Duration ttl,
                                                              absl::string_view request_id,
                                                              int host_count_max, absl::Time now) {
  MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const auto token, tokens_->Create(ttl, request_id, host_count_max, now));
  return JoinToken{.text = identity::ToText({.secret = token.secret,
                                             .authority_fingerprint = authority_->fingerprint()}),
                   .expire_time = token.expire_time};
}

absl::StatusOr<Identity::IssuedCertificate> Identity::CreateUser(
    absl::string_view name, Role role, absl::string_view certificate_request_pem, absl::Time now) {
  if (!IsWord(name, kUserNameBytesMax)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a name has letters, digits, '.', '-', '_', and at most ", kUserNameBytesMax, " of them"));
  }
  if (role == Role::kNone) {
    return absl::InvalidArgumentError("a role is viewer, operator or admin");
  }
  ASSIGN_OR_RETURN(const auto request,
                   identity::CertificateRequest::FromPem(certificate_request_pem));
  MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const auto certificate, authority_->SignUser(request, name, role, now));
  RETURN_IF_ERROR(roster_->PutUser(name, role, certificate, now));
  PublishRevocations();
  return Issue(certificate);
}

absl::StatusOr<Identity::Person> Identity::RemoveUser(absl::string_view name, absl::Time now) {
  MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(Person person, roster_->RevokeUser(name, now));
  PublishRevocations();
  // Worth nothing from here on; what is left of them if this fails goes with the time.
  (void)sign_ins_->EndAllOf(name);
  return person;
}

absl::StatusOr<Caller> Identity::PersonOf(const identity::SignInBook::Owner& owner,
                                          absl::Time now) const {
  const storage::v1::UserRecord* const user = roster_->FindUser(owner.name);
  if (user == nullptr || user->serial() != owner.serial ||
      now >= absl::FromUnixMillis(user->certificate_expire_time_unix_millis())) {
    return absl::UnauthenticatedError("sign in again: ask for a new link");
  }
  return Caller{.kind = Caller::Kind::kUser, .id = owner.name, .role = ParseRole(user->role())};
}

absl::StatusOr<Identity::SignIn> Identity::CreateSignIn(absl::string_view name, absl::Time now) {
  MutexLock lock(&mutex_);
  const storage::v1::UserRecord* const user = roster_->FindUser(name);
  if (user == nullptr) return absl::NotFoundError("there is nobody of this name");
  ASSIGN_OR_RETURN(
      identity::SignInBook::Secret secret,
      sign_ins_->CreateToken({.name = std::string(name), .serial = user->serial()}, now));
  return SignIn{.token = std::move(secret.text), .expire_time = secret.expire_time};
}

absl::StatusOr<Identity::WebSession> Identity::SignInToPage(absl::string_view token,
                                                            const std::string& peer,
                                                            absl::Time now) {
  MutexLock lock(&mutex_);
  if (!tries_.MayTry(peer, now)) {
    return absl::ResourceExhaustedError("too many wrong tries: wait a minute");
  }
  absl::StatusOr<identity::SignInBook::Owner> owner = sign_ins_->FindToken(token, now);
  absl::StatusOr<Caller> person = owner.ok() ? PersonOf(*owner, now) : owner.status();
  if (absl::IsUnauthenticated(person.status())) tries_.CountWrongTry(peer, now);
  RETURN_IF_ERROR(person.status());
  ASSIGN_OR_RETURN(identity::SignInBook::Session session, sign_ins_->Spend(token, now));
  return WebSession{.cookie = std::move(session.cookie.text),
                    .expire_time = session.cookie.expire_time,
                    .caller = *std::move(person)};
}

absl::StatusOr<Caller> Identity::SessionCaller(absl::string_view cookie, absl::Time now) const {
  MutexLock lock(&mutex_);
  const auto owner = sign_ins_->FindSession(cookie, now);
  if (!owner.has_value()) return absl::UnauthenticatedError("sign in: ask for a link");
  return PersonOf(*owner, now);
}

absl::Status Identity::SignOut(absl::string_view cookie) {
  MutexLock lock(&mutex_);
  return sign_ins_->EndSession(cookie);
}

std::vector<Identity::Person> Identity::People() const {
  MutexLock lock(&mutex_);
  return roster_->People();
}

absl::Status Identity::ForgetHost(absl::string_view host_id, absl::Time now) {
  if (!IsWord(host_id, kHostIdBytesMax)) return absl::InvalidArgumentError("this is no host id");
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(roster_->RevokeHost(host_id, now));
  PublishRevocations();
  return absl::OkStatus();
}

std::vector<Identity::JoinedHost> Identity::JoinedHosts() const {
  MutexLock lock(&mutex_);
  return roster_->Hosts();
}

std::optional<absl::Time> Identity::HostCertificateExpiry(absl::string_view host_id) const {
  MutexLock lock(&mutex_);
  return roster_->HostCertificateExpiry(host_id);
}

}  // namespace onefold
