#include "cli/coordinator_backup.h"

#include <fcntl.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/grpc_status.h"
#include "common/status_macros.h"
#include "coordinator/state_directory.h"
#include "onefold/v1/maintenance_service.grpc.pb.h"

namespace onefold {
namespace {

namespace fs = std::filesystem;

// Says that a directory is a backup, and of which layout.
constexpr char kMarker[] = "ONEFOLD_BACKUP";
constexpr char kMarkerText[] = "onefold backup 1\n";
constexpr std::chrono::minutes kDeadline(30);

absl::Status FromError(const std::error_code& error, absl::string_view what) {
  return error ? absl::ErrnoToStatus(error.value(), what) : absl::OkStatus();
}

absl::Status Copy(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::copy(from, to, fs::copy_options::recursive, error);
  return FromError(error, absl::StrCat("copying ", from, " to ", to));
}

// All that was written on the filesystem of `directory` is on the disk when it returns.
absl::Status SyncFilesystem(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && ::syncfs(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  return synced ? absl::OkStatus() : absl::ErrnoToStatus(error, directory);
}

absl::Status Rename(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return FromError(error, absl::StrCat("renaming ", from));
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() != fs::file_type::not_found;
}

// The copy of `state` that a running coordinator holds until this object goes.
class HeldCheckpoint {
 public:
  explicit HeldCheckpoint(const std::string& state_directory)
      : stub_(v1::MaintenanceService::NewStub(
            grpc::CreateChannel(absl::StrCat("unix:", ControlSocket(state_directory)),
                                grpc::InsecureChannelCredentials()))) {
    context_.set_deadline(std::chrono::system_clock::now() + kDeadline);
    stream_ = stub_->HoldCheckpoint(&context_);
  }
  ~HeldCheckpoint() { End().IgnoreError(); }
  HeldCheckpoint(const HeldCheckpoint&) = delete;
  HeldCheckpoint& operator=(const HeldCheckpoint&) = delete;

  absl::StatusOr<std::string> Directory() {
    v1::HoldCheckpointResponse response;
    if (stream_->Write(v1::HoldCheckpointRequest()) && stream_->Read(&response)) {
      return response.directory();
    }
    RETURN_IF_ERROR(End(), "the coordinator that runs there makes no copy of its state");
    return absl::InternalError("the coordinator ended the call");
  }

 private:
  absl::Status End() {
    if (ended_) return absl::OkStatus();
    ended_ = true;
    stream_->WritesDone();
    return FromGrpcStatus(stream_->Finish());
  }

  const std::unique_ptr<v1::MaintenanceService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::HoldCheckpointRequest, v1::HoldCheckpointResponse>>
      stream_;
  bool ended_ = false;
};

absl::Status CopyState(const std::string& state_directory, const std::string& to) {
  const absl::StatusOr<index::DirectoryLock> lock = index::DirectoryLock::Take(state_directory);
  if (lock.ok()) return Copy(state_directory + "/state", to + "/state");
  if (!absl::IsFailedPrecondition(lock.status())) return lock.status();
  HeldCheckpoint checkpoint(state_directory);
  ASSIGN_OR_RETURN(const std::string held, checkpoint.Directory());
  return Copy(held + "/state", to + "/state");
}

absl::Status CopyIdentity(const std::string& from, const std::string& to) {
  if (!Exists(from + "/identity")) return absl::OkStatus();
  return Copy(from + "/identity", to + "/identity");
}

// `path` and all below get the owner of `like`: root may restore what a service user runs.
absl::Status GiveTo(const struct stat& like, const std::string& path) {
  if (::geteuid() != 0) return absl::OkStatus();
  const auto give = [&](const fs::path& each) {
    return ::lchown(each.c_str(), like.st_uid, like.st_gid) == 0
               ? absl::OkStatus()
               : absl::ErrnoToStatus(errno, each.string());
  };
  RETURN_IF_ERROR(give(path));
  std::error_code error;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    RETURN_IF_ERROR(give(entry->path()));
  }
  return FromError(error, path);
}

absl::Status CheckBackup(const std::string& directory) {
  std::ifstream file(absl::StrCat(directory, "/", kMarker));
  std::string line;
  std::getline(file, line);
  if (absl::StrCat(line, "\n") == kMarkerText) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(directory, " is no backup that this version of onefold has made"));
}

}  // namespace

std::string ControlSocket(const std::string& state_directory) {
  return state_directory + "/control.sock";
}

absl::Status BackUpCoordinator(const std::string& state_directory, const std::string& directory) {
  if (Exists(directory)) {
    return absl::AlreadyExistsError(
        absl::StrCat(directory, " exists; a backup goes into a new directory"));
  }
  if (!Exists(state_directory + "/state")) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no coordinator's state in ", state_directory));
  }
  ::umask(077);
  const std::string partial = directory + ".partial";
  std::error_code error;
  fs::remove_all(partial, error);
  fs::create_directories(partial, error);
  RETURN_IF_ERROR(FromError(error, absl::StrCat("making ", partial)));
  RETURN_IF_ERROR(CopyState(state_directory, partial));
  RETURN_IF_ERROR(CopyIdentity(state_directory, partial));
  std::ofstream marker(absl::StrCat(partial, "/", kMarker));
  marker << kMarkerText;
  marker.close();
  if (!marker) return absl::ErrnoToStatus(EIO, absl::StrCat(partial, "/", kMarker));
  RETURN_IF_ERROR(SyncFilesystem(partial));
  RETURN_IF_ERROR(Rename(partial, directory));
  return SyncFilesystem(directory);
}

absl::Status RestoreCoordinator(const std::string& directory, const std::string& state_directory) {
  RETURN_IF_ERROR(CheckBackup(directory));
  ::umask(077);
  RETURN_IF_ERROR(index::MakeStateDirectory(state_directory));
  ASSIGN_OR_RETURN(const index::DirectoryLock lock, index::DirectoryLock::Take(state_directory));
  for (const char* name : {"/state", "/identity"}) {
    if (!Exists(state_directory + name)) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        state_directory, name, " exists; move it away if the backup is to take its place"));
  }
  struct stat like;
  if (::stat(state_directory.c_str(), &like) != 0) {
    return absl::ErrnoToStatus(errno, state_directory);
  }
  const std::string partial = state_directory + "/restore.partial";
  std::error_code error;
  fs::remove_all(partial, error);
  fs::create_directory(partial, error);
  RETURN_IF_ERROR(FromError(error, absl::StrCat("making ", partial)));
  RETURN_IF_ERROR(Copy(directory + "/state", partial + "/state"));
  RETURN_IF_ERROR(CopyIdentity(directory, partial));
  RETURN_IF_ERROR(GiveTo(like, partial));
  RETURN_IF_ERROR(SyncFilesystem(partial));
  // An index that is there belongs to a later life.
  if (Exists(state_directory + "/index")) fs::remove_all(state_directory + "/index", error);
  RETURN_IF_ERROR(FromError(error, absl::StrCat("removing ", state_directory, "/index")));
  if (Exists(partial + "/identity")) {
    RETURN_IF_ERROR(Rename(partial + "/identity", state_directory + "/identity"));
  }
  RETURN_IF_ERROR(Rename(partial + "/state", state_directory + "/state"));
  fs::remove_all(partial, error);
  return SyncFilesystem(state_directory);
}

}  // namespace onefold
