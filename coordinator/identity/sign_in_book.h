// SignInBook: how people get to the web page: tokens that are good once, and the sessions they
// become.
//
// The store holds digests only: a copy of the database signs nobody in. Each row remembers the
// certificate its owner had, so that who is removed, or added anew, is out everywhere at once; the
// book itself does not know who is (Identity does).

#ifndef ONEFOLD_COORDINATOR_IDENTITY_SIGN_IN_BOOK_H_
#define ONEFOLD_COORDINATOR_IDENTITY_SIGN_IN_BOOK_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/ordered_store.h"
#include "onefold/storage/v1/identity.pb.h"

namespace onefold::identity {

// Not thread-safe; Identity keeps one behind its mutex. What a call promises is durable when it
// returns OK; otherwise nothing was changed.
class SignInBook {
 public:
  // Long enough to be sent to somebody who is asleep.
  static constexpr absl::Duration kTokenTtl = absl::Hours(24);
  static constexpr absl::Duration kSessionTtl = absl::Hours(24 * 30);
  static constexpr size_t kTokensMax = 1000;
  // Of one person; the one that ends first makes room.
  static constexpr size_t kSessionsPerPersonMax = 16;
  static constexpr size_t kSecretBytes = 32;  // in hexadecimal twice as many characters

  struct Owner {
    std::string name;
    std::string serial;  // of the certificate

    friend bool operator==(const Owner&, const Owner&) = default;
  };
  struct Secret {
    std::string text;
    absl::Time expire_time;
  };
  struct Session {
    Owner owner;
    Secret cookie;
  };

  // `state` must outlive the book. DATA_LOSS: it is damaged.
  static absl::StatusOr<std::unique_ptr<SignInBook>> Open(index::OrderedStore& state);

  // RESOURCE_EXHAUSTED: too many, or the disk is full.
  absl::StatusOr<Secret> CreateToken(const Owner& owner, absl::Time now);

  // Whose an unspent token is. UNAUTHENTICATED: unknown, spent or too old; which is not told.
  absl::StatusOr<Owner> FindToken(absl::string_view token, absl::Time now) const;
  // Makes a session of it, and the token worthless. UNAUTHENTICATED as FindToken.
  absl::StatusOr<Session> Spend(absl::string_view token, absl::Time now);

  // Whose session it is; nullopt if it ended or never was.
  std::optional<Owner> FindSession(absl::string_view cookie, absl::Time now) const;
  // Idempotent.
  absl::Status EndSession(absl::string_view cookie);
  // Tokens and sessions of a person.
  absl::Status EndAllOf(absl::string_view name);

  // Drops what is over.
  absl::Status DropExpired(absl::Time now);

  size_t session_count() const { return sessions_.size(); }

 private:
  using Tokens = std::map<std::string, storage::v1::SignInTokenRecord>;
  using Sessions = std::map<std::string, storage::v1::WebSessionRecord>;

  explicit SignInBook(index::OrderedStore& state) : state_(state) {}

  index::OrderedStore& state_;
  // What is in the store, by the digest of the secret.
  Tokens tokens_;
  Sessions sessions_;
};

}  // namespace onefold::identity

#endif  // ONEFOLD_COORDINATOR_IDENTITY_SIGN_IN_BOOK_H_
