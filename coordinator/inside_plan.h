// Groups of an extent and the places inside others where its head was found.
//
// A match is offered while it is new, that is found since inside plans were last worked through,
// and whenever the query or the place waits again.

#ifndef ONEFOLD_COORDINATOR_INSIDE_PLAN_H_
#define ONEFOLD_COORDINATOR_INSIDE_PLAN_H_

#include <memory>

#include "coordinator/plan_stream.h"

namespace onefold::index {

// `store` and `volume` must outlive the source.
std::unique_ptr<PlanSource> NewInsidePlan(const OrderedStore& store, const Volume& volume);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_INSIDE_PLAN_H_
