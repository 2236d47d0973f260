#include "cli/web/page_files.h"

namespace onefold {

const PageFile* FindPageFile(absl::string_view path) {
  if (path == "/") path = "/index.html";
  for (const PageFile& file : PageFiles()) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

}  // namespace onefold
