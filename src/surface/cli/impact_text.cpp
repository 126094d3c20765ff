#include "cli/impact_text.hpp"

namespace underway::cli {

std::string impact_line(const std::vector<impact::Judgement>& parts) {
  std::vector<impact::Finding> findings;
  for (const auto& part : parts) findings.push_back({part.impact, part.why});
  return "Impact: " + impact::sentence(impact::judgement_of(findings));
}

}  // namespace underway::cli
