// TokenBook: tokens with which hosts join, each once: as a rule one host, or as many as was said.
//
// The store holds digests only: a copy of the database lets nobody join.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_TOKEN_BOOK_H_
#define ONEFOLD_COORDINATOR_IDENTITY_TOKEN_BOOK_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/ordered_store.h"
#include "onefold/storage/v1/identity.pb.h"

namespace onefold::identity {

// Not thread-safe; Identity keeps one behind its mutex.
class TokenBook {
 public:
  static constexpr absl::Duration kTtlDefault = absl::Hours(1);
  static constexpr absl::Duration kTtlMax = absl::Hours(24 * 30);
  // Unused and used ones together; they go when their time is over.
  static constexpr size_t kTokensMax = 1000;
  static constexpr size_t kRequestIdBytesMax = 64;
  static constexpr int kHostsMax = 1000;  // with one token

  struct Token {
    std::string secret;
    absl::Time expire_time;
  };

  // `state` must outlive the book. `derivation_key`: secrets of repeated requests come from it.
  static absl::StatusOr<std::unique_ptr<TokenBook>> Open(index::OrderedStore& state,
                                                         std::string derivation_key);

  // See IdentityOffice::CreateJoinToken.
  absl::StatusOr<Token> Create(absl::Duration ttl, absl::string_view request_id, int host_count_max,
                               absl::Time now);

  // Who joins with the secret: a new host id; for a key that spent it already the same one again.
  // Durable when it returns.
  //
  // UNAUTHENTICATED     unknown, too old, or spent by others: which one is not told.
  // RESOURCE_EXHAUSTED  the disk is full; it was not spent.
  absl::StatusOr<std::string> Spend(absl::string_view secret, absl::string_view key_fingerprint,
                                    absl::Time now);

  // Drops tokens whose time is over.
  absl::Status DropExpired(absl::Time now);

  size_t size() const { return tokens_.size(); }

 private:
  using Record = storage::v1::JoinTokenRecord;

  TokenBook(index::OrderedStore& state, std::string derivation_key)
      : state_(state), derivation_key_(std::move(derivation_key)) {}
  absl::Status Load();
  absl::Status Put(const std::string& digest, const Record& record);
  std::string DeriveSecret(const std::string& nonce) const;

  index::OrderedStore& state_;
  const std::string derivation_key_;
  std::map<std::string, Record> tokens_;  // digest of the secret -> what is in the store
};

}  // namespace onefold::identity

#endif  // ONEFOLD_COORDINATOR_IDENTITY_TOKEN_BOOK_H_
