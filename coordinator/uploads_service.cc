// The two uploads of CoordinatorService: extents and hits.

#include <algorithm>
#include <utility>
#include <vector>

#include "common/grpc_status.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "coordinator/coordinator_service.h"
#include "coordinator/hit_upload.h"
#include "coordinator/scan_upload.h"
#include "coordinator/sweep.h"
#include "coordinator/wire_orders.h"
#include "coordinator/wire_rows.h"

namespace onefold::index {
namespace {

// How much memory they take once they are parsed; at most what is accepted.
size_t RowsAndAnchors(const v1::ExtentColumns& rows) {
  const auto anchor_count = static_cast<size_t>(rows.anchor_offset_blocks_size());
  return static_cast<size_t>(std::clamp(rows.count(), 0, kUploadRowsPerBatchMax)) +
         std::min<size_t>(anchor_count, kRowsPerRun);
}

}  // namespace

grpc::Status CoordinatorService::UploadExtents(grpc::ServerContext* context, UploadStream* stream) {
  v1::UploadExtentsRequest request;
  if (!stream->Read(&request)) return grpc::Status::OK;
  if (!request.has_begin()) {
    return ToGrpcStatus(absl::InvalidArgumentError("the first message must be begin"));
  }
  const v1::BeginUpload& begin = request.begin();
  switch (begin.kind()) {
    case v1::UPLOAD_KIND_SCAN: return ToGrpcStatus(UploadScan(*context, begin, *stream));
    case v1::UPLOAD_KIND_SWEEP: return ToGrpcStatus(UploadSweep(*context, begin, *stream));
    default: return ToGrpcStatus(absl::InvalidArgumentError("kind: unknown"));
  }
}

absl::Status CoordinatorService::UploadScan(const grpc::ServerContext& context,
                                            const v1::BeginUpload& begin, UploadStream& stream) {
  if (begin.target_generation() < 0) {
    return absl::InvalidArgumentError("target_generation: negative");
  }
  ASSIGN_OR_RETURN(const Admission admission, Admit(context, begin.lease(), begin.incarnation()));
  const int32_t block_bytes = admission.record.block_bytes();
  ScanUpload upload(
      scans_, *admission.volume,
      {.incarnation = begin.incarnation(), .target_generation = begin.target_generation()});
  v1::UploadExtentsRequest request;
  int64_t received_count = 0;  // most of it is not in the index yet
  bool ended = false;
  while (!ended && stream.Read(&request)) {
    RETURN_IF_ERROR(Renew(admission));
    if (request.has_batch()) {
      ASSIGN_OR_RETURN(const uint64_t complete_below,
                       ParseAddress(request.batch().complete_below_address(), block_bytes));
      upload.AwaitRoom(RowsAndAnchors(request.batch().rows()));
      ASSIGN_OR_RETURN(std::vector<Extent> rows,
                       ParseScanRows(request.batch().rows(), block_bytes));
      received_count += static_cast<int64_t>(rows.size());
      RETURN_IF_ERROR(
          rules_.CheckQuota(admission.volume->uuid(),
                            std::max(received_count, admission.volume->Record().extent_count())));
      RETURN_IF_ERROR(upload.Add(std::move(rows), complete_below));
    } else if (request.has_end()) {
      RETURN_IF_ERROR(upload.End());
      ended = true;
    } else {
      return absl::InvalidArgumentError("a message must be batch or end");
    }
    v1::UploadExtentsResponse response;
    const ScanUpload::Progress progress = upload.progress();
    response.set_durable_below_address(progress.durable_below * static_cast<uint64_t>(block_bytes));
    response.set_new_count(progress.new_count);
    if (ended) WriteTotals(admission.volume->Record(), response);
    if (!stream.Write(response)) break;
  }
  return absl::OkStatus();
}

absl::Status CoordinatorService::UploadSweep(const grpc::ServerContext& context,
                                             const v1::BeginUpload& begin, UploadStream& stream) {
  if (begin.target_generation() < 0) {
    return absl::InvalidArgumentError("target_generation: negative");
  }
  ASSIGN_OR_RETURN(const Admission admission, Admit(context, begin.lease(), begin.incarnation()));
  const int32_t block_bytes = admission.record.block_bytes();
  Sweep sweep(index_, *admission.volume,
              {.incarnation = begin.incarnation(), .target_generation = begin.target_generation()});
  v1::UploadExtentsRequest request;
  bool ended = false;
  while (!ended && stream.Read(&request)) {
    RETURN_IF_ERROR(Renew(admission));
    v1::UploadExtentsResponse response;
    if (request.has_batch()) {
      ASSIGN_OR_RETURN(const uint64_t complete_below,
                       ParseAddress(request.batch().complete_below_address(), block_bytes));
      ASSIGN_OR_RETURN(const std::vector<ListedExtent> rows,
                       ParseSweepRows(request.batch().rows(), block_bytes));
      RETURN_IF_ERROR(sweep.Add(rows, complete_below));
      response.set_durable_below_address(sweep.durable_below() *
                                         static_cast<uint64_t>(block_bytes));
    } else if (request.has_end()) {
      RETURN_IF_ERROR(sweep.End());
      ended = true;
    } else {
      return absl::InvalidArgumentError("a message must be batch or end");
    }
    response.set_deleted_count(sweep.deleted_count());
    if (ended) WriteTotals(admission.volume->Record(), response);
    if (!stream.Write(response)) break;
  }
  return absl::OkStatus();
}

grpc::Status CoordinatorService::UploadHits(grpc::ServerContext* context, HitStream* stream) {
  return ToGrpcStatus(StreamHits(*context, *stream));
}

absl::Status CoordinatorService::StreamHits(const grpc::ServerContext& context, HitStream& stream) {
  v1::UploadHitsRequest request;
  if (!stream.Read(&request)) return absl::OkStatus();
  if (!request.has_begin()) return absl::InvalidArgumentError("the first message must be begin");
  ASSIGN_OR_RETURN(const Admission admission,
                   Admit(context, request.begin().lease(), request.begin().incarnation()));
  HitUpload upload(index_, *admission.volume, request.begin().incarnation(),
                   request.begin().full());
  bool ended = false;
  while (!ended && stream.Read(&request)) {
    RETURN_IF_ERROR(Renew(admission));
    if (request.has_batch()) {
      ASSIGN_OR_RETURN(const std::vector<Hit> hits, ParseHits(request.batch()));
      RETURN_IF_ERROR(upload.Add(hits));
    } else if (request.has_end()) {
      RETURN_IF_ERROR(upload.End());
      ended = true;
    } else {
      return absl::InvalidArgumentError("a message must be batch or end");
    }
    v1::UploadHitsResponse response;
    response.set_batch_count(upload.durable_batch_count());
    response.set_match_count(upload.counts().match_count);
    response.set_dropped_count(upload.counts().dropped_count);
    response.set_ended(ended);
    if (!stream.Write(response)) break;
  }
  return absl::OkStatus();
}

}  // namespace onefold::index
