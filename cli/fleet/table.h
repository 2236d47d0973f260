// A table for people: columns as wide as what is in them, two blanks between. Pure.

#ifndef ONEFOLD_CLI_FLEET_TABLE_H_
#define ONEFOLD_CLI_FLEET_TABLE_H_

#include <string>
#include <vector>

namespace onefold {

class Table {
 public:
  // `cell_columns_max`: longer cells are shortened in the middle; 0: none is.
  explicit Table(std::vector<std::string> header, int cell_columns_max = 0);

  // Raw texts, from anywhere: they are escaped here. As many as the header has.
  void AddRow(const std::vector<std::string>& cells);

  bool empty() const { return rows_.size() == 1; }

  // Lines that end with a newline; the last column is not padded.
  std::string Text() const;

 private:
  const int cell_columns_max_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_TABLE_H_
