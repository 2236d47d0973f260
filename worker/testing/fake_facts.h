// FakeFactsSource: filesystems as a test describes them.

#ifndef ONEFOLD_WORKER_TESTING_FAKE_FACTS_H_
#define ONEFOLD_WORKER_TESTING_FAKE_FACTS_H_

#include <map>
#include <string>

#include "worker/daemon/host_inventory.h"

namespace onefold {

class FakeFactsSource final : public FactsSource {
 public:
  // By the path that is asked with.
  std::map<std::string, BtrfsFacts> known;

  absl::StatusOr<BtrfsFacts> Facts(const std::string& path) override {
    const auto found = known.find(path);
    if (found == known.end()) return absl::NotFoundError("it is gone");
    return found->second;
  }
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_TESTING_FAKE_FACTS_H_
