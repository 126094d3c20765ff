#include "cli/capsule/text.hpp"

#include "base/clock.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "ownership/phases.hpp"

namespace underway::cli {

using model::CapsuleMove;
using model::MovePhase;

std::vector<std::string> move_lines(const CapsuleMove& move, const std::string& waits_for) {
  const std::string progress = phase_bar(ownership::path_of(move), move.phase);
  std::vector<std::string> lines = {fmt::format("{} -> {}  {}{}{}", move.source_name, move.target_name, progress,
                                                progress.empty() ? "" : "  ",
                                                ownership::row_of(move.phase).shown(move))};
  for (std::size_t i = 0; i < move.rounds.size(); ++i) {
    const auto& round = move.rounds[i];
    lines.push_back(fmt::format("  round {}: {} in {} files, {}", i + 1,
                                human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(0, round.bytes))),
                                round.files, human_duration(round.took)));
  }
  if (!waits_for.empty()) lines.push_back("  " + waits_for);
  if (move.phase == MovePhase::done && move.gap > Duration{0})
    lines.push_back(fmt::format("  it was away for {}", human_duration(move.gap)));
  if (!move.note.empty()) lines.push_back("  " + move.note);
  if (!move.error.empty()) lines.push_back(fmt::format("  {}{}", move.rolled_back ? "went back: " : "", move.error));
  return lines;
}

std::string standby_in_words(const model::Capsule& capsule) {
  const auto& next = *capsule.successor;
  if (next.why.empty()) return next.node_name;
  return fmt::format("{}: {}", next.node.empty() ? "none" : fmt::format("{} would take over", next.node_name),
                     next.why);
}

std::string loss_in_words(const model::Capsule& capsule) {
  if (capsule.keeps_nothing) return "nothing: it keeps nothing";
  if (capsule.successor->node.empty()) return "all that it keeps";
  return fmt::format("what it wrote in the last {}", human_duration(capsule.successor->loses));
}

std::string capsule_text(const model::Capsule& capsule) {
  std::vector<std::pair<std::string, std::string>> rows = {
      {"Capsule", capsule.name},
      {"Namespace", capsule.ns},
      {"Job", fmt::format("{} (group {})", capsule.job, capsule.group)},
      {"Image", capsule.image},
      {"State", std::string(describe::spell(capsule.state))},
      {"Owner", capsule.owner_name},
      {"Allocation", short_id(capsule.allocation)},
      {"Epoch", std::to_string(capsule.epoch)},
      {"Since", ago(capsule.held_since)},
  };
  if (capsule.successor) rows.emplace_back("Standby", standby_in_words(capsule));
  if (capsule.successor) rows.emplace_back("Would lose", loss_in_words(capsule));
  if (!capsule.last_snapshot.empty()) rows.emplace_back("Snapshot", capsule.last_snapshot);
  if (!capsule.description.empty()) rows.emplace_back("Why", capsule.description);
  if (capsule.replicate_every > Duration{0})
    rows.emplace_back("Copies",
                      fmt::format("at once of what is replaced, else every {}; older than {} before a loss is too old",
                                  human_duration(capsule.replicate_every), human_duration(capsule.rpo)));
  std::string out = key_values(rows);
  if (!capsule.replicas.empty()) {
    Table table({"Node", "Copy", "Epoch", ""});
    for (const auto& replica : capsule.replicas)
      table.add({replica.node_name, ago(replica.at), std::to_string(replica.epoch),
                 capsule.successor && replica.node == capsule.successor->node ? "standby" : ""});
    out += "\nReplicas\n" + table.text(0);
  }
  const auto add = [&](const char* title, const CapsuleMove& move, const std::string& waits) {
    out += fmt::format("\n{}\n", title);
    for (const auto& line : move_lines(move, waits)) out += line + "\n";
  };
  if (capsule.move) add("Move", *capsule.move, "");
  if (capsule.last_move) add("Last move", *capsule.last_move, "");
  const auto add_upgrade = [&](const char* title, const model::CapsuleUpgrade& upgrade) {
    out += fmt::format("\n{}\n", title);
    for (const auto& line : upgrade_lines(upgrade, "")) out += line + "\n";
    if (upgrade.rehearsal) out += verdict_table(*upgrade.rehearsal);
  };
  if (capsule.upgrade) add_upgrade("Upgrade", *capsule.upgrade);
  if (capsule.last_upgrade) add_upgrade("Last upgrade", *capsule.last_upgrade);
  if (capsule.way_back)
    out += fmt::format("\nThe way back\n{} with the snapshot {} of {} on {}: underway capsule upgrade -revert {}\n",
                       capsule.way_back->image, capsule.way_back->snapshot, ago(capsule.way_back->at),
                       capsule.way_back->node_name, capsule.name);
  return out;
}

std::string saving_text(const model::CapsuleSaving& saved, TimePoint now) {
  std::string text;
  const auto add = [&](std::string_view what, const model::SavedWork& work) {
    if (work.every <= Duration{0}) return;
    const auto last =
        work.done_at == 0 ? std::string("never yet") : fmt::format("{} {}", work.result, ago(work.done_at));
    text += fmt::format("  {:<9} every {}: {}\n", what, human_duration(work.every), last);
    if (!work.error.empty())
      text += fmt::format("            FAILED {} times, last {}: {}\n", work.failures, ago(work.begun_at), work.error);
  };
  add("snapshots", saved.snapshot);
  add("backups", saved.backup);
  add("drills", saved.drill);
  if (!text.empty()) text = "\nSaved by its node\n" + text;
  for (const auto& problem : saved.problems(now)) text += fmt::format("  needs you: {}\n", problem);
  if (saved.overlay_size == 0) return text;
  auto space = fmt::format("\nOverlay\n  {} % of {} used\n", saved.overlay_used,
                           human_bytes(static_cast<std::uint64_t>(saved.overlay_size)));
  if (saved.almost_full()) space += fmt::format("  needs you: {}\n", saved.space_problem());
  return space + text;
}

}  // namespace underway::cli
