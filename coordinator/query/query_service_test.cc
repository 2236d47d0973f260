#include "coordinator/query/query_service.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/testing/fake_clock.h"
#include "common/testing/status_matchers.h"
#include "coordinator/keys.h"
#include "coordinator/rows.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kGib = int64_t{1} << 30;

// Two hosts: nas-a with "films" and "photos", nas-b with "backup". FakeClock begins on Sunday,
// 2001-09-09 01:46:40 UTC.
class QueryServiceTest : public ::testing::Test {
 protected:
  QueryServiceTest() {
    absl::StatusOr<std::unique_ptr<Fleet>> fleet =
        Fleet::Open({.time_zone = absl::UTCTimeZone(),
                     .waiting_bytes = [](const VolumeUuid& uuid) -> std::optional<int64_t> {
                       if (uuid == Uuid(1)) return 7 * kGib;
                       return std::nullopt;
                     }},
                    state_, clock_);
    CHECK(fleet.ok());
    fleet_ = *std::move(fleet);
    for (const uint8_t n : {1, 2, 3}) AddIndexed(n);
    census_.emplace(
        query::CensusKeeper::Options{}, index_, [this] { return indexed_; }, clock_);
    service_.emplace(QueryService::Parts{.clock = clock_,
                                         .fleet = *fleet_,
                                         .census = *census_,
                                         .hosts = [this] { return fleet_->ListHosts(); },
                                         .figures =
                                             [](const VolumeUuid& uuid) {
                                               return query::IndexFigures{.extent_count =
                                                                              uuid.bytes[0] * 100};
                                             },
                                         .version = "1.2.3"});
    grpc::ServerBuilder builder;
    builder.RegisterService(&*service_);
    server_ = builder.BuildAndStart();
    stub_ = v1::QueryService::NewStub(server_->InProcessChannel({}));
    AddVolume("a", 1, "films", 100 * kGib);
    AddVolume("a", 2, "photos", 20 * kGib);
    AddVolume("b", 3, "backup", 300 * kGib);
    (*reports_["a"].mutable_labels())["site"] = "attic";
    (*reports_["b"].mutable_labels())["site"] = "cellar";
    SyncAll();
  }

  static VolumeUuid Uuid(uint8_t n) { return VolumeUuid{{n}}; }

  void AddIndexed(uint8_t n) {
    query::CountedVolume volume{.uuid = Uuid(n), .record = {}};
    volume.record.set_number(n);
    volume.record.set_block_bytes(4096);
    indexed_.push_back(volume);
  }
  void AddExtent(uint8_t n, uint64_t digest, uint32_t length) {
    index::RowBatch batch;
    batch.Put(index::EncodeKey(index::VolumeNumber{n},
                               index::FingerprintKey{.digest = digest, .address = ++address_}),
              index::EncodeRow(index::Fingerprint{.whole = true, .length = length}));
    ASSERT_THAT(index_.Write(batch), IsOk());
  }

  void AddVolume(const std::string& host, uint8_t n, const std::string& label, int64_t used) {
    reports_[host].set_display_name("nas-" + host);
    v1::MountedVolume& volume = *reports_[host].add_volumes();
    volume.set_volume_uuid(ToBytes(Uuid(n)));
    volume.set_label(label);
    volume.add_mount_paths("/srv/" + label);
    volume.add_allowed_roots("/srv/" + label);
    volume.set_size_bytes(2 * used);
    volume.set_used_bytes(used);
  }
  void SyncAll() {
    for (const auto& [host, report] : reports_) {
      ASSERT_THAT(fleet_->HandleSync(host, "1.0", report), IsOk());
    }
    ASSERT_THAT(fleet_->Tick(), IsOk());
  }
  // A run of the volume, from its start to its end with these figures.
  std::string Run(const std::string& host, const std::string& volume, int64_t freed, int64_t pinned,
                  v1::RunState state = v1::RUN_STATE_COMPLETED) {
    v1::StartRunsRequest request;
    request.set_volume(volume);
    const auto started = fleet_->StartRuns(request);
    CHECK(started.ok() && started->runs_size() == 1);
    const std::string id = started->runs(0).run_id();
    SyncAll();
    for (const v1::RunState each : {v1::RUN_STATE_RUNNING, state}) {
      v1::RunStatus& status = *reports_[host].add_runs();
      status.set_run_id(id);
      status.set_state(each);
      status.set_message(each == v1::RUN_STATE_FAILED ? "the disk is gone" : "");
      status.mutable_figures()->set_bytes_freed(freed);
      status.mutable_figures()->set_bytes_pinned(pinned);
      (*status.mutable_figures()->mutable_pinned_by())["snapshot"] = pinned;
      SyncAll();
      reports_[host].clear_runs();
    }
    SyncAll();
    return id;
  }

  template <typename Request, typename Response>
  Response Call(grpc::Status (v1::QueryService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                               Response*),
                const Request& request) {
    grpc::ClientContext context;
    Response response;
    status_ = (stub_.get()->*method)(&context, request, &response);
    return response;
  }
  using Stub = v1::QueryService::Stub;

  std::vector<std::string> Volumes(const std::string& filter, const std::string& order = "") {
    v1::ListVolumesRequest request;
    request.set_filter(filter);
    request.set_order_by(order);
    std::vector<std::string> names;
    const v1::ListVolumesResponse response = Call(&Stub::ListVolumes, request);
    for (const v1::Volume& volume : response.volumes()) names.push_back(volume.name());
    EXPECT_TRUE(status_.ok()) << status_.error_message();
    return names;
  }

  FakeClock clock_;
  index::MemoryStore state_;
  index::MemoryStore index_;
  std::vector<query::CountedVolume> indexed_;
  uint64_t address_ = 0;
  std::map<std::string, v1::HostReport> reports_;
  std::unique_ptr<Fleet> fleet_;
  std::optional<query::CensusKeeper> census_;
  std::optional<QueryService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::QueryService::Stub> stub_;
  grpc::Status status_;
};

TEST_F(QueryServiceTest, SummaryAddsUp) {
  Run("a", "films", 5 * kGib, kGib);
  Run("a", "photos", 2 * kGib, 0);
  const auto summary = Call(&Stub::GetSummary, v1::GetSummaryRequest());
  ASSERT_TRUE(status_.ok()) << status_.error_message();
  EXPECT_EQ(summary.version(), "1.2.3");
  EXPECT_EQ(summary.volume_count(), 3);
  EXPECT_EQ(summary.host_count(), 2);
  EXPECT_EQ(summary.connected_host_count(), 2);
  EXPECT_EQ(summary.total().used_bytes(), 420 * kGib);
  EXPECT_EQ(summary.total().freed_bytes(), 7 * kGib);
  EXPECT_FALSE(summary.total().freed_at_least());
  EXPECT_EQ(summary.total().pinned_bytes(), kGib);
  EXPECT_EQ(summary.total().pinned_by().at("snapshot"), kGib);
  EXPECT_EQ(summary.total().waiting_bytes(), 7 * kGib);
  EXPECT_TRUE(summary.total().incomplete());  // of two volumes it is not known
  ASSERT_EQ(summary.hosts_size(), 2);
  EXPECT_EQ(summary.hosts(0).name(), "nas-a");
  EXPECT_EQ(summary.hosts(0).volume_count(), 2);
  EXPECT_EQ(summary.hosts(0).space().freed_bytes(), 7 * kGib);
  ASSERT_EQ(summary.labels_size(), 2);
  EXPECT_EQ(summary.labels(1).name(), "site=cellar");
  EXPECT_EQ(summary.labels(1).space().used_bytes(), 300 * kGib);

  v1::GetSummaryRequest attic;
  attic.set_filter("labels.site = attic");
  EXPECT_EQ(Call(&Stub::GetSummary, attic).volume_count(), 2);
}

TEST_F(QueryServiceTest, WhatNeedsAttention) {
  const std::string run = Run("b", "backup", 0, 0, v1::RUN_STATE_FAILED);
  clock_.Advance(absl::Hours(1));
  ASSERT_THAT(fleet_->HandleSync("b", "1.0", reports_["b"]), IsOk());
  const auto summary = Call(&Stub::GetSummary, v1::GetSummaryRequest());
  ASSERT_EQ(summary.attention_size(), 2);
  EXPECT_EQ(summary.attention(0).kind(), "host-silent");
  EXPECT_EQ(summary.attention(0).host_id(), "a");
  EXPECT_EQ(summary.attention(1).kind(), "run-failed");
  EXPECT_EQ(summary.attention(1).run_id(), run);
  EXPECT_THAT(summary.attention(1).text(), HasSubstr("the disk is gone"));
  EXPECT_EQ(summary.connected_host_count(), 1);
}

TEST_F(QueryServiceTest, VolumesAreFilteredOrderedAndPaged) {
  EXPECT_THAT(Volumes(""), ElementsAre("backup", "films", "photos"));
  EXPECT_THAT(Volumes("labels.site = attic"), ElementsAre("films", "photos"));
  EXPECT_THAT(Volumes("used_bytes > 50000000000", "used_bytes"), ElementsAre("backup", "films"));
  EXPECT_THAT(Volumes("host : NAS-B"), ElementsAre("backup"));
  v1::ListVolumesRequest request;
  request.set_page_size(2);
  request.mutable_read_mask()->add_paths("name");
  const auto first = Call(&Stub::ListVolumes, request);
  EXPECT_EQ(first.total_count(), 3);
  ASSERT_EQ(first.volumes_size(), 2);
  EXPECT_EQ(first.volumes(0).host_id(), "");  // not asked for
  request.set_page_token(first.next_page_token());
  const auto second = Call(&Stub::ListVolumes, request);
  ASSERT_EQ(second.volumes_size(), 1);
  EXPECT_EQ(second.volumes(0).name(), "photos");
  EXPECT_EQ(second.next_page_token(), "");
}

TEST_F(QueryServiceTest, MalformedRequestsAreRefused) {
  v1::ListVolumesRequest request;
  const auto refused = [&](absl::string_view says) {
    Call(&Stub::ListVolumes, request);
    EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status_.error_message(), HasSubstr(std::string(says)));
    request.Clear();
  };
  request.set_filter("size = 3");
  refused("no such field");
  request.set_page_size(-1);
  refused("page_size");
  request.set_page_token("zz");
  refused("page_token");
  request.set_page_token("00");
  refused("page_token");
  request.set_order_by("colour");
  refused("order_by");
  request.mutable_read_mask()->add_paths("secrets");
  refused("read_mask");
  v1::GetVolumeRequest volume;
  volume.set_volume("nowhere");
  Call(&Stub::GetVolume, volume);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(QueryServiceTest, AVolumeByAllItsNames) {
  for (const std::string name : {"photos", "02000000", "nas-a:/srv/photos"}) {
    v1::GetVolumeRequest request;
    request.set_volume(name);
    const auto got = Call(&Stub::GetVolume, request);
    EXPECT_EQ(got.volume().name(), "photos") << name;
    EXPECT_EQ(got.volume().space().extent_count(), 200);
    EXPECT_FALSE(got.volume().space().has_waiting_bytes());
    EXPECT_TRUE(got.volume().connected());
  }
}

TEST_F(QueryServiceTest, RunsTheNewestFirst) {
  const std::string first = Run("a", "films", 5, 0);
  const std::string second = Run("a", "photos", 0, 0, v1::RUN_STATE_FAILED);
  const std::string third = Run("b", "backup", 9, 0);
  v1::QueryRunsRequest request;
  request.set_page_size(2);
  const auto page = Call(&Stub::QueryRuns, request);
  ASSERT_EQ(page.runs_size(), 2);
  EXPECT_EQ(page.runs(0).run_id(), third);
  request.set_page_token(page.next_page_token());
  const auto rest = Call(&Stub::QueryRuns, request);
  ASSERT_EQ(rest.runs_size(), 1);
  EXPECT_EQ(rest.runs(0).run_id(), first);
  v1::QueryRunsRequest failed;
  failed.set_filter("state = failed");
  const auto found = Call(&Stub::QueryRuns, failed);
  ASSERT_EQ(found.runs_size(), 1);
  EXPECT_EQ(found.runs(0).run_id(), second);
  v1::QueryRunsRequest freed;
  freed.set_filter("freed_bytes > 5 AND active = false");
  EXPECT_EQ(Call(&Stub::QueryRuns, freed).runs_size(), 1);
  v1::GetRunRequest one;
  one.set_run_id(first);
  EXPECT_EQ(Call(&Stub::GetRun, one).run().status().figures().bytes_freed(), 5);
}

TEST_F(QueryServiceTest, ScheduleKnowsWhatWasMissed) {
  ASSERT_THAT(fleet_->ApplyPolicies("name: nightly\nselect: all\nschedule: '0 3 * * *'\n"
                                    "window: '02:00-05:00'\n",
                                    false),
              IsOk());
  SyncAll();
  v1::ListScheduleRequest request;
  const auto week = Call(&Stub::ListSchedule, request);
  EXPECT_THAT(week.entries(), SizeIs(7));
  EXPECT_EQ(week.entries(0).state(), v1::ScheduleEntry::STATE_DUE);
  EXPECT_EQ(week.entries(0).volume_count(), 3);
  EXPECT_GE(week.windows_size(), 7);
  // Nobody was there at three o'clock: it is owed.
  clock_.Advance(absl::Hours(4));
  request.mutable_start_time()->set_seconds(absl::ToUnixSeconds(clock_.Now()) - 4 * 3600);
  const auto missed = Call(&Stub::ListSchedule, request);
  ASSERT_GE(missed.entries_size(), 1);
  EXPECT_EQ(missed.entries(0).state(), v1::ScheduleEntry::STATE_MISSED);
  // Made up for once.
  SyncAll();
  const auto active = Call(&Stub::ListSchedule, request);
  EXPECT_EQ(active.entries(0).state(), v1::ScheduleEntry::STATE_ACTIVE);
  EXPECT_THAT(active.entries(0).run_ids(), SizeIs(3));
  request.mutable_end_time()->set_seconds(request.start_time().seconds() + 100 * 24 * 3600);
  Call(&Stub::ListSchedule, request);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(QueryServiceTest, HistoryKeepsWhatChanged) {
  Run("a", "films", 5 * kGib, kGib);
  for (int hour = 0; hour < 30; ++hour) {
    clock_.Advance(absl::Hours(1));
    if (hour == 10) reports_["a"].mutable_volumes(0)->set_used_bytes(90 * kGib);
    SyncAll();
  }
  v1::GetHistoryRequest request;
  request.set_volume("films");
  const auto films = Call(&Stub::GetHistory, request);
  ASSERT_TRUE(status_.ok()) << status_.error_message();
  ASSERT_GE(films.points_size(), 3);
  EXPECT_EQ(films.points(0).freed_bytes(), 0);
  EXPECT_EQ(films.points(films.points_size() - 1).freed_bytes(), 5 * kGib);
  EXPECT_EQ(films.points(films.points_size() - 1).used_bytes(), 90 * kGib);
  EXPECT_LT(films.points_size(), 6);  // nothing is kept of hours in which nothing changed
  const auto all = Call(&Stub::GetHistory, v1::GetHistoryRequest());
  EXPECT_EQ(all.points(all.points_size() - 1).used_bytes(), 410 * kGib);
}

// A year of hours that all differ: a row an hour for a week, then one a day.
TEST_F(QueryServiceTest, HistoryIsThinned) {
  for (int hour = 0; hour < 24 * 40; ++hour) {
    clock_.Advance(absl::Hours(1));
    reports_["a"].mutable_volumes(0)->set_used_bytes(kGib + hour);
    SyncAll();
  }
  const auto rows = fleet_->History(Uuid(1), 0, int64_t{1} << 60);
  ASSERT_THAT(rows, IsOk());
  EXPECT_GE(rows->size(), 7u * 24);
  EXPECT_LE(rows->size(), 8u * 24 + 40);
}

TEST_F(QueryServiceTest, DuplicatesAndOverlap) {
  for (int i = 0; i < 4; ++i) AddExtent(1, 7, 16);
  AddExtent(1, 9, 2);
  AddExtent(3, 7, 16);
  const auto before = Call(&Stub::GetOverlap, v1::GetOverlapRequest());
  ASSERT_TRUE(status_.ok());
  ASSERT_THAT(census_->TakeNow(), IsOk());
  v1::ListDuplicatesRequest request;
  request.set_volume("films");
  const auto groups = Call(&Stub::ListDuplicates, request);
  ASSERT_EQ(groups.groups_size(), 1);
  EXPECT_EQ(groups.groups(0).copy_count(), 4);
  EXPECT_EQ(groups.duplicate_bytes(), 3 * 16 * 4096);
  EXPECT_TRUE(groups.has_time());
  const auto overlap = Call(&Stub::GetOverlap, v1::GetOverlapRequest());
  ASSERT_EQ(overlap.members_size(), 3);
  EXPECT_EQ(overlap.members(0).name(), "backup");
  ASSERT_EQ(overlap.pairs_size(), 1);
  EXPECT_EQ(overlap.pairs(0).first(), 0);
  EXPECT_EQ(overlap.pairs(0).second(), 1);
  EXPECT_EQ(overlap.pairs(0).shared_bytes(), 16 * 4096);
  v1::GetOverlapRequest photos;
  photos.set_volume("photos");
  EXPECT_EQ(Call(&Stub::GetOverlap, photos).pairs_size(), 0);
}

TEST_F(QueryServiceTest, WatchesRuns) {
  v1::StartRunsRequest start;
  start.set_volume("films");
  const std::string id = fleet_->StartRuns(start)->runs(0).run_id();
  grpc::ClientContext context;
  const auto stream = stub_->WatchRuns(&context, v1::WatchRunsRequest());
  v1::WatchRunsResponse response;
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_EQ(response.runs_size(), 1);
  EXPECT_EQ(response.runs(0).run_id(), id);
  ASSERT_THAT(fleet_->CancelRun(id), IsOk());
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_EQ(response.runs_size(), 1);
  context.TryCancel();
}

}  // namespace
}  // namespace onefold
