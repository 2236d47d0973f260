#include "coordinator/testing/memory_store.h"
#include "coordinator/testing/ordered_store_contract.h"

namespace onefold::index {
namespace {

INSTANTIATE_TEST_SUITE_P(Memory, OrderedStoreContract,
                         ::testing::Values([] { return std::make_unique<MemoryStore>(); }));

}  // namespace
}  // namespace onefold::index
