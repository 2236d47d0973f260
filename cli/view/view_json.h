// What the commands that show things print for programs: one line of ASCII JSON, without a newline.
// docs/json.md lists the fields; they are only ever added. What is not known is null. Pure.

#ifndef ONEFOLD_CLI_VIEW_VIEW_JSON_H_
#define ONEFOLD_CLI_VIEW_VIEW_JSON_H_

#include <string>
#include <vector>

#include "onefold/v1/query_service.pb.h"

namespace onefold {

// See StatusText.
std::string StatusJson(const v1::GetSummaryResponse& summary, const std::string& source,
                       bool is_still);
std::string VolumesJson(const std::vector<v1::Volume>& volumes);
std::string DuplicatesJson(const v1::ListDuplicatesResponse& duplicates);
std::string OverlapJson(const v1::GetOverlapResponse& overlap);
std::string HistoryJson(const v1::GetHistoryResponse& history);

}  // namespace onefold

#endif  // ONEFOLD_CLI_VIEW_VIEW_JSON_H_
