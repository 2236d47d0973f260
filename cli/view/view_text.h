// What the commands that show things print for people. Everything that came over the wire is
// escaped; what is not known is "-", never 0. Pure.

#ifndef ONEFOLD_CLI_VIEW_VIEW_TEXT_H_
#define ONEFOLD_CLI_VIEW_VIEW_TEXT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "onefold/v1/query_service.pb.h"

namespace onefold {

struct ViewStyle {
  absl::Time now;
  // See Table.
  int cell_columns_max = 0;
  // Colours are wanted.
  bool colour = false;
};

// One screen. `source`: who answered; `is_still`: a state directory that nobody works with.
std::string StatusText(const v1::GetSummaryResponse& summary, const std::string& source,
                       bool is_still, const ViewStyle& style);

std::string VolumesText(const std::vector<v1::Volume>& volumes, const ViewStyle& style);

// `response` as RunsText and RunEndText show runs, with what waits on its volume. `host_names`: id
// → name for people.
std::string RunText(const v1::GetRunResponse& response,
                    const std::map<std::string, std::string>& host_names, const ViewStyle& style);

std::string DuplicatesText(const v1::ListDuplicatesResponse& duplicates, const ViewStyle& style);

// A matrix of up to 8 volumes, else pairs.
std::string OverlapText(const v1::GetOverlapResponse& overlap, const ViewStyle& style);

std::string HistoryText(const v1::GetHistoryResponse& history, const ViewStyle& style);

}  // namespace onefold

#endif  // ONEFOLD_CLI_VIEW_VIEW_TEXT_H_
