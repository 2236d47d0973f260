#include "cli/fleet/table.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/escape.h"

namespace onefold {

Table::Table(std::vector<std::string> header, int cell_columns_max)
    : cell_columns_max_(cell_columns_max) {
  rows_.push_back(std::move(header));
}

void Table::AddRow(const std::vector<std::string>& cells) {
  CHECK(cells.size() == rows_[0].size());
  std::vector<std::string> row;
  for (const std::string& cell : cells) {
    std::string text = Escape(cell);
    row.push_back(cell_columns_max_ > 0 ? Shorten(text, cell_columns_max_) : std::move(text));
  }
  rows_.push_back(std::move(row));
}

std::string Table::Text() const {
  std::vector<int> widths(rows_[0].size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], ColumnCount(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      line.append(static_cast<size_t>(widths[i] - ColumnCount(row[i]) + 2), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace onefold
