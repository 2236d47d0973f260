#include "cli/query_source.h"

#include <fcntl.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/coordinator_backup.h"
#include "cli/dedupe_arguments.h"
#include "cli/fleet/grpc_channel.h"
#include "cli/local_queries.h"
#include "common/check.h"
#include "common/escape.h"
#include "common/status_macros.h"
#include "coordinator/query/scratch_store.h"
#include "coordinator/query/single_host.h"
#include "coordinator/rocks_store.h"
#include "coordinator/state_directory.h"

namespace onefold {
namespace {

// Below its directory, `onefold standalone` keeps that of its coordinator.
constexpr char kStandalonePart[] = "/coordinator";
constexpr int kResponseBytesMax = 64 * 1024 * 1024;
// Nobody works meanwhile: memory for looking through an index of millions of extents.
constexpr size_t kIndexCacheBytes = 16 << 20;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class ChannelSource final : public QuerySource {
 public:
  ChannelSource(std::string name, std::shared_ptr<grpc::Channel> channel)
      : name_(std::move(name)),
        channel_(std::move(channel)),
        stub_(v1::QueryService::NewStub(channel_)) {}

  v1::QueryService::StubInterface& queries() override { return *stub_; }
  std::shared_ptr<grpc::Channel> channel() override { return channel_; }
  const std::string& name() const override { return name_; }
  bool is_still() const override { return false; }

 private:
  const std::string name_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::QueryService::StubInterface> stub_;
};

// The databases of a directory, and a server without a port that answers from them.
class StillSource final : public QuerySource {
 public:
  StillSource(std::string name, std::unique_ptr<index::OrderedStore> index,
              std::unique_ptr<index::OrderedStore> state, std::vector<query::CountedVolume> volumes)
      : name_(std::move(name)),
        index_(std::move(index)),
        state_(std::move(state)),
        volumes_(std::move(volumes)) {}
  ~StillSource() override {
    stub_.reset();
    channel_.reset();
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  }

  absl::Status Serve(Clock& clock, bool running) {
    ASSIGN_OR_RETURN(local_, LocalQueries::Open({.clock = clock,
                                                 .index = *index_,
                                                 .state = *state_,
                                                 .volumes = [this] { return volumes_; },
                                                 .running = running,
                                                 .census_at_once = true}));
    grpc::ServerBuilder builder;
    builder.RegisterService(&local_->service());
    builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
    server_ = builder.BuildAndStart();
    CHECK(server_ != nullptr);  // without a port there is nothing that could fail
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kResponseBytesMax);
    channel_ = server_->InProcessChannel(arguments);
    stub_ = v1::QueryService::NewStub(channel_);
    return absl::OkStatus();
  }

  v1::QueryService::StubInterface& queries() override { return *stub_; }
  std::shared_ptr<grpc::Channel> channel() override { return channel_; }
  const std::string& name() const override { return name_; }
  bool is_still() const override { return true; }

 private:
  const std::string name_;
  // In this order: what comes later refers to what comes before.
  const std::unique_ptr<index::OrderedStore> index_;
  const std::unique_ptr<index::OrderedStore> state_;
  const std::vector<query::CountedVolume> volumes_;
  std::unique_ptr<LocalQueries> local_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::QueryService::StubInterface> stub_;
};

// Whether somebody listens there.
bool IsServed(const std::string& socket_path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool served =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  ::close(fd);
  return served;
}

// Whether a process works with the directory: it holds the lock.
bool IsInUse(const std::string& directory) {
  const int fd = ::open((directory + "/lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool in_use = ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return in_use;
}

absl::Status CheckReadable(const std::string& directory) {
  struct stat status = {};
  if (::stat(directory.c_str(), &status) != 0) {
    if (errno == ENOENT) {
      return absl::NotFoundError(absl::StrCat("there is no directory ", Escape(directory)));
    }
    return absl::ErrnoToStatus(errno, Escape(directory));
  }
  if (!S_ISDIR(status.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(Escape(directory), " is no directory"));
  }
  if (::access(directory.c_str(), R_OK | X_OK) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("the state in ", Escape(directory), " may not be read by you: try as root"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<QuerySource>> OpenStill(const std::string& directory, Clock& clock) {
  const std::string state_directory = directory + "/state";
  const std::string index_directory = directory + "/index";
  RETURN_IF_ERROR(index::CheckDatabaseDirectory(state_directory, "state", index::kStateFormat));
  absl::StatusOr<std::unique_ptr<index::OrderedStore>> state =
      index::OpenRocksStoreReadOnly(state_directory, {});
  if (absl::IsNotFound(state.status())) {
    return absl::NotFoundError(
        absl::StrCat("there is no state in ", Escape(directory), ": nothing has run with it yet"));
  }
  RETURN_IF_ERROR(state.status());
  // The index is soft: without it there is less to say.
  std::unique_ptr<index::OrderedStore> index = std::make_unique<query::ScratchStore>();
  std::vector<query::CountedVolume> volumes;
  const absl::Status checked =
      index::CheckDatabaseDirectory(index_directory, "index", index::kIndexFormat);
  if (checked.ok()) {
    auto opened =
        index::OpenRocksStoreReadOnly(index_directory, {.block_cache_bytes = kIndexCacheBytes});
    if (opened.ok()) {
      auto read = query::ReadVolumes(**opened);
      if (read.ok()) {
        volumes = *std::move(read);
        index = *std::move(opened);
      }
    }
  }
  auto source = std::make_unique<StillSource>(directory, std::move(index), *std::move(state),
                                              std::move(volumes));
  RETURN_IF_ERROR(source->Serve(clock, IsInUse(directory)));
  return source;
}

// Whether one is named, or was found on this machine.
bool IsNamed(const QuerySourceArguments& arguments, const Connection& connection) {
  return !arguments.connection.coordinator.empty() || !Environment("ONEFOLD_COORDINATOR").empty() ||
         connection.identity.has_value() || connection.address.is_unix;
}

}  // namespace

absl::StatusOr<std::unique_ptr<QuerySource>> OpenStateDirectory(const std::string& directory,
                                                                Clock& clock) {
  RETURN_IF_ERROR(CheckReadable(directory));
  for (const std::string& place : {directory, directory + kStandalonePart}) {
    const std::string socket_path = ControlSocket(place);
    if (!IsServed(socket_path)) continue;
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kResponseBytesMax);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    return std::make_unique<ChannelSource>(
        directory, grpc::CreateCustomChannel(absl::StrCat("unix:", socket_path),
                                             grpc::InsecureChannelCredentials(), arguments));
  }
  auto source = OpenStill(directory, clock);
  if (!absl::IsNotFound(source.status())) return source;
  auto standalone = OpenStill(directory + kStandalonePart, clock);
  return absl::IsNotFound(standalone.status()) ? std::move(source) : std::move(standalone);
}

absl::StatusOr<std::unique_ptr<QuerySource>> OpenQuerySource(const QuerySourceArguments& arguments,
                                                             Clock& clock) {
  if (!arguments.state_directory.empty()) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(arguments.state_directory, error);
    if (error) return absl::ErrnoToStatus(error.value(), Escape(arguments.state_directory));
    return OpenStateDirectory(absolute.string(), clock);
  }
  const absl::StatusOr<Connection> connection = FindConnection(arguments.connection);
  if (connection.ok() && !IsNamed(arguments, *connection)) {
    const std::string directory =
        DefaultStateDirectory(::geteuid() == 0, Environment("XDG_STATE_HOME"), Environment("HOME"));
    if (!directory.empty()) {
      auto source = OpenStateDirectory(directory, clock);
      if (!absl::IsNotFound(source.status())) return source;
    }
  }
  RETURN_IF_ERROR(connection.status());
  ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel,
                   NewCoordinatorChannel(*connection, arguments.connection.insecure));
  return std::make_unique<ChannelSource>(connection->address.text, std::move(channel));
}

}  // namespace onefold
