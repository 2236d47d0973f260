// A directory of its own for one test, removed afterwards.

#ifndef ONEFOLD_COMMON_TESTING_TEMP_DIR_H_
#define ONEFOLD_COMMON_TESTING_TEMP_DIR_H_

#include <filesystem>
#include <string>

#include "common/check.h"

namespace onefold {

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "onefold-test-XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace onefold

#endif  // ONEFOLD_COMMON_TESTING_TEMP_DIR_H_
