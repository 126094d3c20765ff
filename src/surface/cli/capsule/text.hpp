#pragma once
/// @file
/// How a capsule's record, its moves and its upgrades are told to people.

#include <algorithm>

#include "cli/terminal.hpp"
#include "model/capsule/capsule.hpp"
#include "model/capsule/saving.hpp"

namespace underway::cli {

/// Who would take over now: "sms2"; "sms3 would take over: sms2 is not heard of"; "none: sms2 has no copy yet". Only of
/// what the API answered.
std::string standby_in_words(const model::Capsule& capsule);
/// What its owner's host would take with it: "what it wrote in the last 412ms". The same.
std::string loss_in_words(const model::Capsule& capsule);
/// Everything about it, for `capsule status`.
std::string capsule_text(const model::Capsule& capsule);
/// How its snapshots, backups and drills go, by `now`; empty: nobody asks for any.
std::string saving_text(const model::CapsuleSaving& saved, TimePoint now);
/// The lines of a move under way; of one that is over, with its end.
std::vector<std::string> move_lines(const model::CapsuleMove& move, const std::string& waits_for);
/// The same of an upgrade.
std::vector<std::string> upgrade_lines(const model::CapsuleUpgrade& upgrade, const std::string& waits_for);
/// How far it is on its path: "[####..........]"; empty when it has left that, as it goes back.
template <class Phase>
std::string phase_bar(const std::vector<Phase>& path, Phase phase) {
  const auto it = std::find(path.begin(), path.end(), phase);
  return it == path.end() ? std::string() : bar(it - path.begin(), std::ssize(path) - 1, 14);
}
/// What was tried on a clone, and how it went.
std::string verdict_table(const model::Rehearsal& rehearsal);

}  // namespace underway::cli
