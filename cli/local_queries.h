// LocalQueries: the QueryService of a state directory of this machine, without a coordinator that
// serves it: for `onefold dedupe` while it works, and for commands that look at a directory that
// nobody uses. Books of a fleet are shown as they are; of `onefold dedupe` they are made up
// (coordinator/query/single_host.h). Nothing is changed on disk.
//
// Thread-safe.

#ifndef ONEFOLD_CLI_LOCAL_QUERIES_H_
#define ONEFOLD_CLI_LOCAL_QUERIES_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "coordinator/ordered_store.h"
#include "coordinator/query/census.h"
#include "onefold/v1/query_service.grpc.pb.h"

namespace onefold {

class LocalQueries {
 public:
  // All must outlive the queries.
  struct Parts {
    Clock& clock;
    const index::OrderedStore& index;
    index::OrderedStore& state;
    // What the index knows now; thread-safe.
    std::function<std::vector<query::CountedVolume>()> volumes;
    // A process works with the directory.
    bool running = false;
    // Nobody waits for a census that is taken beside the work: take it when it is asked for.
    bool census_at_once = false;
    // How the runs that are under way stand, as a worker would report it; may be empty.
    std::function<std::vector<v1::RunStatus>()> runs = {};
  };

  // Asks the machine for its name and what it has mounted. DATA_LOSS: the books are damaged.
  static absl::StatusOr<std::unique_ptr<LocalQueries>> Open(Parts parts);
  virtual ~LocalQueries() = default;

  virtual v1::QueryService::Service& service() = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_LOCAL_QUERIES_H_
