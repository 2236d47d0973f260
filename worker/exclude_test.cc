#include "worker/exclude.h"

#include <chrono>
#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;

ExcludeList Parsed(const std::vector<std::string>& patterns) {
  auto list = ExcludeList::Parse(patterns);
  EXPECT_THAT(list, IsOk());
  return list.ok() ? *std::move(list) : ExcludeList();
}

// Whether `pattern` excludes the file or directory `path` below the root /srv.
bool Excludes(const std::string& pattern, const std::string& path, bool is_directory = false) {
  return Parsed({pattern}).Match(path, "/srv/" + path, is_directory).has_value();
}

TEST(ExcludeTest, ABareNameMatchesAtAnyDepth) {
  EXPECT_TRUE(Excludes("@eaDir", "@eaDir", true));
  EXPECT_TRUE(Excludes("@eaDir", "a/b/@eaDir", true));
  EXPECT_FALSE(Excludes("@eaDir", "a/@eaDir2"));
  EXPECT_FALSE(Excludes("@eaDir", "@eaDir/a"));  // its parent was asked before
}

TEST(ExcludeTest, AStarStaysWithinOneName) {
  EXPECT_TRUE(Excludes("*.iso", "a/b/debian.iso"));
  EXPECT_TRUE(Excludes("*.iso", ".iso"));
  EXPECT_FALSE(Excludes("*.iso", "debian.iso.part"));
  EXPECT_TRUE(Excludes("a/*/c", "a/b/c"));
  EXPECT_FALSE(Excludes("a/*/c", "a/b/b/c"));
  EXPECT_TRUE(Excludes("a*b*c", "aXbXbXc"));
  EXPECT_TRUE(Excludes("a**c", "abc"));
  EXPECT_FALSE(Excludes("a**c", "a/c"));
}

TEST(ExcludeTest, ASlashInTheMiddleAnchorsAtTheRoot) {
  EXPECT_TRUE(Excludes("a/b", "a/b"));
  EXPECT_FALSE(Excludes("a/b", "x/a/b"));
  EXPECT_TRUE(Excludes("a//b", "a/b"));
}

TEST(ExcludeTest, DoubleStarStandsForAnyNumberOfDirectories) {
  EXPECT_TRUE(Excludes("**/b", "b"));
  EXPECT_TRUE(Excludes("**/b", "x/y/b"));
  EXPECT_TRUE(Excludes("a/**/b", "a/b"));
  EXPECT_TRUE(Excludes("a/**/b", "a/x/y/b"));
  EXPECT_FALSE(Excludes("a/**/b", "x/a/b"));
  EXPECT_TRUE(Excludes("a/**", "a/x"));
  EXPECT_TRUE(Excludes("a/**", "a/x/y"));
  EXPECT_FALSE(Excludes("a/**", "a", true));  // only what is below
  EXPECT_TRUE(Excludes("**/x/**/*.tmp", "x/1.tmp"));
  EXPECT_TRUE(Excludes("**/**/b", "x/b"));
  EXPECT_TRUE(Excludes("**", "anything"));
}

TEST(ExcludeTest, ATrailingSlashMeansDirectoriesOnly) {
  EXPECT_TRUE(Excludes("cache/", "a/cache", true));
  EXPECT_FALSE(Excludes("cache/", "a/cache", false));
}

TEST(ExcludeTest, ALeadingSlashMeansAbsolute) {
  EXPECT_TRUE(Excludes("/srv/x", "x"));
  EXPECT_FALSE(Excludes("/x", "x"));
  EXPECT_TRUE(Excludes("/srv/x/", "x", true));
  EXPECT_TRUE(Excludes("/srv/*/y", "x/y"));
  EXPECT_TRUE(Excludes("/srv/**/y", "y"));
  EXPECT_FALSE(Excludes("/srv", "x"));
}

TEST(ExcludeTest, SetsAndClassesOfBytes) {
  EXPECT_TRUE(Excludes("[ab].txt", "b.txt"));
  EXPECT_FALSE(Excludes("[ab].txt", "c.txt"));
  EXPECT_TRUE(Excludes("[!ab].txt", "c.txt"));
  EXPECT_FALSE(Excludes("[^ab].txt", "a.txt"));
  EXPECT_TRUE(Excludes("log.[0-9]", "log.7"));
  EXPECT_TRUE(Excludes("[]x]", "]"));
  EXPECT_FALSE(Excludes("[!]x]", "]"));
  EXPECT_TRUE(Excludes("[a-]", "-"));
  EXPECT_TRUE(Excludes("[\\]]", "]"));
  EXPECT_TRUE(Excludes("[[:digit:]x]", "7"));
  EXPECT_TRUE(Excludes("[[:digit:]x]", "x"));
  EXPECT_TRUE(Excludes("f?o", "fxo"));
  EXPECT_FALSE(Excludes("f?o", "fo"));
}

TEST(ExcludeTest, ABackslashTakesTheMeaningAway) {
  EXPECT_TRUE(Excludes("\\*", "*"));
  EXPECT_FALSE(Excludes("\\*", "a"));
  EXPECT_TRUE(Excludes("\\!x", "!x"));
  EXPECT_TRUE(Excludes("a\\/b", "a/b"));
  EXPECT_TRUE(Excludes("#x", "#x"));  // no comments on a command line
  EXPECT_TRUE(Excludes(" x ", " x "));
}

TEST(ExcludeTest, NamesNeedNotBeText) {
  EXPECT_TRUE(Excludes("caf\xe9", "caf\xe9"));
  EXPECT_TRUE(Excludes("*\xff", "a\n\xff"));
  EXPECT_TRUE(Excludes("[\x80-\xff]", "\xe9"));
}

// A typing error must not become a run that touches what was to be left alone.
TEST(ExcludeTest, MalformedPatternsAreRefusedByName) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "empty"},
      {"a[b", "without"},
      {"[", "without"},
      {"[!", "without"},
      {"[]", "without"},
      {"[a/b]", "without"},
      {"[a\\", "without"},
      {"a\\", "backslash"},
      {"!a", "not supported"},
      {"/", "names nothing"},
      {"//", "names nothing"},
      {"./a", "never matches"},
      {"a/../b", "never matches"},
      {"[[:foo:]]", "no class"},
      {"[z-a]", "backwards"},
      {std::string("a\0b", 3), "zero byte"},
  };
  for (const auto& [pattern, message] : cases) {
    const auto list = ExcludeList::Parse({"ok", pattern});
    ASSERT_THAT(list, HasCode(absl::StatusCode::kInvalidArgument)) << pattern;
    EXPECT_THAT(std::string(list.status().message()), HasSubstr(message)) << pattern;
    EXPECT_THAT(std::string(list.status().message()), HasSubstr("'" + pattern + "'"));
  }
}

TEST(ExcludeTest, TheFirstPatternThatMatchesIsNamed) {
  const ExcludeList list = Parsed({"*.tmp", "a.*", "a.tmp"});
  EXPECT_EQ(list.Match("a.tmp", "/srv/a.tmp", false), 0u);
  EXPECT_EQ(list.Match("a.x", "/srv/a.x", false), 1u);
  EXPECT_EQ(list.Match("b.x", "/srv/b.x", false), std::nullopt);
  EXPECT_EQ(list.text(1), "a.*");
}

// Naive matchers take years for these.
TEST(ExcludeTest, HostilePatternsAndPathsTakeNoTime) {
  std::string pattern;
  std::string deep;
  for (int i = 0; i < 30; ++i) pattern += "*a";
  for (int i = 0; i < 30; ++i) deep += "**/a/";
  const std::string name(5000, 'a');
  std::string path = "a";
  for (int i = 0; i < 2000; ++i) path += "/a";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(Excludes(pattern + "b", name));
  EXPECT_FALSE(Excludes(deep + "b", path));
  EXPECT_TRUE(Excludes(deep + "a", path));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(ExcludeTest, TheGivenRootItselfIsOnlyExcludedByAnAbsolutePattern) {
  EXPECT_EQ(Parsed({"srv", "*", "**", "**/srv"}).Match("", "/srv", true), std::nullopt);
  EXPECT_EQ(Parsed({"/srv"}).Match("", "/srv", true), 0u);
}

// The state directory may be called anything.
TEST(ExcludeTest, ALiteralHasNoSpecialCharacters) {
  ExcludeList list = Parsed({"*.iso"});
  list.AddLiteral("/srv/[state]*");
  EXPECT_EQ(list.Match("[state]*", "/srv/[state]*", true), 1u);
  EXPECT_EQ(list.Match("s", "/srv/s", true), std::nullopt);
  EXPECT_EQ(list.text(1), "/srv/[state]*");
  EXPECT_EQ(list.LiteralAbsolutePaths().size(), 0u);  // not typed by anybody
}

// Given /data, a symlink to /pool/data, people write /data/tmp; the worker sees /pool/data/tmp.
TEST(ExcludeTest, AbsolutePatternsHoldUnderEveryNameOfADirectory) {
  ExcludeList list = Parsed({"/data/tmp", "/backup/*.iso"});
  list.AddAlias("/pool/data", "/data");
  list.AddAlias("/pool/data/old", "/backup");
  EXPECT_EQ(list.Match("tmp", "/pool/data/tmp", true), 0u);
  EXPECT_EQ(list.Match("old/a.iso", "/pool/data/old/a.iso", false), 1u);
  EXPECT_EQ(list.Match("a.iso", "/pool/data/a.iso", false), std::nullopt);
}

TEST(ExcludeTest, APatternMayHaveASecondSpelling) {
  ExcludeList list = Parsed({"x", "/srv/current/"});
  list.AddSpelling(1, "/srv/v5");
  EXPECT_EQ(list.Match("v5", "/srv/v5", true), 1u);
  EXPECT_EQ(list.Match("v5", "/srv/v5", false), std::nullopt);
}

// A root within another is folded into it; what was said relative to it still holds.
TEST(ExcludeTest, AnchoredPatternsHoldBelowEachGivenRoot) {
  ExcludeList list = Parsed({"a/b"});
  list.AddGivenRoot("/srv");
  list.AddGivenRoot("/srv/x");
  EXPECT_EQ(list.Match("a/b", "/srv/a/b", false), 0u);
  EXPECT_EQ(list.Match("x/a/b", "/srv/x/a/b", false), 0u);
  EXPECT_EQ(list.Match("y/a/b", "/srv/y/a/b", false), std::nullopt);
  // The worker may count from a mount below a given root.
  EXPECT_EQ(list.Match("b", "/srv/a/b", false), 0u);
}

TEST(ExcludeTest, LiteralAbsolutePathsCanBeLookedUp) {
  const ExcludeList list = Parsed({"a", "/srv/x", "/srv/*.iso", "/srv/\\*y/", "//srv//z"});
  const auto paths = list.LiteralAbsolutePaths();
  ASSERT_EQ(paths.size(), 3u);
  EXPECT_EQ(paths[0].path, "/srv/x");
  EXPECT_EQ(paths[0].index, 1u);
  EXPECT_EQ(paths[1].path, "/srv/*y");
  EXPECT_EQ(paths[2].path, "/srv/z");
  EXPECT_TRUE(list.has_absolute());
  EXPECT_FALSE(Parsed({"a", "b/c"}).has_absolute());
}

}  // namespace
}  // namespace onefold
