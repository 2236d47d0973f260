// The conversation over a real gRPC channel, in one process.

#include "coordinator/coordinator_service.h"

#include <grpcpp/grpcpp.h>

#include "common/bytes.h"
#include "common/check.h"
#include "common/grpc_status.h"
#include "common/head_filter.h"
#include "common/testing/fake_clock.h"
#include "common/testing/status_matchers.h"
#include "coordinator/testing/index_fixture.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::index {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

v1::ExtentColumns ToColumns(const std::vector<Extent>& extents) {
  v1::ExtentColumns columns;
  columns.set_count(static_cast<int32_t>(extents.size()));
  uint64_t last = 0;
  for (const Extent& extent : extents) {
    columns.add_address_delta_blocks(extent.address - last);
    last = extent.address;
    columns.add_length_blocks(extent.length);
    columns.add_generation(extent.generation);
    AppendLittle64(*columns.mutable_digests(), extent.digest);
    AppendLittle64(*columns.mutable_heads(), extent.head);
    columns.add_head_offset_blocks(extent.head_offset);
    columns.add_checksum_states(static_cast<v1::ChecksumState>(extent.checksum_state));
    columns.add_anchor_counts(0);
  }
  return columns;
}

class CoordinatorServiceTest : public ::testing::Test {
 protected:
  CoordinatorServiceTest() {
    auto volumes = VolumeBook::Open(index_);
    auto leases = LeaseOffice::Open(state_, clock_, {});
    CHECK(volumes.ok() && leases.ok());
    volumes_ = *std::move(volumes);
    leases_ = *std::move(leases);
    service_ = std::make_unique<CoordinatorService>(index_, *volumes_, *leases_);
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    stub_ = v1::CoordinatorService::NewStub(server_->InProcessChannel({}));
  }

  static v1::VolumeState State() {
    v1::VolumeState state;
    state.set_uuid(ToBytes(kTestVolume));
    state.set_block_bytes(4096);
    state.set_checksum_kind(v1::CHECKSUM_KIND_CRC32C);
    state.set_filesystem_generation(1000);
    state.set_want_lease(true);
    return state;
  }

  absl::StatusOr<v1::VolumeOrder> Sync(const v1::VolumeState& state = State(),
                                       const std::string& worker = "worker") {
    v1::SyncRequest request;
    request.set_worker_id(worker);
    *request.add_volumes() = state;
    v1::SyncResponse response;
    grpc::ClientContext context;
    const absl::Status status = FromGrpcStatus(stub_->Sync(&context, request, &response));
    if (!status.ok()) return status;
    if (response.orders(0).has_lease()) order_ = response.orders(0);
    return response.orders(0);
  }

  // Runs a stream of requests to its end. `last` is set to the last response.
  template <typename Request, typename Response, typename Open>
  absl::Status Run(const std::vector<Request>& requests, Response& last, Open open) {
    grpc::ClientContext context;
    const auto stream = open(&context);
    for (size_t i = 0; i < requests.size(); ++i) {
      // The first message begins, each further one is answered.
      if (!stream->Write(requests[i]) || (i > 0 && !stream->Read(&last))) break;
    }
    stream->WritesDone();
    return FromGrpcStatus(stream->Finish());
  }

  v1::UploadExtentsRequest BeginUpload(v1::UploadKind kind, int64_t target_generation = 10) {
    v1::UploadExtentsRequest request;
    *request.mutable_begin()->mutable_lease() = order_.lease();
    request.mutable_begin()->set_incarnation(order_.incarnation());
    request.mutable_begin()->set_kind(kind);
    request.mutable_begin()->set_target_generation(target_generation);
    return request;
  }
  static v1::UploadExtentsRequest Batch(const std::vector<Extent>& extents) {
    v1::UploadExtentsRequest request;
    *request.mutable_batch()->mutable_rows() = ToColumns(extents);
    return request;
  }
  static v1::UploadExtentsRequest EndUpload() {
    v1::UploadExtentsRequest request;
    request.mutable_end();
    return request;
  }
  absl::Status Upload(const std::vector<v1::UploadExtentsRequest>& requests) {
    return Run(requests, uploaded_,
               [&](grpc::ClientContext* context) { return stub_->UploadExtents(context); });
  }
  void Scan(const std::vector<Extent>& extents) {
    EXPECT_THAT(Upload({BeginUpload(v1::UPLOAD_KIND_SCAN), Batch(extents), EndUpload()}), IsOk());
  }

  absl::StatusOr<std::vector<v1::Group>> FetchPlan(v1::PlanKind kind,
                                                   const std::string& after = "") {
    v1::FetchPlanRequest request;
    *request.mutable_lease() = order_.lease();
    request.set_incarnation(order_.incarnation());
    request.set_kind(kind);
    request.set_after_position(after);
    grpc::ClientContext context;
    const auto reader = stub_->FetchPlan(&context, request);
    std::vector<v1::Group> groups;
    v1::FetchPlanResponse response;
    while (reader->Read(&response)) {
      groups.insert(groups.end(), response.groups().begin(), response.groups().end());
    }
    const absl::Status status = FromGrpcStatus(reader->Finish());
    if (!status.ok()) return status;
    return groups;
  }

  v1::ReportResultsRequest BeginReport() {
    v1::ReportResultsRequest request;
    *request.mutable_begin()->mutable_lease() = order_.lease();
    request.mutable_begin()->set_incarnation(order_.incarnation());
    return request;
  }
  static v1::ReportResultsRequest Result(uint64_t address, v1::Outcome outcome,
                                         v1::Holder holder = v1::HOLDER_UNSPECIFIED) {
    v1::ReportResultsRequest request;
    v1::Result& result = *request.mutable_batch()->add_results();
    result.set_address_blocks(address);
    result.set_generation(10);
    result.set_outcome(outcome);
    result.set_holder(holder);
    return request;
  }
  static v1::ReportResultsRequest EndOfPlan() {
    v1::ReportResultsRequest request;
    request.mutable_end()->add_kinds(v1::PLAN_KIND_WHOLE);
    request.mutable_end()->add_kinds(v1::PLAN_KIND_INSIDE);
    return request;
  }
  absl::Status Report(const std::vector<v1::ReportResultsRequest>& requests) {
    return Run(requests, reported_,
               [&](grpc::ClientContext* context) { return stub_->ReportResults(context); });
  }

  FakeClock clock_;
  MemoryStore index_;
  MemoryStore state_;
  std::unique_ptr<VolumeBook> volumes_;
  std::unique_ptr<LeaseOffice> leases_;
  std::unique_ptr<CoordinatorService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::CoordinatorService::Stub> stub_;
  v1::VolumeOrder order_;
  v1::UploadExtentsResponse uploaded_;
  v1::ReportResultsResponse reported_;
};

TEST_F(CoordinatorServiceTest, FromScanToSettled) {
  ASSERT_THAT(Sync(), IsOk());
  EXPECT_NE(order_.incarnation(), 0u);
  EXPECT_EQ(order_.scanned_generation(), 0);

  Scan({File(100, 8, 1), File(200, 8, 1), File(300, 8, 1),
        WithoutChecksums(400, 1, ChecksumState::kNone)});
  EXPECT_TRUE(uploaded_.ended());
  EXPECT_EQ(uploaded_.new_count(), 4);
  EXPECT_EQ(uploaded_.queued_count(), 3);
  EXPECT_EQ(uploaded_.extent_bytes(), 25 * 4096);

  const auto groups = FetchPlan(v1::PLAN_KIND_WHOLE);
  ASSERT_THAT(groups, IsOk());
  ASSERT_EQ(groups->size(), 1u);
  EXPECT_EQ((*groups)[0].members_size(), 3);
  EXPECT_TRUE((*groups)[0].members(0).queued());

  EXPECT_THAT(Report({BeginReport(), Result(100, v1::OUTCOME_KEPT), Result(200, v1::OUTCOME_FREED),
                      Result(300, v1::OUTCOME_PINNED, v1::HOLDER_SNAPSHOT), EndOfPlan()}),
              IsOk());
  EXPECT_TRUE(reported_.ended());
  EXPECT_EQ(reported_.batch_count(), 3);
  EXPECT_EQ(reported_.extent_count(), 3);
  EXPECT_THAT(reported_.pinned_bytes(), ElementsAre(Pair("HOLDER_SNAPSHOT", 8 * 4096)));
  EXPECT_THAT(reported_.pinned_extents(), ElementsAre(Pair("HOLDER_SNAPSHOT", 1)));
  EXPECT_THAT(reported_.incomplete_extents(), ElementsAre(Pair("CHECKSUM_STATE_NONE", 1)));

  const auto order = Sync();
  ASSERT_THAT(order, IsOk());
  EXPECT_EQ(order->scanned_generation(), 10);
  EXPECT_EQ(order->queued_count(), 0);
  EXPECT_THAT(FetchPlan(v1::PLAN_KIND_WHOLE), IsOkAndHolds(IsEmpty()));
}

TEST_F(CoordinatorServiceTest, HeadsHitsAndInsidePlan) {
  ASSERT_THAT(Sync(), IsOk());
  Scan({File(100, 2, 0x77), File(5000, 100, 2)});

  v1::GetHeadsRequest heads;
  *heads.mutable_lease() = order_.lease();
  heads.set_incarnation(order_.incarnation());
  grpc::ClientContext context;
  const auto reader = stub_->GetHeads(&context, heads);
  std::string bits;
  v1::GetHeadsResponse piece;
  while (reader->Read(&piece)) bits += piece.piece();
  EXPECT_THAT(FromGrpcStatus(reader->Finish()), IsOk());
  EXPECT_EQ(piece.window_lengths(), 0b1011u);  // of one block; as long as the extent; of four
  EXPECT_TRUE(HeadFilter(bits).MayContain(0x77));
  EXPECT_FALSE(HeadFilter(bits).MayContain(0x123456789));

  v1::UploadHitsRequest begin;
  *begin.mutable_begin()->mutable_lease() = order_.lease();
  begin.mutable_begin()->set_incarnation(order_.incarnation());
  begin.mutable_begin()->set_full(true);
  v1::UploadHitsRequest batch;
  AppendLittle64(*batch.mutable_batch()->mutable_digests(), 0x77);
  batch.mutable_batch()->add_address_blocks(5000);
  batch.mutable_batch()->add_offset_blocks(40);
  v1::UploadHitsRequest end;
  end.mutable_end();
  v1::UploadHitsResponse matched;
  EXPECT_THAT(Run(std::vector<v1::UploadHitsRequest>{begin, batch, end}, matched,
                  [&](grpc::ClientContext* c) { return stub_->UploadHits(c); }),
              IsOk());
  EXPECT_TRUE(matched.ended());
  EXPECT_EQ(matched.match_count(), 1);
  EXPECT_EQ(matched.batch_count(), 1);

  const auto groups = FetchPlan(v1::PLAN_KIND_INSIDE);
  ASSERT_THAT(groups, IsOk());
  ASSERT_EQ(groups->size(), 1u);
  EXPECT_EQ((*groups)[0].members(1).delta_blocks(), 40);
}

TEST_F(CoordinatorServiceTest, SweepRemovesWhatIsGone) {
  ASSERT_THAT(Sync(), IsOk());
  Scan({File(100, 8, 1), File(200, 8, 2)});
  EXPECT_THAT(
      Upload({BeginUpload(v1::UPLOAD_KIND_SWEEP, 0), Batch({File(200, 8, 2)}), EndUpload()}),
      IsOk());
  EXPECT_EQ(uploaded_.deleted_count(), 1);
  EXPECT_EQ(uploaded_.extent_count(), 1);
}

TEST_F(CoordinatorServiceTest, IncompleteExtentsAreListed) {
  ASSERT_THAT(Sync(), IsOk());
  Scan({WithoutChecksums(100, 2, ChecksumState::kNone), File(200, 8, 2)});
  v1::ListIncompleteExtentsRequest request;
  *request.mutable_lease() = order_.lease();
  request.set_incarnation(order_.incarnation());
  grpc::ClientContext context;
  const auto reader = stub_->ListIncompleteExtents(&context, request);
  v1::ListIncompleteExtentsResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_THAT(response.rows().address_delta_blocks(), ElementsAre(100));
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_THAT(FromGrpcStatus(reader->Finish()), IsOk());
}

// A worker that lost its lease must stop, but what it did is done.
TEST_F(CoordinatorServiceTest, StaleLeaseFencesWorkNotFacts) {
  ASSERT_THAT(Sync(), IsOk());
  Scan({File(100, 8, 1), File(200, 8, 1)});
  const v1::VolumeOrder lost = order_;
  clock_.Advance(absl::Minutes(6));
  ASSERT_THAT(Sync(State(), "next"), IsOk());
  order_ = lost;

  EXPECT_THAT(FetchPlan(v1::PLAN_KIND_WHOLE), HasCode(absl::StatusCode::kAborted));
  EXPECT_THAT(Upload({BeginUpload(v1::UPLOAD_KIND_SCAN), EndUpload()}),
              HasCode(absl::StatusCode::kAborted));
  EXPECT_THAT(Report({BeginReport(), Result(200, v1::OUTCOME_FREED)}), IsOk());
  EXPECT_EQ(volumes_->Find(kTestVolume)->Record().extent_count(), 1);
}

TEST_F(CoordinatorServiceTest, VolumeIsLeasedToOneWorker) {
  ASSERT_THAT(Sync(), IsOk());
  const auto other = Sync(State(), "other");
  ASSERT_THAT(other, IsOk());
  EXPECT_FALSE(other->has_lease());
  EXPECT_EQ(other->incarnation(), order_.incarnation());
}

// Facts about another life of the index must not be taken for facts about this one.
TEST_F(CoordinatorServiceTest, WrongIncarnationIsRefused) {
  ASSERT_THAT(Sync(), IsOk());
  order_.set_incarnation(order_.incarnation() + 1);
  const auto refused = HasCode(absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(FetchPlan(v1::PLAN_KIND_WHOLE), refused);
  EXPECT_THAT(Upload({BeginUpload(v1::UPLOAD_KIND_SCAN), EndUpload()}), refused);
  EXPECT_THAT(Report({BeginReport()}), refused);
}

TEST_F(CoordinatorServiceTest, UnknownVolumeIsRefused) {
  *order_.mutable_lease()->mutable_volume_uuid() = std::string(16, 'x');
  EXPECT_THAT(FetchPlan(v1::PLAN_KIND_WHOLE), HasCode(absl::StatusCode::kAborted));
  EXPECT_THAT(Report({BeginReport()}), HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_F(CoordinatorServiceTest, VolumeThatIsNotWorkedOnIsNotMade) {
  v1::VolumeState state = State();
  state.set_want_lease(false);
  const auto order = Sync(state);
  ASSERT_THAT(order, IsOk());
  EXPECT_EQ(order->incarnation(), 0u);
  EXPECT_THAT(index_.rows(), IsEmpty());
}

TEST_F(CoordinatorServiceTest, RestoredFilesystemBeginsANewLife) {
  ASSERT_THAT(Sync(), IsOk());
  Scan({File(100, 8, 1)});
  const uint64_t old_incarnation = order_.incarnation();
  v1::VolumeState state = State();
  state.set_filesystem_generation(5);
  ASSERT_THAT(Sync(state), IsOk());
  EXPECT_NE(order_.incarnation(), old_incarnation);
  EXPECT_EQ(order_.extent_count(), 0);
}

// --full: whatever the index holds, everything is looked at again.
TEST_F(CoordinatorServiceTest, ReconsiderAllBeginsANewIndex) {
  ASSERT_THAT(Sync(), IsOk());
  Scan({File(100, 8, 1)});
  const uint64_t old_incarnation = order_.incarnation();
  v1::VolumeState state = State();
  state.set_reconsider_all(true);
  clock_.Advance(absl::Hours(1));
  ASSERT_THAT(Sync(state, "another worker"), IsOk());
  EXPECT_NE(order_.incarnation(), old_incarnation);
  EXPECT_EQ(order_.scanned_generation(), 0);
  EXPECT_EQ(order_.extent_count(), 0);
}

// A worker may sync while it works: that must not throw its outcomes back into the queue.
TEST_F(CoordinatorServiceTest, ReconsiderAllActsOnceForALease) {
  v1::VolumeState state = State();
  state.set_reconsider_all(true);
  ASSERT_THAT(Sync(state), IsOk());
  Scan({File(100, 8, 1), File(200, 8, 1)});
  EXPECT_THAT(Report({BeginReport(), Result(200, v1::OUTCOME_PINNED, v1::HOLDER_SNAPSHOT),
                      Result(100, v1::OUTCOME_KEPT), EndOfPlan()}),
              IsOk());
  ASSERT_THAT(Sync(state), IsOk());
  EXPECT_EQ(volumes_->Find(kTestVolume)->Record().pinned_size(), 1);
  EXPECT_EQ(volumes_->Find(kTestVolume)->Record().pinned(0).extent_count(), 1);
}

TEST_F(CoordinatorServiceTest, PlanIsResumed) {
  ASSERT_THAT(Sync(), IsOk());
  Scan({File(100, 8, 1), File(200, 8, 1), File(300, 8, 2), File(400, 8, 2)});
  const auto groups = FetchPlan(v1::PLAN_KIND_WHOLE);
  ASSERT_THAT(groups, IsOk());
  ASSERT_EQ(groups->size(), 2u);
  const auto rest = FetchPlan(v1::PLAN_KIND_WHOLE, (*groups)[0].position());
  ASSERT_THAT(rest, IsOk());
  ASSERT_EQ(rest->size(), 1u);
  EXPECT_EQ((*rest)[0].members(0).address_blocks(), 300u);
  EXPECT_THAT(FetchPlan(v1::PLAN_KIND_WHOLE, "junk"), HasCode(absl::StatusCode::kInvalidArgument));
}

// Whatever arrives on the wire, the answer is a status, and nothing of it is in the index.
TEST_F(CoordinatorServiceTest, HostileMessagesAreRefused) {
  const auto invalid = HasCode(absl::StatusCode::kInvalidArgument);
  ASSERT_THAT(Sync(), IsOk());
  EXPECT_THAT(Sync(State(), ""), invalid);
  EXPECT_THAT(Sync(State(), std::string(300, 'w')), invalid);
  EXPECT_THAT(Sync(v1::VolumeState()), invalid);

  EXPECT_THAT(Upload({Batch({})}), invalid);
  EXPECT_THAT(Upload({BeginUpload(v1::UPLOAD_KIND_UNSPECIFIED)}), invalid);
  EXPECT_THAT(Upload({BeginUpload(v1::UPLOAD_KIND_SCAN, -1)}), invalid);
  EXPECT_THAT(Upload({BeginUpload(v1::UPLOAD_KIND_SCAN), BeginUpload(v1::UPLOAD_KIND_SCAN)}),
              invalid);
  v1::UploadExtentsRequest cut = Batch({File(100, 8, 1)});
  cut.mutable_batch()->mutable_rows()->mutable_digests()->pop_back();
  EXPECT_THAT(Upload({BeginUpload(v1::UPLOAD_KIND_SCAN), cut, EndUpload()}), invalid);
  v1::UploadExtentsRequest far = Batch({});
  far.mutable_batch()->set_complete_below_address(~0ull);
  EXPECT_THAT(Upload({BeginUpload(v1::UPLOAD_KIND_SCAN), far}), invalid);
  EXPECT_THAT(Upload({BeginUpload(v1::UPLOAD_KIND_SWEEP), far}), invalid);

  EXPECT_THAT(FetchPlan(v1::PLAN_KIND_UNSPECIFIED), invalid);
  EXPECT_THAT(Report({EndOfPlan()}), invalid);
  EXPECT_THAT(Report({BeginReport(), Result(1, v1::OUTCOME_UNSPECIFIED)}), invalid);
  EXPECT_EQ(volumes_->Find(kTestVolume)->Record().extent_count(), 0);
}

TEST_F(CoordinatorServiceTest, AssignmentIsTheOneAsked) {
  v1::GetAssignmentRequest request;
  request.set_volume_uuid(std::string(16, 'u'));
  v1::GetAssignmentResponse response;
  grpc::ClientContext context;
  EXPECT_THAT(FromGrpcStatus(stub_->GetAssignment(&context, request, &response)), IsOk());
  EXPECT_EQ(response.coordinator_address(), "");
}

}  // namespace
}  // namespace onefold::index
