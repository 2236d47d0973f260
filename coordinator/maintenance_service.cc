#include "coordinator/maintenance_service.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/grpc_status.h"

namespace onefold {

MaintenanceService::MaintenanceService(const std::string& state_directory, Coordinator& coordinator)
    : directory_(state_directory + "/checkpoint"), coordinator_(coordinator) {
  Remove();
}

grpc::Status MaintenanceService::HoldCheckpoint(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<v1::HoldCheckpointResponse, v1::HoldCheckpointRequest>* stream) {
  if (!absl::StartsWith(context->peer(), "unix:")) {
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "only over a Unix socket");
  }
  v1::HoldCheckpointRequest request;
  if (!stream->Read(&request)) return grpc::Status::OK;
  if (busy_.exchange(true)) {
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "another backup is under way");
  }
  const absl::Status made = Make();
  if (made.ok()) {
    v1::HoldCheckpointResponse response;
    response.set_directory(directory_);
    stream->Write(response);
    while (stream->Read(&request)) {
    }
  }
  Remove();
  busy_ = false;
  return ToGrpcStatus(made);
}

absl::Status MaintenanceService::Make() {
  Remove();
  std::error_code error;
  std::filesystem::create_directory(directory_, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("making ", directory_));
  return coordinator_.CheckpointState(directory_ + "/state");
}

void MaintenanceService::Remove() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace onefold
