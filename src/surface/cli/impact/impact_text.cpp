#include "cli/impact/impact_text.hpp"

#include "impact/impact.hpp"

namespace underway::cli {

std::string impact_line(const std::vector<model::Judgement>& parts) {
  std::vector<impact::Finding> findings;
  for (const auto& part : parts) findings.push_back({part.impact, part.why});
  return "Impact: " + impact::sentence(impact::judgement_of(findings));
}

std::string prospects_text(const std::vector<model::Prospect>& prospects) {
  std::string out;
  for (const auto& prospect : prospects)
    out += fmt::format("  {}: {}\n    if it fails: {}\n", prospect.what, prospect.rollout, prospect.if_it_fails);
  return out;
}

}  // namespace underway::cli
