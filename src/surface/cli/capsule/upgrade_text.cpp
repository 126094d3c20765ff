#include <algorithm>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "cli/capsule/text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {

using model::CapsuleUpgrade;
using model::UpgradePhase;

namespace {

constexpr UpgradePhase kForward[] = {UpgradePhase::stage, UpgradePhase::rehearse, UpgradePhase::before_stop,
                                     UpgradePhase::stop,  UpgradePhase::snapshot, UpgradePhase::start,
                                     UpgradePhase::check, UpgradePhase::done};
constexpr UpgradePhase kRevert[] = {UpgradePhase::stage,    UpgradePhase::before_stop, UpgradePhase::stop,
                                    UpgradePhase::snapshot, UpgradePhase::install,     UpgradePhase::start,
                                    UpgradePhase::check,    UpgradePhase::done};

std::string in_words(const CapsuleUpgrade& upgrade) {
  switch (upgrade.phase) {
    case UpgradePhase::stage:
      return fmt::format("{} gets the image", upgrade.node_name);
    case UpgradePhase::rehearse:
      return "a clone is tried with it";
    case UpgradePhase::before_stop:
      return "its step before_stop runs";
    case UpgradePhase::stop:
      return "it stops";
    case UpgradePhase::snapshot:
      return "its overlay is saved";
    case UpgradePhase::install:
      return fmt::format("its overlay becomes the snapshot {}", upgrade.data);
    case UpgradePhase::start:
      return "it starts";
    case UpgradePhase::check:
      return "its check has to pass";
    case UpgradePhase::roll_back:
      return "it goes back: it stops";
    case UpgradePhase::restore:
      return "it goes back: its overlay becomes what it was";
    case UpgradePhase::restart:
      return fmt::format("it goes back: {} starts", upgrade.back_image);
    case UpgradePhase::recheck:
      return "it goes back: its check has to pass again";
    case UpgradePhase::done:
      if (!upgrade.error.empty()) return upgrade.rolled_back ? "it went back" : "it was refused";
      return upgrade.rehearse_only ? "it would work" : fmt::format("it runs {}", upgrade.to_image);
  }
  return {};
}

std::string progress_bar(const CapsuleUpgrade& upgrade) {
  const auto of = [&](const auto& phases) {
    const auto it = std::find(std::begin(phases), std::end(phases), upgrade.phase);
    return it == std::end(phases) ? std::string() : bar(it - std::begin(phases), std::size(phases) - 1, 14);
  };
  return upgrade.data.empty() ? of(kForward) : of(kRevert);
}

std::string shortened(const std::string& image) { return image.starts_with("sha256:") ? image.substr(0, 19) : image; }

}  // namespace

std::vector<std::string> upgrade_lines(const CapsuleUpgrade& upgrade, const std::string& waits_for) {
  const std::string progress =
      upgrade.phase == UpgradePhase::done && !upgrade.error.empty() ? "" : progress_bar(upgrade);
  std::vector<std::string> lines = {fmt::format("{} -> {}  {}{}{}", shortened(upgrade.from_image),
                                                shortened(upgrade.to_image), progress, progress.empty() ? "" : "  ",
                                                in_words(upgrade))};
  if (upgrade.rehearsal) {
    const auto& rehearsal = *upgrade.rehearsal;
    const auto passed =
        std::count_if(rehearsal.findings.begin(), rehearsal.findings.end(), [](const auto& one) { return one.passed; });
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
  for (const auto& one : rehearsal.findings) {
    std::string said(trim(one.output));
    const auto line = said.rfind('\n');
    if (line != std::string::npos) said.erase(0, line + 1);
    table.add({one.name, one.passed ? "yes" : fmt::format("no ({})", one.result), human_duration(one.took), said});
  }
  return table.text(0);
}

}  // namespace underway::cli
