#include "cli/fleet/user_bundle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/escape.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr absl::string_view kFirstLine = "onefold user bundle 1";
constexpr absl::string_view kBegin = "-----BEGIN ";
// A key and a handful of certificates are a tenth of it.
constexpr size_t kBundleBytesMax = 64 * 1024;

absl::Status FileError(const std::string& path, int error) {
  return absl::Status(error == ENOENT   ? absl::StatusCode::kNotFound
                      : error == EEXIST ? absl::StatusCode::kAlreadyExists
                      : error == EACCES ? absl::StatusCode::kPermissionDenied
                                        : absl::StatusCode::kFailedPrecondition,
                      absl::StrCat(Escape(path), ": ", std::strerror(error)));
}

struct PemBlock {
  std::string label;
  std::string text;  // with its first and last line
};

// All blocks of `text`, which holds nothing else; nullopt if it does.
std::optional<std::vector<PemBlock>> PemBlocks(absl::string_view text) {
  std::vector<PemBlock> blocks;
  std::string end;  // the line that ends the block; empty between blocks
  for (const absl::string_view with_blanks : absl::StrSplit(text, '\n')) {
    const absl::string_view line = absl::StripTrailingAsciiWhitespace(with_blanks);
    if (end.empty()) {
      absl::string_view label = line;
      if (line.empty()) continue;
      if (!absl::ConsumePrefix(&label, kBegin) || !absl::ConsumeSuffix(&label, "-----")) return {};
      blocks.push_back({std::string(label), ""});
      end = absl::StrCat("-----END ", label, "-----");
    }
    absl::StrAppend(&blocks.back().text, line, "\n");
    if (line == end) end.clear();
  }
  if (!end.empty()) return std::nullopt;
  return blocks;
}

bool IsOneLine(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c != 0x7f; });
}

}  // namespace

absl::StatusOr<std::string> FormatUserBundle(const UserBundle& bundle) {
  for (const std::string& value : {bundle.name, bundle.role, bundle.coordinator, bundle.expires}) {
    if (!IsOneLine(value)) {
      return absl::FailedPreconditionError("a bundle's line holds control characters");
    }
  }
  std::string text =
      absl::StrCat(kFirstLine, "\nname: ", bundle.name, "\nrole: ", bundle.role, "\n");
  if (!bundle.coordinator.empty())
    absl::StrAppend(&text, "coordinator: ", bundle.coordinator, "\n");
  if (!bundle.expires.empty()) absl::StrAppend(&text, "expires: ", bundle.expires, "\n");
  for (const std::string& pem : {bundle.key_pem, bundle.certificate_pem, bundle.authority_pem}) {
    const auto blocks = PemBlocks(pem);
    if (!blocks.has_value() || blocks->empty()) {
      return absl::FailedPreconditionError("the coordinator's answer holds no proper certificate");
    }
    for (const PemBlock& block : *blocks) text += block.text;
  }
  RETURN_IF_ERROR(ParseUserBundle(text).status());
  return text;
}

absl::StatusOr<UserBundle> ParseUserBundle(absl::string_view text) {
  UserBundle bundle;
  const size_t pem_begin = std::min(text.find(kBegin), text.size());
  const std::vector<absl::string_view> lines = absl::StrSplit(text.substr(0, pem_begin), '\n');
  if (lines.empty() || absl::StripAsciiWhitespace(lines[0]) != kFirstLine) {
    return absl::InvalidArgumentError("this is no bundle of `onefold fleet user add`");
  }
  for (const absl::string_view line : lines) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    const std::string value(absl::StripAsciiWhitespace(parts.second));
    if (parts.first == "name") bundle.name = value;
    if (parts.first == "role") bundle.role = value;
    if (parts.first == "coordinator") bundle.coordinator = value;
    if (parts.first == "expires") bundle.expires = value;
  }
  const auto blocks = PemBlocks(text.substr(pem_begin));
  if (!blocks.has_value()) return absl::InvalidArgumentError("a PEM block of it is damaged");
  for (const PemBlock& block : *blocks) {
    if (absl::EndsWith(block.label, "PRIVATE KEY")) {
      bundle.key_pem = block.text;
    } else if (block.label != "CERTIFICATE") {
      return absl::InvalidArgumentError(absl::StrCat("what is a ", Escape(block.label), "?"));
    } else if (bundle.certificate_pem.empty()) {
      bundle.certificate_pem = block.text;
    } else {
      bundle.authority_pem += block.text;
    }
  }
  if (bundle.key_pem.empty()) return absl::InvalidArgumentError("the key is missing in it");
  if (bundle.authority_pem.empty()) {
    return absl::InvalidArgumentError(
        "a certificate is missing in it: the person's, or the fleet's");
  }
  return bundle;
}

absl::StatusOr<UserBundle> ReadUserBundle(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FileError(path, errno);
  struct stat status = {};
  std::string text(kBundleBytesMax + 1, '\0');
  size_t size = 0;
  ssize_t count = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? 1 : -1;
  if (count < 0 && !S_ISREG(status.st_mode)) errno = EINVAL;
  while (count > 0 && size < text.size()) {
    count = read(fd, text.data() + size, text.size() - size);
    if (count > 0) size += static_cast<size_t>(count);
  }
  const int error = errno;
  close(fd);
  if (count < 0) return FileError(path, error);
  if (size > kBundleBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(Escape(path), ": too large for a bundle"));
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        Escape(path), " holds a key, and others may read it: chmod 600 ", Escape(path)));
  }
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(Escape(path), " holds a key, and belongs to somebody else"));
  }
  text.resize(size);
  ASSIGN_OR_RETURN(UserBundle bundle, ParseUserBundle(text), Escape(path));
  return bundle;
}

absl::StatusOr<UserBundleFile> UserBundleFile::Create(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return FileError(path, errno);
  return UserBundleFile(path, fd);
}

UserBundleFile::UserBundleFile(UserBundleFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

UserBundleFile::~UserBundleFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(path_.c_str());
}

absl::Status UserBundleFile::Write(absl::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd_, text.data(), text.size());
    if (count < 0 && errno != EINTR) return FileError(path_, errno);
    if (count > 0) text.remove_prefix(static_cast<size_t>(count));
  }
  if (fsync(fd_) != 0) return FileError(path_, errno);
  if (close(std::exchange(fd_, -1)) != 0) return FileError(path_, errno);
  return absl::OkStatus();
}

}  // namespace onefold
