// The files of the web page, which are part of the program (CMakeLists.txt beside this).

#ifndef ONEFOLD_CLI_WEB_PAGE_FILES_H_
#define ONEFOLD_CLI_WEB_PAGE_FILES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onefold {

struct PageFile {
  absl::string_view path;  // "/app.js"
  absl::string_view content_type;
  absl::string_view content;
};

absl::Span<const PageFile> PageFiles();

// nullptr if there is none; "/" is the page itself.
const PageFile* FindPageFile(absl::string_view path);

}  // namespace onefold

#endif  // ONEFOLD_CLI_WEB_PAGE_FILES_H_
