// Words for what the queries say in numbers: the same on terminals and in JSON. Pure.

#ifndef ONEFOLD_CLI_VIEW_VIEW_WORDS_H_
#define ONEFOLD_CLI_VIEW_VIEW_WORDS_H_

#include <string>

#include "onefold/v1/query_service.pb.h"

namespace onefold {

// Values that this program does not know are "unknown".
inline std::string SeverityWord(v1::Attention::Severity severity) {
  switch (severity) {
    case v1::Attention::SEVERITY_NOTICE: return "notice";
    case v1::Attention::SEVERITY_WARNING: return "warning";
    case v1::Attention::SEVERITY_ERROR: return "error";
    default: return "unknown";
  }
}

inline std::string StateWord(v1::ScheduleEntry::State state) {
  switch (state) {
    case v1::ScheduleEntry::STATE_DUE: return "due";
    case v1::ScheduleEntry::STATE_ACTIVE: return "active";
    case v1::ScheduleEntry::STATE_DONE: return "done";
    case v1::ScheduleEntry::STATE_MISSED: return "missed";
    default: return "unknown";
  }
}

}  // namespace onefold

#endif  // ONEFOLD_CLI_VIEW_VIEW_WORDS_H_
