// A person's key and certificate in one file, which `onefold fleet user add` writes and every
// command of the fleet reads:
//
//   onefold user bundle 1
//   name: NAME
//   role: operator
//   coordinator: nas1:7171        (absent if it is not known)
//   expires: 2027-11-30T22:00:00Z
//   -----BEGIN PRIVATE KEY----- …
//   -----BEGIN CERTIFICATE----- … the person's, then those of the fleet's authorities
//
// Unknown lines above the first PEM block are skipped: later versions may add some.

#ifndef ONEFOLD_CLI_FLEET_USER_BUNDLE_H_
#define ONEFOLD_CLI_FLEET_USER_BUNDLE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold {

struct UserBundle {
  std::string name;
  std::string role;
  std::string coordinator;  // may be empty
  std::string expires;
  std::string key_pem;
  std::string certificate_pem;
  std::string authority_pem;
};

// FAILED_PRECONDITION if `bundle` cannot be written as a bundle: what a coordinator answered is not
// the PEM it should be.
absl::StatusOr<std::string> FormatUserBundle(const UserBundle& bundle);

// INVALID_ARGUMENT with what is missing.
absl::StatusOr<UserBundle> ParseUserBundle(absl::string_view text);

// NOT_FOUND if there is no such file. PERMISSION_DENIED if others may read it, or it belongs to
// somebody else; the message says what to type.
absl::StatusOr<UserBundle> ReadUserBundle(const std::string& path);

// A new file that nobody else may read. Not thread-safe.
class UserBundleFile {
 public:
  // Makes it, empty, so that a full disk or a wrong path shows before a certificate is made.
  // ALREADY_EXISTS if something has that name.
  static absl::StatusOr<UserBundleFile> Create(const std::string& path);
  // Removes the file unless Write succeeded.
  ~UserBundleFile();
  UserBundleFile(UserBundleFile&& other) noexcept;
  UserBundleFile& operator=(UserBundleFile&&) = delete;

  // Writes all of it to the disk. Once.
  absl::Status Write(absl::string_view text);

 private:
  UserBundleFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_USER_BUNDLE_H_
