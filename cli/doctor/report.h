// Findings as text for people and as JSON for programs (docs/json.md). Pure.

#ifndef ONEFOLD_CLI_DOCTOR_REPORT_H_
#define ONEFOLD_CLI_DOCTOR_REPORT_H_

#include <string>
#include <vector>

#include "cli/doctor/findings.h"

namespace onefold {

// One or two lines each: what is right, what is not, and what mends it. `colour`: on a terminal.
std::string FindingsText(const std::vector<Finding>& findings, bool colour);

// One object, onefold.doctor.v1, without a line break.
std::string FindingsJson(const std::vector<Finding>& findings);

}  // namespace onefold

#endif  // ONEFOLD_CLI_DOCTOR_REPORT_H_
