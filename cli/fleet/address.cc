#include "cli/fleet/address.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/escape.h"

namespace onefold {
namespace {

constexpr size_t kAddressBytesMax = 255;
constexpr size_t kSocketPathBytesMax = 107;  // sockaddr_un

absl::Status Wrong(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("'", Escape(text),
                                                 "' is no address of a coordinator: ", why,
                                                 " (HOST, HOST:PORT, [IPV6]:PORT or unix:/PATH)"));
}

bool IsHostByte(char c, bool in_brackets) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_' ||
         (in_brackets && (c == ':' || c == '%'));
}

bool IsLoopback(const std::string& host) {
  if (absl::EqualsIgnoreCase(host, "localhost") || host == "::1") return true;
  // Only a whole IPv4 address: "127.evil.example" is a name like any other.
  return absl::StartsWith(host, "127.") && std::count(host.begin(), host.end(), '.') == 3 &&
         host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  if (text.empty()) return Wrong(text, "it is empty");
  if (text.size() > kAddressBytesMax) return Wrong(text.substr(0, 40), "it is too long");
  absl::string_view path = text;
  if (absl::ConsumePrefix(&path, "unix:")) {
    if (!absl::StartsWith(path, "/")) return Wrong(text, "the socket's path must begin with /");
    if (path.size() > kSocketPathBytesMax) return Wrong(text, "the socket's path is too long");
    return Address{std::string(text), std::string(text), true, false};
  }
  const bool in_brackets = text.front() == '[';
  const size_t host_end = in_brackets ? text.find(']') : std::min(text.find(':'), text.size());
  if (host_end == absl::string_view::npos) return Wrong(text, "the bracket is not closed");
  const std::string host(in_brackets ? text.substr(1, host_end - 1) : text.substr(0, host_end));
  absl::string_view rest = text.substr(in_brackets ? host_end + 1 : host_end);
  if (!in_brackets && std::count(rest.begin(), rest.end(), ':') > 1) {
    return Wrong(text, "an IPv6 address stands in brackets");
  }
  if (host.empty() || host.front() == '-') return Wrong(text, "the host is missing");
  if (!std::all_of(host.begin(), host.end(), [&](char c) { return IsHostByte(c, in_brackets); })) {
    return Wrong(text, "the host has characters that no host has");
  }
  int port = kCoordinatorPort;
  if (!rest.empty()) {
    if (!absl::ConsumePrefix(&rest, ":") || rest.empty() ||
        rest.find_first_not_of("0123456789") != absl::string_view::npos ||
        !absl::SimpleAtoi(rest, &port) || port < 1 || port > 65535) {
      return Wrong(text, "the port is a number from 1 to 65535");
    }
  }
  Address address;
  address.text = in_brackets ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
  address.target = absl::StrCat("dns:///", address.text);
  address.is_loopback = IsLoopback(host);
  return address;
}

}  // namespace onefold
