// CensusKeeper: the latest Census, taken anew in a thread of least priority while somebody asks for
// it and the index changes. While nobody looks, nothing is read.
//
// Thread-safe.

#ifndef ONEFOLD_COORDINATOR_QUERY_CENSUS_KEEPER_H_
#define ONEFOLD_COORDINATOR_QUERY_CENSUS_KEEPER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "coordinator/ordered_store.h"
#include "coordinator/query/census.h"

namespace onefold::query {

class CensusKeeper {
 public:
  struct Options {
    // Between two of them at least this, and so many times as long as the last one took: what it
    // costs stays below a twentieth of a processor.
    absl::Duration rest_min = absl::Minutes(1);
    double rest_factor = 20;
    // How long an interest lasts.
    absl::Duration interest = absl::Minutes(10);
    CensusOptions census = {};
  };
  // All must outlive the keeper. `volumes` says what there is now; thread-safe.
  CensusKeeper(Options options, const index::OrderedStore& store,
               std::function<std::vector<CountedVolume>()> volumes, Clock& clock);
  // Ends a census that is under way.
  ~CensusKeeper();
  CensusKeeper(const CensusKeeper&) = delete;
  CensusKeeper& operator=(const CensusKeeper&) = delete;

  // The latest one, perhaps not of now; null if there is none yet. Somebody looks: from now on it
  // is kept up to date for a while.
  std::shared_ptr<const Census> Get();
  // The same without an interest.
  std::shared_ptr<const Census> Peek() const;
  // Takes one now, in the caller's thread.
  absl::StatusOr<std::shared_ptr<const Census>> TakeNow();

 private:
  void Run();
  absl::StatusOr<std::shared_ptr<const Census>> Take(const std::vector<CountedVolume>& volumes);

  const Options options_;
  const index::OrderedStore& store_;
  const std::function<std::vector<CountedVolume>()> volumes_;
  Clock& clock_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::shared_ptr<const Census> latest_ ABSL_GUARDED_BY(mutex_);
  absl::Duration wanted_until_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace onefold::query

#endif  // ONEFOLD_COORDINATOR_QUERY_CENSUS_KEEPER_H_
