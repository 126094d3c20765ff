#include "harness/plan_file.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace underway::harness {
namespace {

/// "# on sms", and not a comment about the line that follows it.
bool names_a_place(const std::string& line) { return line.starts_with("# on "); }

}  // namespace

std::string TypedLines::host(const std::vector<std::string>& hosts) const {
  if (where.starts_with("on the management side")) return "";
  for (const auto& host : hosts) {
    const auto at = where.find(host);
    if (at != std::string::npos && (at == 0 || where[at - 1] == ' ')) return host;
  }
  return "";
}

std::string TypedLines::script() const {
  std::string out;
  for (const auto& line : lines) {
    std::string quoted;
    for (const char c : line) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += line + "\n[ $? -eq 0 ] || { echo 'failed: " + quoted + "' >&2; exit 9; }\n";
  }
  return out;
}

std::vector<PlanStep> read_plan_steps(const std::string& text) {
  std::vector<PlanStep> out;
  bool fenced = false, back = false;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line == "```") {
      fenced = !fenced;
      if (fenced && !out.empty()) (back ? out.back().back : out.back().commands).push_back({});
    } else if (!fenced && line.starts_with("## ") && line.find(". ") != std::string::npos) {
      out.push_back({line.substr(line.find(". ") + 2), {}, {}});
      back = false;
    } else if (!fenced) {
      back = back || line.starts_with("**The way back:**");
    } else if (!out.empty()) {
      auto& places = back ? out.back().back : out.back().commands;
      if (names_a_place(line))
        places.push_back({line.substr(2), {}});
      else if (!line.starts_with("#"))
        places.back().lines.push_back(line);
    }
  }
  for (auto& step : out)
    for (auto* places : {&step.commands, &step.back})
      std::erase_if(*places, [](const TypedLines& place) { return place.lines.empty(); });
  return out;
}

const PlanStep& find_step(const std::vector<PlanStep>& steps, const std::string& title) {
  const auto found =
      std::find_if(steps.begin(), steps.end(), [&](const PlanStep& step) { return step.title.starts_with(title); });
  if (found == steps.end()) throw std::runtime_error("the plan has no step '" + title + "'");
  return *found;
}

}  // namespace underway::harness
