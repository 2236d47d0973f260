#include "common/nearest_word.h"

#include <algorithm>
#include <cstddef>

namespace onefold {
namespace {

constexpr size_t kWordBytesMax = 64;

}  // namespace

int EditDistance(absl::string_view a, absl::string_view b) {
  // Three rows of the usual table suffice; the one before the last is for swapped neighbours.
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string NearestWord(absl::string_view word, const std::vector<std::string>& words) {
  if (word.size() > kWordBytesMax) return "";
  const int distance_max = std::max<int>(1, static_cast<int>(word.size()) / 3);
  const std::string* nearest = nullptr;
  int nearest_distance = distance_max + 1;
  for (const std::string& known : words) {
    const int distance = EditDistance(word, known);
    if (distance >= nearest_distance || distance >= static_cast<int>(known.size())) continue;
    nearest = &known;
    nearest_distance = distance;
  }
  return nearest == nullptr ? "" : *nearest;
}

}  // namespace onefold
