#include "cli/capsule_text.hpp"

#include "base/clock.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {

using model::CapsuleMove;
using model::MoveKind;
using model::MovePhase;

namespace {

constexpr MovePhase kPlanned[] = {MovePhase::stage,    MovePhase::copy,  MovePhase::before_stop, MovePhase::stop,
                                  MovePhase::transfer, MovePhase::start, MovePhase::check,       MovePhase::done};
constexpr MovePhase kFailover[] = {MovePhase::fence, MovePhase::transfer, MovePhase::start, MovePhase::check,
                                   MovePhase::done};

std::string in_words(const CapsuleMove& move) {
  switch (move.phase) {
    case MovePhase::stage:
      return fmt::format("{} gets ready", move.target_name);
    case MovePhase::copy:
      return fmt::format("round {} of the overlay is copied while it runs", move.rounds.size() + 1);
    case MovePhase::before_stop:
      return "its step before_stop runs";
    case MovePhase::stop:
      return fmt::format("it stops on {}", move.source_name);
    case MovePhase::transfer:
      return move.kind == MoveKind::failover ? "the copy becomes its overlay" : "the last difference is copied";
    case MovePhase::fence:
      return fmt::format("{} is not heard of, and its host has to be off first", move.source_name);
    case MovePhase::start:
      return fmt::format("it starts on {}", move.target_name);
    case MovePhase::check:
      return "its check has to pass";
    case MovePhase::roll_back:
      return fmt::format("it goes back to {}: it stops on {}", move.source_name, move.target_name);
    case MovePhase::restore:
      return fmt::format("it goes back: it starts on {}", move.source_name);
    case MovePhase::done:
      return move.error.empty() ? fmt::format("it runs on {}", move.target_name) : "it was given up";
  }
  return {};
}

std::string progress_bar(const CapsuleMove& move) {
  const auto of = [&](const auto& phases) {
    const auto it = std::find(std::begin(phases), std::end(phases), move.phase);
    return it == std::end(phases) ? std::string() : bar(it - std::begin(phases), std::size(phases) - 1, 14);
  };
  return move.kind == MoveKind::planned ? of(kPlanned) : of(kFailover);
}

}  // namespace

std::vector<std::string> move_lines(const CapsuleMove& move, const std::string& waits_for) {
  const std::string progress = progress_bar(move);
  std::vector<std::string> lines = {fmt::format("{} -> {}  {}{}{}", move.source_name, move.target_name, progress,
                                                progress.empty() ? "" : "  ", in_words(move))};
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
  if (!capsule.description.empty()) rows.emplace_back("Why", capsule.description);
  if (capsule.replicate_every > Duration{0})
    rows.emplace_back("Copies", fmt::format("every {}; older than {} before a loss is too old",
                                            human_duration(capsule.replicate_every), human_duration(capsule.rpo)));
  std::string out = key_values(rows);
  if (!capsule.replicas.empty()) {
    Table table({"Node", "Copy", "Epoch", ""});
    for (const auto& one : capsule.replicas)
      table.add({one.node_name, ago(one.at), std::to_string(one.epoch), one.node == capsule.standby ? "standby" : ""});
    out += "\nReplicas\n" + table.text(0);
  }
  const auto add = [&](const char* title, const CapsuleMove& move, const std::string& waits) {
    out += fmt::format("\n{}\n", title);
    for (const auto& line : move_lines(move, waits)) out += line + "\n";
  };
  if (capsule.move) add("Move", *capsule.move, "");
  if (capsule.last_move) add("Last move", *capsule.last_move, "");
  return out;
}

}  // namespace underway::cli
