#include "common/yaml_tree.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Error(absl::string_view text) {
  return std::string(ParseYaml(text).status().message());
}

TEST(YamlTreeTest, ValuesAndLines) {
  const auto documents = ParseYaml("a: 1\nb:\n  - x\n  - 'y: z'\n---\n---\nc:\n");
  ASSERT_THAT(documents, IsOkAndHolds(SizeIs(2)));
  const YamlNode& first = documents->front();
  ASSERT_THAT(first.map, SizeIs(2));
  EXPECT_EQ(first.map[0].value.scalar, "1");
  EXPECT_EQ(first.map[1].line, 2);
  ASSERT_THAT(first.map[1].value.list, SizeIs(2));
  EXPECT_EQ(first.map[1].value.list[1].scalar, "y: z");
  EXPECT_EQ(first.map[1].value.list[1].line, 4);
  EXPECT_EQ(documents->back().map[0].value.kind, YamlNode::Kind::kNull);
}

TEST(YamlTreeTest, ErrorsNameTheLine) {
  EXPECT_THAT(Error("a: 1\nb: [1, 2\n"), HasSubstr("line"));
  EXPECT_THAT(Error("a: 1\na: 2\n"), HasSubstr("line 2: a: is given twice"));
  EXPECT_THAT(Error("a: 1\n? [x]\n: 2\n"), HasSubstr("line 2: a key must be a word"));
  EXPECT_THAT(Error("a: 1\nb: \xff\n"), HasSubstr("line 2: this is not UTF-8"));
  EXPECT_THAT(Error("a: *nowhere\n"), HasSubstr("line 1"));
}

// It would swallow all settings that follow.
TEST(YamlTreeTest, QuotationMarksAreClosed) {
  for (const char* text : {"a: \"x\nb: 1\n", "a: 'x", "a: ['x, y]\nb: 1\n", "'a: 1\n"}) {
    EXPECT_THAT(Error(text), HasSubstr("never closed")) << text;
  }
  for (const char* text : {"a: 'x'", "a: \"x\ny\"\n", "a: |\n  x\n", "a: 1\n...\n", "a: 1 # x"}) {
    EXPECT_THAT(ParseYaml(text), IsOkAndHolds(SizeIs(1))) << text;
  }
  for (const char* text : {"", "\n", "# x", "---\n", "...\n"}) {
    EXPECT_THAT(ParseYaml(text), IsOkAndHolds(SizeIs(0))) << text;
  }
}

// Files come over the wire: a few hundred bytes must not cost a gigabyte, or the stack.
TEST(YamlTreeTest, BombsAreRefused) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    absl::StrAppend(&laughs, "a", i, ": &a", i, " [");
    for (int k = 0; k < 10; ++k) absl::StrAppend(&laughs, "*a", i - 1, ", ");
    absl::StrAppend(&laughs, "]\n");
  }
  EXPECT_THAT(Error(laughs), HasSubstr("too many"));
  EXPECT_THAT(Error(std::string(100'000, '[')), HasSubstr("line"));
  EXPECT_THAT(Error("&a [*a]"), HasSubstr("deep"));
  EXPECT_THAT(Error(std::string(2 << 20, 'a')), HasSubstr("1 MiB"));
}

TEST(YamlTreeTest, ScalarsComeBack) {
  for (const std::string text :
       {"", "a", "/srv/data", "*.iso", "a: b", "- x", "12", "no", "say \"x\"", "back\\slash",
        "tab\tline\n", "größe", "#x", "host=nas1,label:site=a", "1e3", ".inf", "~", "a #b"}) {
    const auto documents = ParseYaml(absl::StrCat("k: ", YamlScalar(text)));
    ASSERT_THAT(documents, IsOkAndHolds(SizeIs(1))) << text;
    const YamlNode& value = documents->front().map[0].value;
    EXPECT_EQ(value.kind, YamlNode::Kind::kScalar);
    EXPECT_EQ(value.scalar, text);
  }
  EXPECT_EQ(YamlScalar("/srv/data"), "/srv/data");
}

}  // namespace
}  // namespace onefold
