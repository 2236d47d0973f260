#include "cli/web/page_files.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PageFilesTest, ThePageIsThere) {
  const PageFile* page = FindPageFile("/");
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page, FindPageFile("/index.html"));
  EXPECT_EQ(page->content_type, "text/html; charset=utf-8");
  EXPECT_THAT(std::string(page->content), ::testing::StartsWith("<!doctype html>"));
  EXPECT_EQ(page->content[page->content.size() - 1], '\n');
}

TEST(PageFilesTest, NothingElseIs) {
  for (const char* path : {"", "/nothing", "index.html", "/../index.html", "/./index.html"}) {
    EXPECT_EQ(FindPageFile(path), nullptr) << path;
  }
  std::set<absl::string_view> paths;
  for (const PageFile& file : PageFiles()) {
    EXPECT_TRUE(paths.insert(file.path).second) << file.path;
    EXPECT_FALSE(file.content.empty()) << file.path;
  }
}

// The policy forbids them, so they would not work; and nothing comes from elsewhere.
TEST(PageFilesTest, NothingInlineAndNothingForeign) {
  const std::string page(FindPageFile("/")->content);
  for (const char* forbidden : {"<script>", "style=", "onclick=", "http://", "https://"}) {
    EXPECT_THAT(page, Not(HasSubstr(forbidden)));
  }
  for (const PageFile& file : PageFiles()) {
    if (!absl::EndsWith(file.path, ".js") || absl::StartsWith(file.path, "/dygraph")) continue;
    for (const char* forbidden :
         {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "https://"}) {
      EXPECT_THAT(std::string(file.content), Not(HasSubstr(forbidden))) << file.path;
    }
  }
}

}  // namespace
}  // namespace onefold
