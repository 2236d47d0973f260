#include "worker/grpc_coordinator_client.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/bytes.h"
#include "common/check.h"
#include "common/grpc_status.h"
#include "common/limits.h"
#include "common/mutex.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

static_assert(static_cast<int>(Outcome::kNoPartner) == v1::OUTCOME_NO_PARTNER);
static_assert(static_cast<int>(Holder::kRefused) == v1::HOLDER_REFUSED);
static_assert(static_cast<int>(ChecksumState::kPartial) == v1::CHECKSUM_STATE_PARTIAL);

// Messages that may be under way before the sender waits for acknowledgements.
constexpr int64_t kUnacknowledgedMax = 8;
constexpr size_t kHitsPerBatch = 16384;
// The first call of a run may have the coordinator look through the volume's outcomes again.
constexpr std::chrono::seconds kBeginDeadline(300);
constexpr std::chrono::seconds kRenewDeadline(10);
constexpr std::chrono::seconds kReleaseDeadline(2);
// Whatever the coordinator says, a worker that hears nothing more stops after this.
constexpr absl::Duration kLeaseMax = absl::Hours(1);

// A bidirectional stream whose answers are read by a thread of its own, so that neither side waits
// for the other to read. Add requests with Send; Finish waits for the last answer.
template <typename Request, typename Response>
class AcknowledgedStream {
 public:
  using Stream = grpc::ClientReaderWriterInterface<Request, Response>;

  AcknowledgedStream(std::unique_ptr<grpc::ClientContext> context, std::unique_ptr<Stream> stream)
      : context_(std::move(context)), stream_(std::move(stream)), reader_([this] { Read(); }) {}

  ~AcknowledgedStream() {
    if (reader_.joinable()) {  // given up in the middle
      context_->TryCancel();
      reader_.join();
      stream_->Finish();
    }
  }

  // Blocks while too many messages wait for their acknowledgement. `acknowledged`: it gets one.
  absl::Status Send(const Request& request, bool acknowledged) {
    {
      MutexLock lock(&mutex_);
      while (waiting_ >= kUnacknowledgedMax && !ended_) changed_.Wait(&mutex_);
      if (acknowledged) ++waiting_;
    }
    if (!stream_->Write(request)) return Failure();
    return absl::OkStatus();
  }

  // Sends the last request and returns the last answer.
  absl::StatusOr<Response> Finish(const Request& request) {
    RETURN_IF_ERROR(Send(request, true));
    stream_->WritesDone();
    reader_.join();
    RETURN_IF_ERROR(FromGrpcStatus(stream_->Finish()));
    MutexLock lock(&mutex_);
    return last_;
  }

  // Waits until everything sent is acknowledged.
  absl::Status Drain() {
    {
      MutexLock lock(&mutex_);
      while (waiting_ > 0 && !ended_) changed_.Wait(&mutex_);
      if (waiting_ == 0) return absl::OkStatus();
    }
    return Failure();
  }

 private:
  void Read() {
    Response response;
    while (stream_->Read(&response)) {
      MutexLock lock(&mutex_);
      --waiting_;
      last_ = response;
      changed_.NotifyAll();
    }
    MutexLock lock(&mutex_);
    ended_ = true;
    changed_.NotifyAll();
  }

  // Why the coordinator ended the stream. May be asked again.
  absl::Status Failure() {
    if (reader_.joinable()) {
      context_->TryCancel();
      reader_.join();
      failure_ = FromGrpcStatus(stream_->Finish());
      if (failure_.ok()) {
        failure_ = absl::UnavailableError("the coordinator ended the conversation");
      }
    }
    return failure_;
  }

  const std::unique_ptr<grpc::ClientContext> context_;
  const std::unique_ptr<Stream> stream_;
  Mutex mutex_;
  CondVar changed_;
  int64_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  Response last_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_;  // once the reader was joined
  std::thread reader_;
};

using ExtentStream = AcknowledgedStream<v1::UploadExtentsRequest, v1::UploadExtentsResponse>;
using HitStream = AcknowledgedStream<v1::UploadHitsRequest, v1::UploadHitsResponse>;
using ResultStream = AcknowledgedStream<v1::ReportResultsRequest, v1::ReportResultsResponse>;

// What every call needs to say.
struct Session {
  v1::Lease lease;
  uint64_t incarnation = 0;
  uint64_t block_bytes = 4096;
};

// "HOLDER_OUTSIDE_FILES" → "outside_files".
std::string NameIn(absl::string_view value, absl::string_view prefix) {
  absl::ConsumePrefix(&value, prefix);
  return absl::AsciiStrToLower(value);
}

template <typename Message>
IndexTotals TotalsOf(const Message& message) {
  return {.extent_count = message.extent_count(),
          .extent_bytes = message.extent_bytes(),
          .queued_count = message.queued_count(),
          .head_count = message.head_count(),
          .new_head_count = message.new_head_count()};
}

class GrpcExtentUpload final : public ExtentUpload {
 public:
  GrpcExtentUpload(std::unique_ptr<ExtentStream> stream, const Session& session, bool sweep)
      : stream_(std::move(stream)), block_bytes_(session.block_bytes), sweep_(sweep) {}

  absl::Status Add(const ExtentRow& row) override {
    const uint64_t address = row.address / block_bytes_;
    if (batch_count_ > 0 && address < last_) RETURN_IF_ERROR(Flush());
    v1::ExtentColumns& columns = *batch_.mutable_batch()->mutable_rows();
    columns.add_address_delta_blocks(address - (batch_count_ == 0 ? 0 : last_));
    columns.add_length_blocks(row.length_blocks);
    columns.add_generation(row.generation);
    last_ = address;
    ++batch_count_;
    if (!sweep_) AddFingerprint(row, columns);
    return batch_count_ >= kUploadRowsPerBatch ? Flush() : absl::OkStatus();
  }

  absl::Status CompleteBelow(uint64_t address) override {
    complete_below_ = std::max(complete_below_, address);
    return absl::OkStatus();
  }

  absl::StatusOr<IndexTotals> End() override {
    RETURN_IF_ERROR(Flush());
    v1::UploadExtentsRequest request;
    request.mutable_end();
    ASSIGN_OR_RETURN(const v1::UploadExtentsResponse response, stream_->Finish(request));
    return TotalsOf(response);
  }

 private:
  static void AddFingerprint(const ExtentRow& row, v1::ExtentColumns& columns) {
    const bool complete = row.state == ChecksumState::kComplete;
    const Fingerprint none;
    const Fingerprint& fingerprint = complete ? *row.fingerprint : none;
    const Window head = fingerprint.head.value_or(Window{});
    AppendLittle64(*columns.mutable_digests(), fingerprint.digest);
    AppendLittle64(*columns.mutable_heads(), head.digest);
    columns.add_head_offset_blocks(head.offset_blocks);
    columns.add_checksum_states(static_cast<v1::ChecksumState>(row.state));
    columns.add_anchor_counts(fingerprint.anchors.size());
    for (const Window& anchor : fingerprint.anchors) {
      AppendLittle64(*columns.mutable_anchors(), anchor.digest);
      columns.add_anchor_offset_blocks(anchor.offset_blocks);
    }
  }

  absl::Status Flush() {
    v1::ExtentBatch& batch = *batch_.mutable_batch();
    batch.mutable_rows()->set_count(batch_count_);
    batch.set_complete_below_address(complete_below_);
    RETURN_IF_ERROR(stream_->Send(batch_, true));
    batch_.Clear();
    batch_count_ = 0;
    return absl::OkStatus();
  }

  const std::unique_ptr<ExtentStream> stream_;
  const uint64_t block_bytes_;
  const bool sweep_;
  v1::UploadExtentsRequest batch_;
  int32_t batch_count_ = 0;
  uint64_t last_ = 0;            // address of the last row, in blocks
  uint64_t complete_below_ = 0;  // bytes
};

class GrpcHitUpload final : public HitUpload {
 public:
  GrpcHitUpload(std::unique_ptr<HitStream> stream, const Session& session)
      : stream_(std::move(stream)), block_bytes_(session.block_bytes) {}

  absl::Status Add(uint64_t digest, uint64_t address, uint32_t offset_blocks) override {
    v1::HitBatch& batch = *request_.mutable_batch();
    AppendLittle64(*batch.mutable_digests(), digest);
    batch.add_address_blocks(address / block_bytes_);
    batch.add_offset_blocks(offset_blocks);
    batch.set_complete_below_address(address);
    if (static_cast<size_t>(batch.offset_blocks_size()) < kHitsPerBatch) return absl::OkStatus();
    return Flush();
  }

  absl::Status End() override {
    RETURN_IF_ERROR(Flush());
    request_.mutable_end();
    return stream_->Finish(request_).status();
  }

 private:
  absl::Status Flush() {
    if (!request_.has_batch()) return absl::OkStatus();
    RETURN_IF_ERROR(stream_->Send(request_, true));
    request_.Clear();
    return absl::OkStatus();
  }

  const std::unique_ptr<HitStream> stream_;
  const uint64_t block_bytes_;
  v1::UploadHitsRequest request_;
};

class GrpcPlanReader final : public PlanReader {
 public:
  GrpcPlanReader(std::unique_ptr<grpc::ClientContext> context,
                 std::unique_ptr<grpc::ClientReaderInterface<v1::FetchPlanResponse>> reader,
                 uint64_t block_bytes)
      : context_(std::move(context)), reader_(std::move(reader)), block_bytes_(block_bytes) {}

  ~GrpcPlanReader() override {
    if (finished_) return;
    context_->TryCancel();
    reader_->Finish();
  }

  absl::StatusOr<std::vector<Group>> Next() override {
    v1::FetchPlanResponse response;
    while (!finished_) {
      if (!reader_->Read(&response)) {
        finished_ = true;
        RETURN_IF_ERROR(FromGrpcStatus(reader_->Finish()), "fetching the plan");
        break;
      }
      group_count_ = response.group_count();
      expected_bytes_ = response.expected_bytes();
      std::vector<Group> groups;
      for (const v1::Group& message : response.groups()) {
        if (message.members_size() >= 2) groups.push_back(ToGroup(message));
      }
      if (!groups.empty()) return groups;
    }
    return std::vector<Group>();
  }

  int64_t group_count() const override { return group_count_; }
  int64_t expected_bytes() const override { return expected_bytes_; }

 private:
  Group ToGroup(const v1::Group& message) const {
    Group group{.position = message.position(),
                .members = {},
                .paged = message.paged(),
                .digest = message.digest()};
    group.members.reserve(message.members_size());
    for (const v1::GroupMember& member : message.members()) {
      group.members.push_back({.address = member.address_blocks() * block_bytes_,
                               .length_blocks = member.length_blocks(),
                               .generation = member.generation(),
                               .kept_before = member.kept_before(),
                               .queued = member.queued(),
                               .delta_blocks = member.delta_blocks()});
    }
    return group;
  }

  const std::unique_ptr<grpc::ClientContext> context_;
  const std::unique_ptr<grpc::ClientReaderInterface<v1::FetchPlanResponse>> reader_;
  const uint64_t block_bytes_;
  bool finished_ = false;
  int64_t group_count_ = 0;
  int64_t expected_bytes_ = 0;
};

void Describe(const VolumeState& state, v1::VolumeState& volume) {
  volume.set_uuid(ToBytes(state.uuid));
  volume.set_block_bytes(state.block_bytes);
  volume.set_checksum_kind(static_cast<v1::ChecksumKind>(state.checksum_kind));
  volume.set_subvolume_set_digest(state.subvolume_set_digest);
  volume.set_scope_digest(state.scope_digest);
  volume.set_reconsider_all(state.reconsider_all);
  volume.set_filesystem_generation(state.filesystem_generation);
  volume.set_run_begins(state.run_begins);
}

// Asks for an order with a lease on one volume.
absl::StatusOr<v1::VolumeOrder> AskForLease(v1::CoordinatorService::StubInterface& stub,
                                            const std::string& worker_id, const VolumeState& state,
                                            grpc::ClientContext& context) {
  v1::SyncRequest request;
  request.set_worker_id(worker_id);
  Describe(state, *request.add_volumes());
  request.mutable_volumes(0)->set_want_lease(true);
  v1::SyncResponse response;
  RETURN_IF_ERROR(FromGrpcStatus(stub.Sync(&context, request, &response)),
                  "asking the coordinator");
  if (response.orders_size() != 1) return absl::InternalError("one order was expected");
  return response.orders(0);
}

LeaseGrant GrantOf(const v1::Lease& lease, absl::Duration asked_at) {
  const absl::Duration ttl =
      absl::Seconds(lease.ttl().seconds()) + absl::Nanoseconds(lease.ttl().nanos());
  return {.epoch = lease.epoch(),
          .asked_at = asked_at,
          .ttl = std::clamp(ttl, absl::ZeroDuration(), kLeaseMax)};
}

void SetDeadline(grpc::ClientContext& context, std::chrono::seconds deadline) {
  context.set_deadline(std::chrono::system_clock::now() + deadline);
}

class GrpcCoordinatorClient final : public CoordinatorClient {
 public:
  // `clock` and `watch`: both or none.
  GrpcCoordinatorClient(v1::CoordinatorService::StubInterface& stub, std::string worker_id,
                        Clock* clock, LeaseWatch* watch)
      : stub_(stub), worker_id_(std::move(worker_id)), clock_(clock), watch_(watch) {}

  absl::StatusOr<VolumeOrder> Sync(const VolumeState& state) override {
    grpc::ClientContext context;
    if (watch_ != nullptr) SetDeadline(context, kBeginDeadline);
    const absl::Duration asked_at = watch_ != nullptr ? clock_->Monotonic() : absl::ZeroDuration();
    ASSIGN_OR_RETURN(const v1::VolumeOrder order, AskForLease(stub_, worker_id_, state, context));
    if (watch_ != nullptr && order.has_lease()) {
      watch_->Granted(state, GrantOf(order.lease(), asked_at));
    }
    session_ = {.lease = order.lease(),
                .incarnation = order.incarnation(),
                .block_bytes = static_cast<uint64_t>(state.block_bytes)};
    state_ = state;
    return VolumeOrder{.leased = order.has_lease(),
                       .scanned_generation = order.scanned_generation(),
                       .resume_address = order.resume_address(),
                       .resume_generation = order.resume_generation(),
                       .totals = TotalsOf(order)};
  }

  absl::StatusOr<std::unique_ptr<ExtentUpload>> BeginScan(int64_t target_generation) override {
    return BeginUpload(v1::UPLOAD_KIND_SCAN, target_generation);
  }
  absl::StatusOr<std::unique_ptr<ExtentUpload>> BeginSweep() override {
    return BeginUpload(v1::UPLOAD_KIND_SWEEP, 0);
  }

  absl::StatusOr<std::vector<IncompleteExtent>> ListIncompleteExtents() override {
    v1::ListIncompleteExtentsRequest request;
    Address(request);
    grpc::ClientContext context;
    const auto reader = stub_.ListIncompleteExtents(&context, request);
    std::vector<IncompleteExtent> extents;
    v1::ListIncompleteExtentsResponse response;
    while (reader->Read(&response)) {
      const v1::ExtentColumns& rows = response.rows();
      if (rows.address_delta_blocks_size() < rows.count() ||
          rows.length_blocks_size() < rows.count() || rows.generation_size() < rows.count()) {
        context.TryCancel();
        reader->Finish();
        return absl::InternalError("incomplete extents: columns of different length");
      }
      uint64_t address = 0;
      for (int i = 0; i < rows.count(); ++i) {
        address += rows.address_delta_blocks(i);
        extents.push_back({.address = address * session_.block_bytes,
                           .length_blocks = rows.length_blocks(i),
                           .generation = rows.generation(i)});
      }
    }
    RETURN_IF_ERROR(FromGrpcStatus(reader->Finish()), "listing incomplete extents");
    return extents;
  }

  absl::StatusOr<HeadQuery> GetHeads() override {
    v1::GetHeadsRequest request;
    Address(request);
    grpc::ClientContext context;
    const auto reader = stub_.GetHeads(&context, request);
    std::string bits;
    uint32_t window_lengths = 0;
    v1::GetHeadsResponse response;
    while (reader->Read(&response)) {
      if (bits.empty()) {
        bits.reserve(std::clamp<int64_t>(response.block_count(), 0,
                                         kHeadFilterBytesMax / kHeadFilterBlockBytes) *
                     kHeadFilterBlockBytes);
      }
      if (bits.size() + response.piece().size() > static_cast<size_t>(kHeadFilterBytesMax)) {
        context.TryCancel();
        break;
      }
      bits += response.piece();
      window_lengths = response.window_lengths();
    }
    RETURN_IF_ERROR(FromGrpcStatus(reader->Finish()), "fetching the heads");
    if (bits.empty() || bits.size() % kHeadFilterBlockBytes != 0) {
      return absl::InternalError("the filter of heads is cut");
    }
    return HeadQuery{.filter = HeadFilter(std::move(bits)), .window_lengths = window_lengths};
  }

  absl::StatusOr<std::unique_ptr<HitUpload>> BeginHits(bool full) override {
    auto context = std::make_unique<grpc::ClientContext>();
    auto stream = stub_.UploadHits(context.get());
    auto hits = std::make_unique<HitStream>(std::move(context), std::move(stream));
    v1::UploadHitsRequest request;
    Address(*request.mutable_begin());
    request.mutable_begin()->set_full(full);
    RETURN_IF_ERROR(hits->Send(request, false));
    return std::make_unique<GrpcHitUpload>(std::move(hits), session_);
  }

  absl::StatusOr<std::unique_ptr<PlanReader>> FetchPlan(PlanKind kind) override {
    v1::FetchPlanRequest request;
    Address(request);
    request.set_kind(static_cast<v1::PlanKind>(kind));
    kinds_.push_back(request.kind());
    auto context = std::make_unique<grpc::ClientContext>();
    auto reader = stub_.FetchPlan(context.get(), request);
    return std::make_unique<GrpcPlanReader>(std::move(context), std::move(reader),
                                            session_.block_bytes);
  }

  absl::Status ReportResults(absl::Span<const ExtentResult> results) override {
    v1::ReportResultsRequest request;
    for (const ExtentResult& result : results) {
      v1::Result& message = *request.mutable_batch()->add_results();
      message.set_address_blocks(result.address / session_.block_bytes);
      message.set_generation(result.generation);
      message.set_outcome(static_cast<v1::Outcome>(result.outcome));
      message.set_holder(static_cast<v1::Holder>(result.holder));
    }
    MutexLock lock(&results_mutex_);
    const absl::Status status = SendResults(request);
    // What was done is a fact whatever became of the connection: it is told again over a new one.
    return absl::IsUnavailable(status) ? SendResults(request) : status;
  }

  absl::StatusOr<PlanSummary> EndPlan(const PlanEnd& end) override {
    return End(std::exchange(kinds_, {}), end.inside);
  }
  absl::StatusOr<PlanSummary> Summarize() override { return End({}, false); }

 private:
  absl::StatusOr<PlanSummary> End(const std::vector<v1::PlanKind>& kinds, bool inside) {
    v1::ReportResultsRequest request;
    v1::EndPlan& message = *request.mutable_end();
    for (const v1::PlanKind kind : kinds) message.add_kinds(kind);
    message.set_subvolume_set_digest(state_.subvolume_set_digest);
    message.set_scope_digest(state_.scope_digest);
    message.set_inside(inside);
    MutexLock lock(&results_mutex_);
    const absl::Status opened = OpenResults();
    const absl::StatusOr<v1::ReportResultsResponse> answer =
        opened.ok() ? results_->Finish(request) : absl::StatusOr<v1::ReportResultsResponse>(opened);
    results_.reset();
    RETURN_IF_ERROR(answer.status());
    const v1::ReportResultsResponse& response = *answer;
    PlanSummary summary;
    summary.extent_count = response.extent_count();
    for (const auto& [holder, bytes] : response.pinned_bytes()) {
      summary.pinned_bytes[NameIn(holder, "HOLDER_")] = bytes;
    }
    for (const auto& [state, count] : response.incomplete_extents()) {
      // "none" and "partial" are no words for a report.
      summary.incomplete_extents[absl::StrCat(
          state == v1::ChecksumState_Name(v1::CHECKSUM_STATE_NONE) ? "no" : "partial",
          "_checksums")] += count;
    }
    return summary;
  }

  template <typename Request>
  void Address(Request& request) const {
    *request.mutable_lease() = session_.lease;
    request.set_incarnation(session_.incarnation);
  }

  absl::StatusOr<std::unique_ptr<ExtentUpload>> BeginUpload(v1::UploadKind kind, int64_t target) {
    auto context = std::make_unique<grpc::ClientContext>();
    auto stream = stub_.UploadExtents(context.get());
    auto upload = std::make_unique<ExtentStream>(std::move(context), std::move(stream));
    v1::UploadExtentsRequest request;
    Address(*request.mutable_begin());
    request.mutable_begin()->set_kind(kind);
    request.mutable_begin()->set_target_generation(target);
    RETURN_IF_ERROR(upload->Send(request, false));
    return std::make_unique<GrpcExtentUpload>(std::move(upload), session_,
                                              kind == v1::UPLOAD_KIND_SWEEP);
  }

  // After a failure the next one begins a new conversation.
  absl::Status SendResults(const v1::ReportResultsRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(results_mutex_) {
    absl::Status status = OpenResults();
    if (status.ok()) status = results_->Send(request, true);
    if (status.ok()) status = results_->Drain();
    if (!status.ok()) results_.reset();
    return status;
  }

  absl::Status OpenResults() ABSL_EXCLUSIVE_LOCKS_REQUIRED(results_mutex_) {
    if (results_ != nullptr) return absl::OkStatus();
    auto context = std::make_unique<grpc::ClientContext>();
    auto stream = stub_.ReportResults(context.get());
    results_ = std::make_unique<ResultStream>(std::move(context), std::move(stream));
    v1::ReportResultsRequest request;
    Address(*request.mutable_begin());
    return results_->Send(request, false);
  }

  v1::CoordinatorService::StubInterface& stub_;
  const std::string worker_id_;
  Clock* const clock_;
  LeaseWatch* const watch_;
  Session session_;
  VolumeState state_;
  std::vector<v1::PlanKind> kinds_;  // plans that were fetched since the last EndPlan
  Mutex results_mutex_;
  std::unique_ptr<ResultStream> results_ ABSL_GUARDED_BY(results_mutex_);
};

}  // namespace

std::unique_ptr<CoordinatorClient> NewGrpcCoordinatorClient(
    v1::CoordinatorService::StubInterface& stub, std::string worker_id) {
  return std::make_unique<GrpcCoordinatorClient>(stub, std::move(worker_id), nullptr, nullptr);
}

std::unique_ptr<CoordinatorClient> NewLeasedCoordinatorClient(
    v1::CoordinatorService::StubInterface& stub, std::string worker_id, Clock& clock,
    LeaseWatch& watch) {
  return std::make_unique<GrpcCoordinatorClient>(stub, std::move(worker_id), &clock, &watch);
}

absl::Status ReleaseLease(v1::CoordinatorService::StubInterface& stub, const std::string& worker_id,
                          const VolumeState& state, int64_t epoch) {
  v1::SyncRequest request;
  request.set_worker_id(worker_id);
  Describe(state, *request.add_volumes());
  request.mutable_volumes(0)->set_released_epoch(epoch);
  grpc::ClientContext context;
  SetDeadline(context, kReleaseDeadline);
  v1::SyncResponse response;
  return FromGrpcStatus(stub.Sync(&context, request, &response));
}

absl::StatusOr<std::optional<LeaseGrant>> RenewLease(v1::CoordinatorService::StubInterface& stub,
                                                     const std::string& worker_id,
                                                     const VolumeState& state, Clock& clock) {
  VolumeState renewal = state;
  renewal.reconsider_all = renewal.run_begins = false;
  grpc::ClientContext context;
  SetDeadline(context, kRenewDeadline);
  const absl::Duration asked_at = clock.Monotonic();
  ASSIGN_OR_RETURN(const v1::VolumeOrder order, AskForLease(stub, worker_id, renewal, context));
  if (!order.has_lease()) return std::nullopt;
  return GrantOf(order.lease(), asked_at);
}

}  // namespace onefold
