#include "coordinator/identity/sign_in_book.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/identity/random.h"
#include "common/status_macros.h"
#include "coordinator/identity/identity_keys.h"
#include "coordinator/identity/load_records.h"
#include "coordinator/row_batch.h"

namespace onefold::identity {
namespace {

absl::Status NotGood() {
  return absl::UnauthenticatedError("this link was used before, or is too old: ask for a new one");
}

// Of the text that a browser sent; empty if it can be none of ours.
std::string DigestOf(absl::string_view secret) {
  if (secret.size() != 2 * SignInBook::kSecretBytes ||
      !std::all_of(secret.begin(), secret.end(), absl::ascii_isxdigit)) {
    return "";
  }
  return Sha256(secret);
}

template <typename Record>
bool IsOver(const Record& record, absl::Time now) {
  return now >= absl::FromUnixMillis(record.expire_time_unix_millis());
}

template <typename Record>
SignInBook::Owner OwnerOf(const Record& record) {
  return {.name = record.name(), .serial = record.serial()};
}

template <typename Record>
Record MakeRecord(const SignInBook::Owner& owner, absl::Time expire_time) {
  Record record;
  record.set_name(owner.name);
  record.set_serial(owner.serial);
  record.set_expire_time_unix_millis(absl::ToUnixMillis(expire_time));
  return record;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SignInBook>> SignInBook::Open(index::OrderedStore& state) {
  std::unique_ptr<SignInBook> book(new SignInBook(state));
  RETURN_IF_ERROR(LoadRecords(state, kSignInPrefix, book->tokens_), "sign-in tokens");
  RETURN_IF_ERROR(LoadRecords(state, kSessionPrefix, book->sessions_), "sessions");
  return book;
}

absl::StatusOr<SignInBook::Secret> SignInBook::CreateToken(const Owner& owner, absl::Time now) {
  RETURN_IF_ERROR(DropExpired(now));
  if (tokens_.size() >= kTokensMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", kTokensMax, " unused links already: they end within a day"));
  }
  Secret secret = {.text = absl::BytesToHexString(RandomBytes(kSecretBytes)),
                   .expire_time = now + kTokenTtl};
  auto record = MakeRecord<storage::v1::SignInTokenRecord>(owner, secret.expire_time);
  const std::string digest = DigestOf(secret.text);
  index::RowBatch batch;
  batch.Put(SignInKey(digest), record.SerializeAsString());
  RETURN_IF_ERROR(state_.Write(batch));
  tokens_[digest] = std::move(record);
  return secret;
}

absl::StatusOr<SignInBook::Owner> SignInBook::FindToken(absl::string_view token,
                                                        absl::Time now) const {
  const auto found = tokens_.find(DigestOf(token));
  if (found == tokens_.end() || IsOver(found->second, now)) return NotGood();
  return OwnerOf(found->second);
}

absl::StatusOr<SignInBook::Session> SignInBook::Spend(absl::string_view token, absl::Time now) {
  Session session;
  ASSIGN_OR_RETURN(session.owner, FindToken(token, now));
  session.cookie = {.text = absl::BytesToHexString(RandomBytes(kSecretBytes)),
                    .expire_time = now + kSessionTtl};
  index::RowBatch batch;
  // The oldest one goes where there are too many.
  auto oldest = sessions_.end();
  size_t count = 0;
  for (auto it = sessions_.begin(); it != sessions_.end(); ++it) {
    if (it->second.name() != session.owner.name) continue;
    ++count;
    if (oldest == sessions_.end() ||
        it->second.expire_time_unix_millis() < oldest->second.expire_time_unix_millis()) {
      oldest = it;
    }
  }
  if (count < kSessionsPerPersonMax) oldest = sessions_.end();
  if (oldest != sessions_.end()) batch.Delete(SessionKey(oldest->first));
  auto record =
      MakeRecord<storage::v1::WebSessionRecord>(session.owner, session.cookie.expire_time);
  const std::string digest = DigestOf(session.cookie.text);
  batch.Delete(SignInKey(DigestOf(token)));
  batch.Put(SessionKey(digest), record.SerializeAsString());
  RETURN_IF_ERROR(state_.Write(batch));
  if (oldest != sessions_.end()) sessions_.erase(oldest);
  tokens_.erase(DigestOf(token));
  sessions_[digest] = std::move(record);
  return session;
}

std::optional<SignInBook::Owner> SignInBook::FindSession(absl::string_view cookie,
                                                         absl::Time now) const {
  const auto found = sessions_.find(DigestOf(cookie));
  if (found == sessions_.end() || IsOver(found->second, now)) return std::nullopt;
  return OwnerOf(found->second);
}

absl::Status SignInBook::EndSession(absl::string_view cookie) {
  const auto found = sessions_.find(DigestOf(cookie));
  if (found == sessions_.end()) return absl::OkStatus();
  index::RowBatch batch;
  batch.Delete(SessionKey(found->first));
  RETURN_IF_ERROR(state_.Write(batch));
  sessions_.erase(found);
  return absl::OkStatus();
}

absl::Status SignInBook::EndAllOf(absl::string_view name) {
  index::RowBatch batch;
  for (const auto& [digest, record] : tokens_) {
    if (record.name() == name) batch.Delete(SignInKey(digest));
  }
  for (const auto& [digest, record] : sessions_) {
    if (record.name() == name) batch.Delete(SessionKey(digest));
  }
  if (batch.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(state_.Write(batch));
  std::erase_if(tokens_, [&](const auto& entry) { return entry.second.name() == name; });
  std::erase_if(sessions_, [&](const auto& entry) { return entry.second.name() == name; });
  return absl::OkStatus();
}

absl::Status SignInBook::DropExpired(absl::Time now) {
  index::RowBatch batch;
  for (const auto& [digest, record] : tokens_) {
    if (IsOver(record, now)) batch.Delete(SignInKey(digest));
  }
  for (const auto& [digest, record] : sessions_) {
    if (IsOver(record, now)) batch.Delete(SessionKey(digest));
  }
  if (batch.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(state_.Write(batch));
  std::erase_if(tokens_, [&](const auto& entry) { return IsOver(entry.second, now); });
  std::erase_if(sessions_, [&](const auto& entry) { return IsOver(entry.second, now); });
  return absl::OkStatus();
}

}  // namespace onefold::identity
