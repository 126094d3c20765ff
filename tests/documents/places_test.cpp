// docs/explanation/where-things-are.md leads to files that are there, and to names that are in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "documents/pages.hpp"
#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::documents {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

/// "a node is declared down", where, and what to search for there.
struct Row {
  std::string what, file, symbol;
};

/// Lines of a table whose second and third cells are code.
std::vector<Row> rows_of(const std::string& page) {
  std::vector<Row> rows;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, '|');) cells.push_back(cell);
    if (cells.size() != 4) continue;
    for (auto& cell : cells) {
      cell.erase(0, cell.find_first_not_of(' '));
      cell.erase(cell.find_last_not_of(' ') + 1);
    }
    const auto is_code = [](const std::string& cell) {
      return cell.size() > 2 && cell.front() == '`' && cell.back() == '`';
    };
    if (!is_code(cells[2]) || !is_code(cells[3])) continue;
    const auto inner = [](const std::string& cell) { return cell.substr(1, cell.size() - 2); };
    rows.push_back({cells[1], inner(cells[2]), inner(cells[3])});
  }
  return rows;
}

/// Sources with `symbol` in them, tests apart; at most three: they are a hint.
std::string files_with(const std::string& symbol) {
  std::string found;
  const std::filesystem::path root = source_dir();
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "src")) {
    const auto path = entry.path().lexically_relative(root).string();
    if (entry.path().extension() != ".cpp" || path.find("/tests/") != std::string::npos || count == 3) continue;
    if (harness::read_text(entry.path().string()).find(symbol) == std::string::npos) continue;
    found += (found.empty() ? "" : ", ") + path;
    ++count;
  }
  return found.empty() ? "nowhere" : found;
}

/// Each with what is wrong with it, and where its name is.
std::vector<std::string> wrong_rows(const std::vector<Row>& rows) {
  std::vector<std::string> wrong;
  for (const auto& row : rows) {
    const std::string path = source_dir() + "/" + row.file;
    const bool there = std::filesystem::is_regular_file(path);
    if (there && harness::read_text(path).find(row.symbol) != std::string::npos) continue;
    wrong.push_back(row.what + ": " +
                    (there ? "'" + row.symbol + "' is not in " + row.file : row.file + " is not there") +
                    "; the name is in " + files_with(row.symbol));
  }
  return wrong;
}

TEST(WhereThingsAre, NamesFilesAndSymbolsThatAreThere) {
  const auto rows = rows_of(harness::read_text(source_dir() + "/docs/explanation/where-things-are.md"));
  EXPECT_GE(rows.size(), 18U);
  EXPECT_THAT(wrong_rows(rows), IsEmpty());
}

TEST(WhereThingsAre, AWrongRowIsToldWithWhereTheNameIs) {
  const auto rows = rows_of(
      "| what | file | symbol |\n| --- | --- | --- |\n"
      "| a page is read | `src/gone.cpp` | `int main` |\n| a | `README.md` | `no such name` |\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(wrong_rows(rows),
              ElementsAre(StartsWith("a page is read: src/gone.cpp is not there; the name is in src/"),
                          "a: 'no such name' is not in README.md; the name is in nowhere"));
}

}  // namespace
}  // namespace underway::documents
