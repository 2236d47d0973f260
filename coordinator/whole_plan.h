// Groups of extents whose digests and lengths are equal and of which at least one waits.
//
// When most of the index waits, rows F are walked from end to end: equal digests lie side by side.
// When few extents wait, each is looked up, so that the cost does not depend on the index's size.

#ifndef ONEFOLD_COORDINATOR_WHOLE_PLAN_H_
#define ONEFOLD_COORDINATOR_WHOLE_PLAN_H_

#include <memory>

#include "coordinator/plan_stream.h"

namespace onefold::index {

// `store` and `volume` must outlive the source.
std::unique_ptr<PlanSource> NewWholePlan(const OrderedStore& store, const Volume& volume);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_WHOLE_PLAN_H_
