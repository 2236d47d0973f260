#include "common/escape.h"

#include <random>

#include "common/testing/test_seed.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

TEST(EscapeTest, OrdinaryNamesStayAsTheyAre) {
  EXPECT_EQ(Escape("/srv/Fotos 2024/Café ☕ 写真.jpg"), "/srv/Fotos 2024/Café ☕ 写真.jpg");
  EXPECT_EQ(Escape(""), "");
}

// Raw, these clear the screen, move the cursor, ring and forge a line "Reclaimed 9 TiB".
TEST(EscapeTest, ControlBytesAreShown) {
  EXPECT_EQ(Escape("a\x1b[2J\a\r\nb\t\x7f"), "a\\x1b[2J\\x07\\r\\nb\\t\\x7f");
  EXPECT_EQ(Escape(absl::string_view("a\0b", 3)), "a\\x00b");
}

// A terminal reads U+009B as ESC [.
TEST(EscapeTest, C1ControlsAreShown) { EXPECT_EQ(Escape("a\u009b2J"), "a\\u{9b}2J"); }

// "gpj.exe" shown as "exe.jpg", or a second line where there is none.
TEST(EscapeTest, CharactersThatTurnOrHideTextAreShown) {
  EXPECT_EQ(Escape("\u202egpj.exe"), "\\u{202e}gpj.exe");
  EXPECT_EQ(Escape("a\u2028b\u2029c"), "a\\u{2028}b\\u{2029}c");
  EXPECT_EQ(Escape("a\u200bb\u2066c\ufeff"), "a\\u{200b}b\\u{2066}c\\u{feff}");
}

TEST(EscapeTest, WhatIsNoUtf8IsShownByteByByte) {
  EXPECT_EQ(Escape("caf\xe9"), "caf\\xe9");                       // Latin-1
  EXPECT_EQ(Escape("\xc0\xaf"), "\\xc0\\xaf");                    // overlong '/'
  EXPECT_EQ(Escape("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(Escape("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(Escape("\xe2\x82"), "\\xe2\\x82");                    // cut
}

// Otherwise the file named "\x41" and the text for byte 0x41 would look alike.
TEST(EscapeTest, BackslashesOfNamesAreDoubled) {
  EXPECT_EQ(Escape("a\\x41"), "a\\\\x41");
  EXPECT_EQ(EscapeText("write \"\\!\"\n"), "write \"\\!\"\\n");
}

TEST(EscapeTest, NothingTreacherousSurvivesInAnyInput) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (int i = 0; i < 24; ++i) bytes.push_back(static_cast<char>(random()));
    const std::string shown = Escape(bytes);
    EXPECT_TRUE(IsUtf8(shown));
    for (const char c : shown) {
      EXPECT_TRUE(static_cast<uint8_t>(c) >= 0x20 && c != 0x7f) << shown;
    }
  }
}

TEST(Utf8Test, EachWrongByteIsReplaced) {
  EXPECT_EQ(ReplaceNonUtf8("a\xff\xfe/é"), "a\ufffd\ufffd/é");
  EXPECT_TRUE(IsUtf8("é写"));
  EXPECT_FALSE(IsUtf8("\xff"));
}

TEST(ColumnsTest, WideCharactersTakeTwo) {
  EXPECT_EQ(ColumnCount("abc"), 3);
  EXPECT_EQ(ColumnCount("é…"), 2);
  EXPECT_EQ(ColumnCount("写真"), 4);
}

TEST(ShortenTest, KeepsBothEnds) {
  EXPECT_EQ(Shorten("/srv/data/file", 20), "/srv/data/file");
  EXPECT_EQ(Shorten("/srv/data/file", 9), "/srv…file");
  EXPECT_EQ(Shorten("/srv/data/file", 1), "…");
  EXPECT_EQ(Shorten("/srv/data/file", 0), "");
  EXPECT_EQ(Shorten("写真写真写真", 7), "写…真");
}

TEST(ShortenTest, NeverGetsWiderThanAsked) {
  const std::string text = "/srv/写真/2024/Café/写真写真.jpg";
  for (int columns = 0; columns < 50; ++columns) {
    EXPECT_LE(ColumnCount(Shorten(text, columns)), columns);
  }
}

}  // namespace
}  // namespace onefold
