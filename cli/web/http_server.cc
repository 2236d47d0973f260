#include "cli/web/http_server.h"

#include <httplib.h>
#include <sys/socket.h>

#include <deque>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/identity/network_address.h"
#include "common/identity/server_context.h"
#include "common/mutex.h"

namespace onefold {
namespace {

// Connections that wait for a thread; those beyond wait in the kernel.
constexpr size_t kWaitingMax = 256;
constexpr int kPeerPatienceSeconds = 10;
constexpr int kKeepAliveSeconds = 5;
constexpr size_t kKeepAliveRequestsMax = 200;

// The library's own queue grows without end.
class BoundedQueue final : public httplib::TaskQueue {
 public:
  BoundedQueue() {
    for (int i = 0; i < HttpServer::kThreadCount; ++i) threads_.emplace_back([this] { Work(); });
  }

  void enqueue(std::function<void()> task) override {
    MutexLock lock(&mutex_);
    while (tasks_.size() >= kWaitingMax && !stopping_) changed_.Wait(&mutex_);
    tasks_.push_back(std::move(task));
    changed_.NotifyAll();
  }

  void shutdown() override {
    {
      MutexLock lock(&mutex_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void Work() {
    while (true) {
      std::function<void()> task;
      {
        MutexLock lock(&mutex_);
        while (tasks_.empty() && !stopping_) changed_.Wait(&mutex_);
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
        changed_.NotifyAll();
      }
      task();
    }
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

HttpRequest FromLibrary(const httplib::Request& request) {
  HttpRequest result;
  result.method = request.method == "HEAD" ? "GET" : request.method;
  result.path = request.path;
  for (const auto& [name, value] : request.headers) {
    result.headers.emplace(absl::AsciiStrToLower(name), value);
  }
  // The library adds these two, under names that a peer could also send.
  result.headers.erase("remote_addr");
  result.headers.erase("remote_port");
  for (const auto& [name, value] : request.params) result.parameters.emplace_back(name, value);
  result.body = request.body;
  result.peer = request.remote_addr;
  return result;
}

void ToLibrary(HttpResponse response, httplib::Response& result) {
  result.status = response.status;
  for (const auto& [name, value] : response.headers) result.set_header(name, value);
  if (response.stream == nullptr) {
    result.set_content(response.body, response.content_type);
    return;
  }
  result.set_chunked_content_provider(response.content_type, [stream = std::move(response.stream)](
                                                                 size_t, httplib::DataSink& sink) {
    bool open = true;
    stream([&](absl::string_view piece) {
      open = open && sink.is_writable() && sink.write(piece.data(), piece.size());
      return open;
    });
    if (open) sink.done();
    return open;
  });
}

class HttpServerImpl final : public HttpServer {
 public:
  HttpServerImpl(std::unique_ptr<httplib::Server> server, Handler handler)
      : server_(std::move(server)), handler_(std::move(handler)) {
    server_->new_task_queue = [] { return new BoundedQueue(); };
    server_->set_socket_options([](int socket) {
      // Not SO_REUSEPORT, as the library would: two processes would each get half of the requests.
      const int on = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    });
    server_->set_tcp_nodelay(true);
    server_->set_payload_max_length(kBodyBytesMax);
    server_->set_read_timeout(kPeerPatienceSeconds);
    server_->set_write_timeout(kPeerPatienceSeconds);
    server_->set_keep_alive_timeout(kKeepAliveSeconds);
    server_->set_keep_alive_max_count(kKeepAliveRequestsMax);
    const auto answer = [this](const httplib::Request& request, httplib::Response& response) {
      ToLibrary(handler_(FromLibrary(request)), response);
    };
    server_->Get(".*", answer);
    server_->Post(".*", answer);
    server_->set_exception_handler([](const httplib::Request&, httplib::Response& response,
                                      const std::exception_ptr&) { response.status = 500; });
    // Of what the library refuses by itself.
    server_->set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty()) response.set_content("refused\n", "text/plain");
    });
  }

  ~HttpServerImpl() override {
    server_->stop();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Listen(const Options& options) {
    port_ = options.port;
    const bool bound = options.port != 0 ? server_->bind_to_port(options.host, options.port)
                                         : (port_ = server_->bind_to_any_port(options.host)) > 0;
    if (!bound) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ",
                                                 ToString(HostAndPort{options.host, options.port}),
                                                 ": in use, or no address of this machine"));
    }
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    // Stopping what does not run yet would not stop it.
    while (!server_->is_running()) std::this_thread::yield();
    return absl::OkStatus();
  }

  int port() const override { return port_; }

 private:
  const std::unique_ptr<httplib::Server> server_;
  const Handler handler_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const Options& options,
                                                              Handler handler) {
  std::unique_ptr<httplib::Server> library;
  if (options.identity_file.empty()) {
    library = std::make_unique<httplib::Server>();
  } else {
    absl::Status prepared = absl::OkStatus();
    library = std::make_unique<httplib::SSLServer>([&](SSL_CTX& context) {
      prepared = identity::PrepareServerContext(&context, options.identity_file);
      return prepared.ok();
    });
    if (!prepared.ok()) return prepared;
  }
  if (!library->is_valid()) return absl::InternalError("the web server could not be made");
  auto server = std::make_unique<HttpServerImpl>(std::move(library), std::move(handler));
  if (absl::Status status = server->Listen(options); !status.ok()) return status;
  return server;
}

}  // namespace onefold
