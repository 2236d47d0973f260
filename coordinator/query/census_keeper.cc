#include "coordinator/query/census_keeper.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace onefold::query {
namespace {

constexpr int kLeastPriority = 19;

// Differs when a census of them would.
std::string StampOf(const std::vector<CountedVolume>& volumes) {
  std::string stamp;
  for (const CountedVolume& volume : volumes) {
    const index::VolumeRecord& record = volume.record;
    absl::StrAppend(&stamp, ToBytes(volume.uuid), record.incarnation(), ":",
                    record.scanned_generation(), ":", record.resume_address_blocks(), ":",
                    record.extent_count(), ":", record.extent_blocks(), ";");
  }
  return stamp;
}

}  // namespace

CensusKeeper::CensusKeeper(Options options, const index::OrderedStore& store,
                           std::function<std::vector<CountedVolume>()> volumes, Clock& clock)
    : options_(options), store_(store), volumes_(std::move(volumes)), clock_(clock) {
  thread_ = std::thread([this] { Run(); });
}

CensusKeeper::~CensusKeeper() {
  {
    MutexLock lock(&mutex_);
    ended_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

std::shared_ptr<const Census> CensusKeeper::Get() {
  MutexLock lock(&mutex_);
  wanted_until_ = clock_.Monotonic() + options_.interest;
  changed_.NotifyAll();
  return latest_;
}

std::shared_ptr<const Census> CensusKeeper::Peek() const {
  MutexLock lock(&mutex_);
  return latest_;
}

absl::StatusOr<std::shared_ptr<const Census>> CensusKeeper::TakeNow() { return Take(volumes_()); }

absl::StatusOr<std::shared_ptr<const Census>> CensusKeeper::Take(
    const std::vector<CountedVolume>& volumes) {
  const absl::Time time = clock_.Now();
  const absl::Duration begin = clock_.Monotonic();
  ASSIGN_OR_RETURN(Census census, TakeCensus(store_, volumes, options_.census, [this] {
                     MutexLock lock(&mutex_);
                     return ended_;
                   }));
  census.time = time;
  census.elapsed = clock_.Monotonic() - begin;
  auto taken = std::make_shared<const Census>(std::move(census));
  MutexLock lock(&mutex_);
  latest_ = taken;
  return taken;
}

void CensusKeeper::Run() {
  // On Linux this is the thread's own. If it is refused, the rests still keep it cheap.
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLeastPriority);
  std::string stamp;
  absl::Duration rest_until = -absl::InfiniteDuration();
  while (true) {
    {
      MutexLock lock(&mutex_);
      while (!ended_) {
        const absl::Duration now = clock_.Monotonic();
        if (wanted_until_ <= now) {
          changed_.Wait(&mutex_);
        } else if (now < rest_until) {
          changed_.WaitFor(&mutex_, absl::ToChronoMilliseconds(rest_until - now));
        } else {
          break;
        }
      }
      if (ended_) return;
    }
    const std::vector<CountedVolume> volumes = volumes_();
    const std::string now_stamp = StampOf(volumes);
    absl::Duration took = absl::ZeroDuration();
    if (now_stamp != stamp || Peek() == nullptr) {
      // One that fails (the index was begun anew meanwhile) is tried again after the rest.
      if (const auto census = Take(volumes); census.ok()) {
        stamp = now_stamp;
        took = (*census)->elapsed;
      }
    }
    rest_until = clock_.Monotonic() + std::max(options_.rest_min, options_.rest_factor * took);
  }
}

}  // namespace onefold::query
