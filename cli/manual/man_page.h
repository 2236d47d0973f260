// Manual pages in roff, from what --help prints. Pure.

#ifndef ONEFOLD_CLI_MANUAL_MAN_PAGE_H_
#define ONEFOLD_CLI_MANUAL_MAN_PAGE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/command.h"

namespace onefold {

struct ManPage {
  std::string name;  // "onefold-fleet-list": in section 1
  std::string text;  // roff, in ASCII
};

// One page for `program` and for each command below it. `version`: "1.2.3". The same on every day,
// so that packages are reproducible.
std::vector<ManPage> ManPages(const CommandGroup& program, const std::string& version);

// `text` so that roff prints it as it is.
std::string RoffText(absl::string_view text);

}  // namespace onefold

#endif  // ONEFOLD_CLI_MANUAL_MAN_PAGE_H_
