// "Did you mean …?": the known word that was most likely meant. Pure.

#ifndef ONEFOLD_COMMON_NEAREST_WORD_H_
#define ONEFOLD_COMMON_NEAREST_WORD_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace onefold {

// How many letters must be inserted, deleted, changed or swapped with their neighbour.
int EditDistance(absl::string_view a, absl::string_view b);

// The first of `words` with the least distance, or empty when none is near: a third of the letters
// may differ. A `word` that is longer than any sensible name (64 bytes) is near to nothing.
std::string NearestWord(absl::string_view word, const std::vector<std::string>& words);

}  // namespace onefold

#endif  // ONEFOLD_COMMON_NEAREST_WORD_H_
