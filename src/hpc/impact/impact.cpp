#include "impact/impact.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace underway::impact {

namespace {

constexpr std::size_t kMostTold = 3;
constexpr std::size_t kLongest = 400;

}  // namespace

std::string counted(std::size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string shortened(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

Judgement judgement_of(const std::vector<Finding>& findings) {
  if (findings.empty()) return {Impact::none, "nothing that runs is touched"};
  Judgement out;
  for (const auto& finding : findings) out.impact = std::max(out.impact, finding.impact);
  std::vector<std::string> told;
  for (const auto& finding : findings) {
    if (finding.impact == out.impact) told.push_back(finding.text);
  }
  const std::size_t more = told.size() > kMostTold ? told.size() - kMostTold : 0;
  told.resize(told.size() - more);
  out.why = join(told, "; ");
  if (more > 0) out.why += fmt::format("; and {} more", more);
  out.why = shortened(std::move(out.why), kLongest);
  return out;
}

std::string sentence(const Judgement& judgement) {
  return fmt::format("{}: {}", describe::spell(judgement.impact), judgement.why);
}

}  // namespace underway::impact
