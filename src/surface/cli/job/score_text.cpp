#include "cli/job/score_text.hpp"

#include "cli/terminal.hpp"

#include <set>

namespace underway::cli {

std::string scores_text(const std::vector<model::NodeScore>& scores, const std::map<std::string, std::string>& names) {
  if (scores.empty()) return {};
  std::set<std::string> terms;
  for (const auto& node : scores) {
    for (const auto& [term, value] : node.scores) terms.insert(term);
  }
  std::vector<std::string> headers{"Node"};
  headers.insert(headers.end(), terms.begin(), terms.end());
  headers.emplace_back("final score");
  Table table(std::move(headers));
  for (const auto& node : scores) {
    const auto name = names.find(node.node_id);
    std::vector<std::string> row{name != names.end() ? name->second : node.node_id.substr(0, 8)};
    for (const auto& term : terms) {
      const auto it = node.scores.find(term);
      row.push_back(it == node.scores.end() ? "0" : fmt::format("{:.3g}", it->second));
    }
    row.push_back(fmt::format("{:.3g}", node.norm_score));
    table.add(std::move(row));
  }
  return table.text(0);
}

}  // namespace underway::cli
