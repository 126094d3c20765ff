#include "nomad/text/text.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "base/error.hpp"
#include "cli/terminal.hpp"

namespace underway::nomad {

std::string go_quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + "\"";
}

std::string go_duration(std::int64_t seconds) {
  const std::int64_t left = std::max<std::int64_t>(seconds, 0), hours = left / 3600, minutes = left / 60 % 60;
  if (hours > 0) return fmt::format("{}h{}m{}s", hours, minutes, left % 60);
  return minutes > 0 ? fmt::format("{}m{}s", minutes, left % 60) : fmt::format("{}s", left);
}

std::string columns_text(const Rows& rows, bool mark_empty) {
  if (rows.empty()) return {};
  const auto marked = [&](std::vector<std::string> row) {
    for (auto& cell : row) {
      if (mark_empty && cell.empty()) cell = "<none>";
    }
    return row;
  };
  std::size_t columns = 0;
  for (const auto& row : rows) columns = std::max(columns, row.size());
  auto first = marked(rows.front());
  first.resize(columns);
  cli::Table table(std::move(first));
  for (auto row = rows.begin() + 1; row != rows.end(); ++row) {
    auto cells = marked(*row);
    cells.resize(columns);
    table.add(std::move(cells));
  }
  return table.text(0);
}

std::string spell(bool value) { return value ? "true" : "false"; }

Answer ask(const std::string& question, const std::string& refusal) {
  cli::print(question + " ");
  std::string line;
  if (!std::getline(std::cin, line))
    throw Error(Code::invalid, "Failed to parse answer: nothing was typed").advise("-yes answers the question");
  if (!cli::is_terminal(0)) cli::print("\n");
  if (line == "y") return Answer::yes;
  const char first = line.empty() ? 'n' : line.front();
  if (first == 'n' || first == 'N') {
    cli::print(refusal + "\n");
    return Answer::no;
  }
  if (first == 'y' || first == 'Y') {
    cli::print("For confirmation, an exact 'y' is required.\n");
    return Answer::no;
  }
  cli::print("No confirmation detected. For confirmation, an exact 'y' is required.\n");
  return Answer::unclear;
}

}  // namespace underway::nomad
