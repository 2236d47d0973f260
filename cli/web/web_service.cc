#include "cli/web/web_service.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/web/http_server.h"
#include "cli/web/json_gateway.h"
#include "cli/web/page_files.h"
#include "cli/web/request_guard.h"
#include "common/escape.h"
#include "common/identity/network_address.h"
#include "common/identity/random.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr char kApi[] = "/api/v1/";
constexpr size_t kTagBytes = 12;

bool IsLoopbackPeer(const std::string& peer) {
  return peer == "::1" || absl::StartsWith(peer, "127.") || absl::StartsWith(peer, "::ffff:127.");
}

HttpResponse Plain(int status, absl::string_view text) {
  HttpResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::string(text);
  return response;
}

// The name by which people reach what listens on `host`.
std::string NameFor(const std::string& host, const std::vector<std::string>& names) {
  const bool any = host == "0.0.0.0" || host == "::";
  return any && !names.empty() ? names.front() : host;
}

class WebServiceImpl final : public WebService {
 public:
  WebServiceImpl(Options options, Identity& identity, std::shared_ptr<grpc::Channel> channel,
                 Metrics metrics, Clock& clock, Log& log)
      : options_(std::move(options)),
        identity_(identity),
        metrics_(std::move(metrics)),
        clock_(clock),
        log_(log),
        tls_(!PlainTextAllowed(options_.web.listen)),
        gateway_(std::move(channel)) {
    for (const std::string& name : options_.names) names_.insert(absl::AsciiStrToLower(name));
    for (const PageFile& file : PageFiles()) {
      tags_[file.path] = absl::StrCat(
          "\"", absl::BytesToHexString(identity::Sha256(file.content).substr(0, kTagBytes)), "\"");
    }
  }

  ~WebServiceImpl() override {
    gateway_.EndStreams();
    server_.reset();
  }

  absl::Status Serve() {
    ASSIGN_OR_RETURN(const HostAndPort address, ParseHostAndPort(options_.web.listen));
    const std::string own = options_.web.identity_file;
    const std::string file = !tls_ ? "" : own.empty() ? identity_.server_file() : own;
    ASSIGN_OR_RETURN(
        server_,
        HttpServer::Start({.host = address.host, .port = address.port, .identity_file = file},
                          [this](const HttpRequest& request) { return Answer(request); }));
    page_address_ = std::string(absl::StripSuffix(options_.web.page_address, "/"));
    if (page_address_.empty()) {
      page_address_ = absl::StrCat(
          tls_ ? "https://" : "http://",
          ToString(HostAndPort{NameFor(address.host, options_.names), server_->port()}));
    } else if (const size_t scheme = page_address_.find("://"); scheme != page_address_.npos) {
      names_.insert(HostOf(page_address_.substr(scheme + 3)));
    }
    return absl::OkStatus();
  }

  const std::string& page_address() const override { return page_address_; }

 private:
  HttpResponse Answer(const HttpRequest& request) {
    HttpResponse response = Route(request);
    AddSecurityHeaders(tls_, response);
    return response;
  }

  HttpResponse Route(const HttpRequest& request) {
    if (request.path == "/healthz") return Plain(200, "ok\n");
    if (request.path == "/metrics") return MetricsAnswer(request);
    if (const absl::Status ours = CheckHost(request, names_); !ours.ok()) {
      return Plain(421, absl::StrCat(ours.message(), "\n"));
    }
    absl::string_view rest = request.path;
    if (absl::ConsumePrefix(&rest, kApi)) {
      HttpResponse response = Api(rest, request);
      response.headers.emplace_back("Cache-Control", "no-store");
      return response;
    }
    return File(request);
  }

  HttpResponse File(const HttpRequest& request) {
    const PageFile* const file = request.method == "GET" ? FindPageFile(request.path) : nullptr;
    if (file == nullptr) return Plain(404, "there is no such page\n");
    const std::string& tag = tags_.at(file->path);
    HttpResponse response;
    response.content_type = std::string(file->content_type);
    response.headers = {{"ETag", tag}, {"Cache-Control", "no-cache"}};
    if (request.Header("if-none-match") == tag) {
      response.status = 304;
    } else {
      response.body = std::string(file->content);
    }
    return response;
  }

  HttpResponse MetricsAnswer(const HttpRequest& request) {
    const bool may = options_.web.metrics_for == WebOptions::MetricsFor::kEverybody ||
                     (options_.web.metrics_for == WebOptions::MetricsFor::kLoopback &&
                      IsLoopbackPeer(request.peer) && CheckHost(request, names_).ok());
    if (!may || metrics_ == nullptr) return Plain(403, "metrics_for does not allow it\n");
    HttpResponse response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = metrics_();
    return response;
  }

  HttpResponse Api(absl::string_view path, const HttpRequest& request) {
    if (const absl::Status ours = CheckOrigin(request); !ours.ok()) return ErrorResponse(ours);
    if (path == "sign-in") return SignIn(request);
    if (path == "sign-out") return SignOut(request);
    const absl::StatusOr<Caller> caller = CallerOf(request);
    if (!caller.ok()) return ErrorResponse(caller.status());
    if (path == "session") return SessionAnswer(*caller);
    HttpResponse response = gateway_.Handle(path, request, *caller);
    if (request.method != "GET") {
      log_.Info("asked for on the web page", {{"who", ToString(*caller)},
                                              {"what", std::string(path)},
                                              {"answer", absl::StrCat(response.status)}});
    }
    return response;
  }

  absl::StatusOr<Caller> CallerOf(const HttpRequest& request) const {
    const std::string cookie = SessionCookieOf(request, tls_);
    const absl::StatusOr<Caller> signed_in = identity_.SessionCaller(cookie, clock_.Now());
    if (signed_in.ok() || tls_ || options_.web.loopback_role == Role::kNone ||
        !IsLoopbackPeer(request.peer)) {
      return signed_in;
    }
    return Caller{.kind = Caller::Kind::kUser, .id = "", .role = options_.web.loopback_role};
  }

  HttpResponse SessionAnswer(const Caller& caller) const {
    nlohmann::json json = {
        {"schema", "onefold.session.v1"},
        {"name", caller.id.empty() ? nlohmann::json() : nlohmann::json(caller.id)},
        {"role", std::string(ToString(caller.role))},
        {"version", options_.version}};
    HttpResponse response;
    response.body = json.dump();
    return response;
  }

  HttpResponse SignIn(const HttpRequest& request) {
    if (request.method != "POST") return ErrorResponse(absl::UnimplementedError("POST it"));
    const nlohmann::json body = nlohmann::json::parse(request.body, nullptr, false);
    std::string token;
    if (body.is_object() && body.contains("token") && body["token"].is_string()) {
      token = body["token"].get<std::string>();
    }
    const auto session =
        identity_.SignInToPage(token, absl::StrCat("web:", request.peer), clock_.Now());
    if (!session.ok()) {
      log_.Warning("somebody could not sign in",
                   {{"peer", request.peer}, {"reason", std::string(session.status().message())}});
      return ErrorResponse(session.status());
    }
    log_.Info("somebody has signed in", {{"who", session->caller.id}, {"peer", request.peer}});
    HttpResponse response = SessionAnswer(session->caller);
    response.headers.emplace_back(
        "Set-Cookie", SessionCookie(session->cookie, session->expire_time - clock_.Now(), tls_));
    return response;
  }

  HttpResponse SignOut(const HttpRequest& request) {
    if (request.method != "POST") return ErrorResponse(absl::UnimplementedError("POST it"));
    const absl::Status done = identity_.SignOut(SessionCookieOf(request, tls_));
    HttpResponse response = done.ok() ? HttpResponse() : ErrorResponse(done);
    if (done.ok()) response.body = "{}";
    response.headers.emplace_back("Set-Cookie", NoSessionCookie(tls_));
    return response;
  }

  const Options options_;
  Identity& identity_;
  const Metrics metrics_;
  Clock& clock_;
  Log& log_;
  const bool tls_;
  std::set<std::string> names_;                    // not changed once it serves
  std::map<absl::string_view, std::string> tags_;  // of the page's files; not changed either
  JsonGateway gateway_;
  std::string page_address_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WebService>> WebService::Start(
    const Options& options, Identity& identity, std::shared_ptr<grpc::Channel> channel,
    Metrics metrics, Clock& clock, Log& log) {
  auto service = std::make_unique<WebServiceImpl>(options, identity, std::move(channel),
                                                  std::move(metrics), clock, log);
  RETURN_IF_ERROR(service->Serve());
  return service;
}

}  // namespace onefold
