// The table of a move's phases. What each does is in ownership_move.cpp; docs/explanation/move.md tells what it is for.
#include "base/json/enumerators.hpp"
#include "ownership/detail/ownership.hpp"

namespace underway::ownership {

using model::CapsuleMove;
using model::MoveKind;
using model::MovePhase;

namespace detail {

std::span<const MovePhaseWork> Ownership::move_phases() {
  static constexpr MovePhaseWork kWorks[] =
      {
          {.row = {.phase = MovePhase::stage,
                   .who = Who::both,
                   .does = Action::stage,
                   .then = MovePhase::copy,
                   .shown = [](const CapsuleMove& move) { return fmt::format("{} gets ready", move.target_name); }},
           .look = &Ownership::before_the_stop,
           .done = &Ownership::staged},

          {.row = {.phase = MovePhase::copy,
                   .who = Who::both,
                   .does = Action::copy,
                   .then = MovePhase::before_stop,
                   .shown =
                       [](const CapsuleMove& move) {
                         return fmt::format("round {} of the overlay is copied while it runs", move.rounds.size() + 1);
                       }},
           .look = &Ownership::before_the_stop,
           .done = &Ownership::copied},

          {.row = {.phase = MovePhase::before_stop,
                   .who = Who::owner,
                   .does = Action::before_stop,
                   .then = MovePhase::stop,
                   .shown = [](const CapsuleMove&) -> std::string { return "its step before_stop runs"; }},
           .look = &Ownership::before_the_stop,
           .done = &Ownership::told_what_comes},

          {.row = {.phase = MovePhase::stop,
                   .within = &Limits::place,
                   .then = MovePhase::transfer,
                   .otherwise = MovePhase::roll_back,
                   .shown = [](const CapsuleMove& move) { return fmt::format("it stops on {}", move.source_name); },
                   .stretch = Stretch::away,
                   .home = Home::target,
                   .held = true,
                   .awaits_end = true,
                   .replaces = true},
           .look = &Ownership::stopping},

          {.row = {.phase = MovePhase::transfer,
                   .who = Who::both,
                   .does = Action::transfer,
                   .within = &Limits::transfer,
                   .then = MovePhase::start,
                   .otherwise = MovePhase::roll_back,
                   .shown = [](const CapsuleMove& move) -> std::string {
                     return move.kind == MoveKind::failover ? "the copy becomes its overlay"
                                                            : "the last difference is copied";
                   },
                   .stretch = Stretch::away,
                   .home = Home::target,
                   .held = true},
           .look = &Ownership::transferring,
           .done = &Ownership::transferred},

          {.row = {.phase = MovePhase::fence,
                   .who = Who::provider,
                   .does = Action::fence,
                   .then = MovePhase::transfer,
                   .shown =
                       [](const CapsuleMove& move) {
                         return fmt::format("{} is not heard of, and its host has to be off first", move.source_name);
                       },
                   .stretch = Stretch::away,
                   .awaits_end = true},
           .look = &Ownership::fencing},

          {.row = {.phase = MovePhase::start,
                   .within = &Limits::start,
                   .then = MovePhase::check,
                   .otherwise = MovePhase::roll_back,
                   .shown = [](const CapsuleMove& move) { return fmt::format("it starts on {}", move.target_name); },
                   .stretch = Stretch::away,
                   .home = Home::target},
           .look = &Ownership::starting},

          {.row = {.phase = MovePhase::check,
                   .who = Who::target,
                   .does = Action::check,
                   .within = &Limits::check,
                   .then = MovePhase::done,
                   .otherwise = MovePhase::roll_back,
                   .shown = [](const CapsuleMove&) -> std::string { return "its check has to pass"; },
                   .stretch = Stretch::away,
                   .effort = Effort::until_late,
                   .home = Home::target},
           .look = &Ownership::checking,
           .done = &Ownership::checked},

          {.row = {.phase = MovePhase::roll_back,
                   .then = MovePhase::restore,
                   .shown =
                       [](const CapsuleMove& move) {
                         return fmt::format("it goes back to {}: it stops on {}", move.source_name, move.target_name);
                       },
                   .stretch = Stretch::back,
                   .home = Home::source,
                   .held = true,
                   .awaits_end = true},
           .look = &Ownership::going_back},

          {.row = {.phase = MovePhase::restore,
                   .within = &Limits::start,
                   .then = MovePhase::done,
                   .shown =
                       [](const CapsuleMove& move) {
                         return fmt::format("it goes back: it starts on {}", move.source_name);
                       },
                   .stretch = Stretch::back,
                   .home = Home::source},
           .look = &Ownership::restoring},

          {.row = {.phase = MovePhase::done,
                   .shown =
                       [](const CapsuleMove& move) {
                         return move.error.empty() ? fmt::format("it runs on {}", move.target_name) : "it was given up";
                       },
                   .stretch = Stretch::over}},
      };
  static_assert(std::size(kWorks) == kEnumerators<MovePhase> && in_order(kWorks));
  return kWorks;
}

}  // namespace detail

const MovePhaseRow& row_of(MovePhase phase) {
  return detail::Ownership::move_phases()[static_cast<std::size_t>(phase)].row;
}

MovePhase first_phase(const CapsuleMove& move) {
  return move.kind == MoveKind::failover ? MovePhase::fence : MovePhase::stage;
}

std::vector<MovePhase> path_of(const CapsuleMove& move) {
  CapsuleMove walked{.kind = move.kind, .phase = first_phase(move)};
  std::vector<MovePhase> path = {walked.phase};
  while (path.back() != MovePhase::done) path.push_back(walked.phase = next_phase(walked));
  return path;
}

const std::string& home_of(const model::Capsule& capsule) {
  if (!capsule.move) return capsule.owner;
  switch (row_of(capsule.move->phase).home) {
    case Home::source:
      return capsule.move->source;
    case Home::target:
      return capsule.move->target;
    case Home::owner:
      break;
  }
  return capsule.owner;
}

}  // namespace underway::ownership
