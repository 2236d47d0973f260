#include "cli/metrics/metrics_source.h"

#include <fcntl.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onefold/v1/query_service.grpc.pb.h"

namespace onefold {
namespace {

constexpr absl::Duration kCallMax = absl::Seconds(10);
constexpr int kPageSize = 1000;
// More would be a scrape of tens of megabytes.
constexpr size_t kItemsMax = 20'000;

using Stub = v1::QueryService::Stub;

template <typename Request, typename Response>
bool Ask(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
         const Request& request, Response& response) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(kCallMax));
  return (stub.*method)(&context, request, &response).ok();
}

google::protobuf::Timestamp ToTimestamp(absl::Time time) {
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(absl::ToUnixSeconds(time));
  return timestamp;
}

void TakeVolumes(Stub& stub, std::vector<v1::Volume>& volumes) {
  v1::ListVolumesRequest request;
  request.set_page_size(kPageSize);
  do {
    v1::ListVolumesResponse page;
    if (!Ask(stub, &Stub::ListVolumes, request, page) || page.volumes().empty()) return;
    volumes.insert(volumes.end(), page.volumes().begin(), page.volumes().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && volumes.size() < kItemsMax);
}

void TakeHosts(Stub& stub, std::vector<v1::Host>& hosts) {
  v1::QueryHostsRequest request;
  request.set_page_size(kPageSize);
  do {
    v1::QueryHostsResponse page;
    if (!Ask(stub, &Stub::QueryHosts, request, page) || page.hosts().empty()) return;
    hosts.insert(hosts.end(), page.hosts().begin(), page.hosts().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && hosts.size() < kItemsMax);
}

}  // namespace

MetricsSource::MetricsSource(Options options, std::shared_ptr<grpc::Channel> channel, Clock& clock)
    : options_(std::move(options)), channel_(std::move(channel)), clock_(clock) {}

MetricsSource::~MetricsSource() = default;

FleetSnapshot MetricsSource::Take() {
  FleetSnapshot snapshot;
  snapshot.version = options_.version;
  snapshot.now = clock_.Now();
  const auto stub = v1::QueryService::NewStub(channel_);
  Ask(*stub, &Stub::GetSummary, v1::GetSummaryRequest(), snapshot.summary);
  TakeVolumes(*stub, snapshot.volumes);
  TakeHosts(*stub, snapshot.hosts);
  v1::ListScheduleRequest yesterday;
  *yesterday.mutable_start_time() = ToTimestamp(snapshot.now - absl::Hours(24));
  *yesterday.mutable_end_time() = ToTimestamp(snapshot.now);
  Ask(*stub, &Stub::ListSchedule, yesterday, snapshot.past);
  struct statvfs space = {};
  if (statvfs(options_.state_directory.c_str(), &space) == 0) {
    snapshot.index_size_bytes = static_cast<int64_t>(space.f_blocks * space.f_frsize);
    snapshot.index_free_bytes = static_cast<int64_t>(space.f_bavail * space.f_frsize);
  }
  if (options_.certificate_expire_time != nullptr) {
    snapshot.certificate_expire_time = options_.certificate_expire_time();
  }
  return snapshot;
}

std::string MetricsSource::Text() {
  {
    MutexLock lock(&mutex_);
    if (clock_.Monotonic() - as_of_ < kKeep) return text_;
  }
  std::string text = MetricsText(FleetMetrics(Take()));
  MutexLock lock(&mutex_);
  text_ = text;
  as_of_ = clock_.Monotonic();
  return text;
}

absl::Status WriteTextfile(const std::string& path, const std::string& text) {
  // node_exporter reads *.prom alone.
  const std::string fresh = absl::StrCat(path, ".new");
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return absl::ErrnoToStatus(errno, fresh);
  absl::Status status = absl::OkStatus();
  for (size_t done = 0; done < text.size() && status.ok();) {
    const ssize_t written = write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) status = absl::ErrnoToStatus(errno, fresh);
    if (written > 0) done += static_cast<size_t>(written);
  }
  // Whatever the umask says: another user reads it.
  if (status.ok() && fchmod(fd, 0644) != 0) status = absl::ErrnoToStatus(errno, fresh);
  close(fd);
  if (status.ok() && rename(fresh.c_str(), path.c_str()) != 0) {
    status = absl::ErrnoToStatus(errno, path);
  }
  if (!status.ok()) (void)unlink(fresh.c_str());
  return status;
}

}  // namespace onefold
