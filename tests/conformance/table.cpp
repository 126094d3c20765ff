#include "conformance/table.hpp"

#include "base/text.hpp"
#include "conformance/lines.hpp"

#include <fmt/format.h>

namespace underway::conformance {
namespace {

std::string word(Verdict verdict) {
  switch (verdict) {
    case Verdict::supported:
      return "yes";
    case Verdict::refused:
      return "refused";
    case Verdict::not_yet:
      return "**not yet**";
  }
  return {};
}

std::size_t count(const Section& section, Verdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(section.rows.begin(), section.rows.end(), [&](const Row& row) { return row.verdict == verdict; }));
}

std::string sums(const std::vector<Section>& sections) {
  std::string out = "| | yes | refused by name | not yet | of |\n| --- | ---: | ---: | ---: | ---: |\n";
  for (const auto& section : sections)
    out += fmt::format("| [{}](#{}) | {} | {} | {} | {} |\n", section.title,
                       join(split(lower(section.title), ' '), "-"), count(section, Verdict::supported),
                       count(section, Verdict::refused), count(section, Verdict::not_yet), section.rows.size());
  return out;
}

std::string table(const Section& section) {
  std::string out = fmt::format("\n## {}\n\n{}\n\n", section.title, section.introduction);
  std::string rule = "|";
  out += "|";
  for (const auto& column : section.columns) {
    out += fmt::format(" {} |", column);
    rule += " --- |";
  }
  out += fmt::format(" | note |\n{} --- | --- |\n", rule);
  for (const auto& row : section.rows) {
    out += "|";
    for (const auto& text : row.cells) out += fmt::format(" {} |", cell(text));
    out += fmt::format(" {} | {} |\n", word(row.verdict), cell(row.note));
  }
  return out;
}

}  // namespace

std::string page(const std::vector<Section>& sections, const std::string& differences) {
  std::string out =
      "# Compatibility with Nomad\n\nEvery line of this page was measured by the test `unit.conformance`: it reads the "
      "attribute in a job, evaluates the\nfunction, looks the path up among the routes and the flag among those of the "
      "commands. What it measures stands in\n`tests/conformance/`.\n\n<!-- generated; UNDERWAY_ACCEPT=1 with the "
      "conformance test rewrites it -->\n\n";
  out += sums(sections);
  out += "\n" + differences;
  for (const auto& section : sections) out += table(section);
  return out;
}

}  // namespace underway::conformance
