#include "coordinator/query/scratch_store.h"

#include "coordinator/testing/ordered_store_contract.h"

namespace onefold::index {
namespace {

INSTANTIATE_TEST_SUITE_P(Scratch, OrderedStoreContract,
                         ::testing::Values([] { return std::make_unique<query::ScratchStore>(); }));

}  // namespace
}  // namespace onefold::index
