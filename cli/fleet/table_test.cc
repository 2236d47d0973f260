#include "cli/fleet/table.h"

#include "gtest/gtest.h"

namespace onefold {
namespace {

TEST(TableTest, ColumnsLineUpAndNothingTrails) {
  Table table({"HOST", "STATE", "SEEN"});
  EXPECT_TRUE(table.empty());
  table.AddRow({"nas1", "connected", "3 s ago"});
  table.AddRow({"a-long-name", "silent", ""});
  EXPECT_FALSE(table.empty());
  EXPECT_EQ(table.Text(),
            "HOST         STATE      SEEN\n"
            "nas1         connected  3 s ago\n"
            "a-long-name  silent\n");
}

// A host chooses its name, a volume its label: neither may forge a row or steer the terminal.
TEST(TableTest, CellsAreEscaped) {
  Table table({"HOST", "X"});
  table.AddRow({"a\nb\x1b[2J", "x"});
  EXPECT_EQ(table.Text(),
            "HOST         X\n"
            "a\\nb\\x1b[2J  x\n");
}

TEST(TableTest, WideCharactersCountAsTwo) {
  Table table({"NAME", "X"});
  table.AddRow({"\u65e5\u672c\u8a9e", "1"});
  EXPECT_EQ(table.Text(),
            "NAME    X\n"
            "\u65e5\u672c\u8a9e  1\n");
}

TEST(TableTest, LongCellsAreShortened) {
  Table table({"NAME", "X"}, 9);
  table.AddRow({"0123456789abcdef", "1"});
  EXPECT_LT(table.Text().size(), 40u);
  EXPECT_EQ(table.Text().find("0123456789abcdef"), std::string::npos);
}

}  // namespace
}  // namespace onefold
