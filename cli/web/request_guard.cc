#include "cli/web/request_guard.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace onefold {
namespace {

constexpr size_t kHostBytesMax = 300;  // a name has at most 253

bool IsAddress(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

bool IsPort(absl::string_view text) {
  int port = 0;
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, &port) && port > 0 && port < 65536;
}

// Only over TLS does a browser keep the prefix's promise: nobody else sets it, no other host gets
// it.
absl::string_view CookieName(bool tls) { return tls ? "__Host-onefold" : "onefold"; }

std::string MakeCookie(absl::string_view value, absl::Duration lifetime, bool tls) {
  return absl::StrCat(CookieName(tls), "=", value,
                      "; Path=/; Max-Age=", absl::ToInt64Seconds(lifetime),
                      "; HttpOnly; SameSite=Strict", tls ? "; Secure" : "");
}

}  // namespace

std::string HostOf(absl::string_view host_header) {
  if (host_header.empty() || host_header.size() > kHostBytesMax) return "";
  absl::string_view host = host_header;
  absl::string_view rest;
  if (absl::ConsumePrefix(&host, "[")) {
    const size_t close = host.find(']');
    if (close == host.npos) return "";
    rest = host.substr(close + 1);
    host = host.substr(0, close);
  } else if (const size_t colon = host.find(':'); colon != host.npos) {
    rest = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (!rest.empty() && (!absl::ConsumePrefix(&rest, ":") || !IsPort(rest))) return "";
  return absl::AsciiStrToLower(absl::StripSuffix(host, "."));
}

absl::Status CheckHost(const HttpRequest& request, const std::set<std::string>& names) {
  const std::string host = HostOf(request.Header("host"));
  if (!host.empty() && (host == "localhost" || IsAddress(host) || names.contains(host))) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      "this page does not go by that name: say it with web_address in the configuration");
}

absl::Status CheckOrigin(const HttpRequest& request) {
  const absl::string_view site = request.Header("sec-fetch-site");
  if (!site.empty() && site != "same-origin" && site != "none") {
    return absl::PermissionDeniedError("another page asks");
  }
  const absl::string_view origin = request.Header("origin");
  if (!origin.empty()) {
    const size_t scheme = origin.find("://");
    if (scheme == origin.npos ||
        !absl::EqualsIgnoreCase(origin.substr(scheme + 3), request.Header("host"))) {
      return absl::PermissionDeniedError("another page asks");
    }
  }
  if (request.method != "GET" && request.Header(kOwnHeader).empty()) {
    return absl::PermissionDeniedError(
        absl::StrCat("what changes something needs the header ", kOwnHeader));
  }
  return absl::OkStatus();
}

std::string SessionCookieOf(const HttpRequest& request, bool tls) {
  for (absl::string_view part : absl::StrSplit(request.Header("cookie"), ';')) {
    part = absl::StripAsciiWhitespace(part);
    if (absl::ConsumePrefix(&part, CookieName(tls)) && absl::ConsumePrefix(&part, "=")) {
      return std::string(part);
    }
  }
  return "";
}

std::string SessionCookie(absl::string_view secret, absl::Duration lifetime, bool tls) {
  return MakeCookie(secret, lifetime, tls);
}

std::string NoSessionCookie(bool tls) { return MakeCookie("", absl::ZeroDuration(), tls); }

void AddSecurityHeaders(bool tls, HttpResponse& response) {
  response.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
      "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'");
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("X-Frame-Options", "DENY");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  if (tls) response.headers.emplace_back("Strict-Transport-Security", "max-age=31536000");
}

}  // namespace onefold
