// What keeps other pages of the same browser, and names that others control, away from the web
// page. Pure.
//
// A browser sends its cookie along whoever makes it ask. So: the cookie is SameSite=Strict; what
// changes something must carry a header that other origins cannot set without asking first, which
// we never answer; and an Origin, if there is one, must be ours. A name whose owner lets it point
// to 127.0.0.1 (DNS rebinding) would make another page the same origin as ours: only numbers,
// "localhost" and names that are ours are served.

#ifndef ONEFOLD_CLI_WEB_REQUEST_GUARD_H_
#define ONEFOLD_CLI_WEB_REQUEST_GUARD_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/web/http_message.h"

namespace onefold {

// What everything that changes something must carry, with any value.
inline constexpr char kOwnHeader[] = "x-onefold-request";

// The name without port and brackets, in lower case; empty if it is malformed.
std::string HostOf(absl::string_view host_header);

// `names`: in lower case; what the page may be called by beside addresses and "localhost".
//
// PERMISSION_DENIED: it was asked for by another name, or by none.
absl::Status CheckHost(const HttpRequest& request, const std::set<std::string>& names);

// For everything below /api. PERMISSION_DENIED: another page made the browser ask.
absl::Status CheckOrigin(const HttpRequest& request);

// The session of the request; empty if there is none.
std::string SessionCookieOf(const HttpRequest& request, bool tls);
// Values of Set-Cookie.
std::string SessionCookie(absl::string_view secret, absl::Duration lifetime, bool tls);
std::string NoSessionCookie(bool tls);

// What every answer carries.
void AddSecurityHeaders(bool tls, HttpResponse& response);

}  // namespace onefold

#endif  // ONEFOLD_CLI_WEB_REQUEST_GUARD_H_
