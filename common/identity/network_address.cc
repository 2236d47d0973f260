#include "common/identity/network_address.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/escape.h"

namespace onefold {
namespace {

constexpr size_t kHostBytesMax = 253;
constexpr int kPortMax = 65535;

absl::Status Malformed(absl::string_view address) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", Escape(std::string(address.substr(0, kHostBytesMax))),
                   "' is no HOST:PORT (an IPv6 address goes into brackets)"));
}

bool IsHost(absl::string_view text, bool in_brackets) {
  return !text.empty() && text.size() <= kHostBytesMax &&
         std::all_of(text.begin(), text.end(), [in_brackets](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_' ||
                  (in_brackets && (c == ':' || c == '%'));
         });
}

absl::StatusOr<HostAndPort> Parse(absl::string_view address, int port_min) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return Malformed(address);
  absl::string_view host = address.substr(0, colon);
  const absl::string_view port = address.substr(colon + 1);
  const bool in_brackets = absl::ConsumePrefix(&host, "[");
  if (in_brackets && !absl::ConsumeSuffix(&host, "]")) return Malformed(address);
  HostAndPort parsed{.host = std::string(host)};
  const bool is_number = !port.empty() && port.size() <= 5 &&
                         std::all_of(port.begin(), port.end(), absl::ascii_isdigit) &&
                         absl::SimpleAtoi(port, &parsed.port);
  if (!is_number || parsed.port < port_min || parsed.port > kPortMax ||
      !IsHost(host, in_brackets)) {
    return Malformed(address);
  }
  return parsed;
}

}  // namespace

absl::StatusOr<HostAndPort> ParseHostAndPort(absl::string_view address) {
  return Parse(address, /*port_min=*/1);
}

std::string ToString(const HostAndPort& address) {
  const bool needs_brackets = absl::StrContains(address.host, ':');
  return needs_brackets ? absl::StrCat("[", address.host, "]:", address.port)
                        : absl::StrCat(address.host, ":", address.port);
}

bool IsUnixAddress(absl::string_view address) {
  return absl::StartsWith(address, "unix:") || absl::StartsWith(address, "unix-abstract:");
}

bool PlainTextAllowed(absl::string_view address) {
  if (IsUnixAddress(address)) return true;
  // Who listens may say 0: any.
  const absl::StatusOr<HostAndPort> parsed = Parse(address, /*port_min=*/0);
  if (!parsed.ok()) return false;
  if (absl::EqualsIgnoreCase(parsed->host, "localhost")) return true;
  in_addr four = {};
  if (inet_pton(AF_INET, parsed->host.c_str(), &four) == 1) {
    return (ntohl(four.s_addr) >> 24) == 127;
  }
  in6_addr six = {};
  return inet_pton(AF_INET6, parsed->host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

}  // namespace onefold
