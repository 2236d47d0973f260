#include "coordinator/identity/token_book.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/identity/join_token.h"
#include "common/identity/random.h"
#include "common/status_macros.h"
#include "common/uuid.h"
#include "coordinator/identity/identity_keys.h"
#include "coordinator/row_batch.h"

namespace onefold::identity {
namespace {

constexpr size_t kNonceBytes = 16;
constexpr size_t kHostIdBytes = 16;

absl::Time ExpireTime(const storage::v1::JoinTokenRecord& record) {
  return absl::FromUnixMillis(record.expire_time_unix_millis());
}

std::string NewHostId() { return ToString(*VolumeUuidFromBytes(RandomBytes(kHostIdBytes))); }

absl::Status NotGood() {
  return absl::UnauthenticatedError("the token is not good: make a new one");
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenBook>> TokenBook::Open(index::OrderedStore& state,
                                                           std::string derivation_key) {
  std::unique_ptr<TokenBook> book(new TokenBook(state, std::move(derivation_key)));
  RETURN_IF_ERROR(book->Load(), "join tokens");
  return book;
}

absl::Status TokenBook::Load() {
  const std::unique_ptr<index::StoreCursor> cursor = state_.Walk(kTokenPrefix);
  for (; cursor->Valid(); cursor->Next()) {
    Record record;
    if (!record.ParseFromArray(cursor->value().data(), static_cast<int>(cursor->value().size()))) {
      return absl::DataLossError("a row is damaged");
    }
    tokens_[std::string(cursor->key().substr(kTokenPrefix.size()))] = std::move(record);
  }
  return cursor->status();
}

absl::Status TokenBook::Put(const std::string& digest, const Record& record) {
  index::RowBatch batch;
  batch.Put(TokenKey(digest), record.SerializeAsString());
  RETURN_IF_ERROR(state_.Write(batch));
  tokens_[digest] = record;
  return absl::OkStatus();
}

std::string TokenBook::DeriveSecret(const std::string& nonce) const {
  return HmacSha256(derivation_key_, nonce).substr(0, kTokenSecretBytes);
}

absl::StatusOr<TokenBook::Token> TokenBook::Create(absl::Duration ttl, absl::string_view request_id,
                                                   int host_count_max, absl::Time now) {
  if (ttl == absl::ZeroDuration()) ttl = kTtlDefault;
  if (ttl < absl::ZeroDuration() || ttl > kTtlMax) {
    return absl::InvalidArgumentError("a token is good for at most 30 days");
  }
  if (request_id.size() > kRequestIdBytesMax) {
    return absl::InvalidArgumentError("the request id is too long");
  }
  if (host_count_max < 0 || host_count_max > kHostsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("with one token at most ", kHostsMax, " hosts may join"));
  }
  RETURN_IF_ERROR(DropExpired(now));
  for (const auto& [digest, record] : tokens_) {
    if (request_id.empty() || record.request_id() != request_id || !record.host_id().empty()) {
      continue;
    }
    std::string secret = DeriveSecret(record.nonce());
    if (Sha256(secret) == digest) return Token{std::move(secret), ExpireTime(record)};
  }
  if (tokens_.size() >= kTokensMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", kTokensMax, " join tokens already: let some of them expire"));
  }
  Record record;
  record.set_nonce(RandomBytes(kNonceBytes));
  record.set_request_id(std::string(request_id));
  record.set_expire_time_unix_millis(absl::ToUnixMillis(now + ttl));
  record.set_host_count_max(host_count_max);
  std::string secret = DeriveSecret(record.nonce());
  RETURN_IF_ERROR(Put(Sha256(secret), record));
  return Token{std::move(secret), ExpireTime(record)};
}

absl::StatusOr<std::string> TokenBook::Spend(absl::string_view secret,
                                             absl::string_view key_fingerprint, absl::Time now) {
  const std::string digest = Sha256(secret);
  const auto found = tokens_.find(digest);
  if (found == tokens_.end() || now >= ExpireTime(found->second)) return NotGood();
  Record record = found->second;
  if (record.host_id().empty()) {
    record.set_key_fingerprint(std::string(key_fingerprint));
    record.set_host_id(NewHostId());
    RETURN_IF_ERROR(Put(digest, record));
    return record.host_id();
  }
  if (record.key_fingerprint() == key_fingerprint) return record.host_id();
  for (const storage::v1::JoinedWithToken& joined : record.further()) {
    if (joined.key_fingerprint() == key_fingerprint) return joined.host_id();
  }
  if (1 + record.further_size() >= record.host_count_max()) return NotGood();
  storage::v1::JoinedWithToken& joined = *record.add_further();
  joined.set_key_fingerprint(std::string(key_fingerprint));
  joined.set_host_id(NewHostId());
  std::string host_id = joined.host_id();
  RETURN_IF_ERROR(Put(digest, record));
  return host_id;
}

absl::Status TokenBook::DropExpired(absl::Time now) {
  index::RowBatch batch;
  for (const auto& [digest, record] : tokens_) {
    if (now >= ExpireTime(record)) batch.Delete(TokenKey(digest));
  }
  if (batch.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(state_.Write(batch));
  std::erase_if(tokens_, [now](const auto& entry) { return now >= ExpireTime(entry.second); });
  return absl::OkStatus();
}

}  // namespace onefold::identity
