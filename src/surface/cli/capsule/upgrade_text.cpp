#include <algorithm>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "cli/capsule/text.hpp"
#include "cli/terminal.hpp"
#include "ownership/phases.hpp"

namespace underway::cli {

using model::CapsuleUpgrade;
using model::UpgradePhase;
using ownership::path_of;
using ownership::row_of;

namespace {

std::string shortened(const std::string& image) { return image.starts_with("sha256:") ? image.substr(0, 19) : image; }

}  // namespace

std::vector<std::string> upgrade_lines(const CapsuleUpgrade& upgrade, const std::string& waits_for) {
  const std::string progress =
      upgrade.phase == UpgradePhase::done && !upgrade.error.empty() ? "" : phase_bar(path_of(upgrade), upgrade.phase);
  std::vector<std::string> lines = {fmt::format("{} -> {}  {}{}{}", shortened(upgrade.from_image),
                                                shortened(upgrade.to_image), progress, progress.empty() ? "" : "  ",
                                                row_of(upgrade.phase).shown(upgrade))};
  if (upgrade.rehearsal) {
    const auto& rehearsal = *upgrade.rehearsal;
    const auto passed = std::count_if(rehearsal.findings.begin(), rehearsal.findings.end(),
                                      [](const auto& finding) { return finding.passed; });
    lines.push_back(
        fmt::format("  rehearsed with a copy of its data: {} of {} passed", passed, rehearsal.findings.size()));
  }
  if (!upgrade.snapshot.empty())
    lines.push_back(fmt::format("  what it was is the snapshot {} on {}", upgrade.snapshot, upgrade.node_name));
  if (!waits_for.empty()) lines.push_back("  " + waits_for);
  if (upgrade.phase == UpgradePhase::done && upgrade.gap > Duration{0})
    lines.push_back(fmt::format("  it was away for {}", human_duration(upgrade.gap)));
  if (!upgrade.error.empty())
    lines.push_back(fmt::format("  {}{}", upgrade.rolled_back ? "went back: " : "", upgrade.error));
  return lines;
}

std::string verdict_table(const model::Rehearsal& rehearsal) {
  Table table({"TRIED", "PASSED", "TOOK", "THE END OF WHAT IT SAID"});
  for (const auto& finding : rehearsal.findings) {
    std::string said(trim(finding.output));
    const auto line = said.rfind('\n');
    if (line != std::string::npos) said.erase(0, line + 1);
    table.add({finding.name, finding.passed ? "yes" : fmt::format("no ({})", finding.result),
               human_duration(finding.took), said});
  }
  return table.text(0);
}

}  // namespace underway::cli
