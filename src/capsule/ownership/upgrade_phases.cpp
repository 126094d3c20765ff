// The table of an upgrade's phases. What each does is in ownership_upgrade.cpp; docs/explanation/upgrade.md tells what
// it is for.
#include "base/json/enumerators.hpp"
#include "ownership/detail/ownership.hpp"

namespace underway::ownership {

using model::CapsuleUpgrade;
using model::UpgradePhase;

namespace detail {

namespace {

std::string upgrade_ended(const CapsuleUpgrade& upgrade) {
  if (!upgrade.error.empty()) return upgrade.rolled_back ? "it went back" : "it was refused";
  return upgrade.rehearse_only ? "it would work" : fmt::format("it runs {}", upgrade.to_image);
}

}  // namespace

std::span<const UpgradePhaseWork> Ownership::upgrade_phases() {
  static constexpr UpgradePhaseWork kWorks[] = {
      {.row = {.phase = UpgradePhase::stage,
               .who = Who::owner,
               .does = Action::look,
               .then = UpgradePhase::rehearse,
               .shown =
                   [](const CapsuleUpgrade& upgrade) { return fmt::format("{} gets the image", upgrade.node_name); }},
       .look = &Ownership::before_the_upgrade,
       .done = &Ownership::looked},

      {.row = {.phase = UpgradePhase::rehearse,
               .who = Who::owner,
               .does = Action::rehearse,
               .then = UpgradePhase::before_stop,
               .shown = [](const CapsuleUpgrade&) -> std::string { return "a clone is tried with it"; },
               // An image that is gone back to has worked with those data.
               .only = [](const CapsuleUpgrade& upgrade) { return upgrade.data.empty(); }},
       .look = &Ownership::before_the_upgrade,
       .done = &Ownership::rehearsed},

      {.row = {.phase = UpgradePhase::before_stop,
               .who = Who::owner,
               .does = Action::before_stop,
               .then = UpgradePhase::stop,
               .shown = [](const CapsuleUpgrade&) -> std::string { return "its step before_stop runs"; }},
       .look = &Ownership::about_to_stop,
       .done = &Ownership::told_of_the_upgrade},

      {.row = {.phase = UpgradePhase::stop,
               .within = &Limits::place,
               .then = UpgradePhase::snapshot,
               .otherwise = UpgradePhase::roll_back,
               .shown = [](const CapsuleUpgrade&) -> std::string { return "it stops"; },
               .stretch = Stretch::away,
               .held = true},
       .look = &Ownership::upgrade_stops},

      {.row = {.phase = UpgradePhase::snapshot,
               .who = Who::owner,
               .does = Action::snapshot,
               .then = UpgradePhase::install,
               .otherwise = UpgradePhase::roll_back,
               .shown = [](const CapsuleUpgrade&) -> std::string { return "its overlay is saved"; },
               .stretch = Stretch::away,
               .held = true},
       .look = &Ownership::overlay_at_work,
       .done = &Ownership::saved},

      {.row = {.phase = UpgradePhase::install,
               .who = Who::owner,
               .does = Action::restore,
               .then = UpgradePhase::start,
               .otherwise = UpgradePhase::roll_back,
               .shown =
                   [](const CapsuleUpgrade& upgrade) {
                     return fmt::format("its overlay becomes the snapshot {}", upgrade.data);
                   },
               .only = [](const CapsuleUpgrade& upgrade) { return !upgrade.data.empty(); },
               .stretch = Stretch::away,
               .held = true},
       .look = &Ownership::overlay_at_work,
       .done = &Ownership::installed,
       .snapshot = &CapsuleUpgrade::data},

      {.row = {.phase = UpgradePhase::start,
               .within = &Limits::start,
               .then = UpgradePhase::check,
               .otherwise = UpgradePhase::roll_back,
               .shown = [](const CapsuleUpgrade&) -> std::string { return "it starts"; },
               .stretch = Stretch::away},
       .look = &Ownership::upgrade_starts},

      {.row = {.phase = UpgradePhase::check,
               .who = Who::owner,
               .does = Action::check,
               .within = &Limits::check,
               .then = UpgradePhase::done,
               .otherwise = UpgradePhase::roll_back,
               .shown = [](const CapsuleUpgrade&) -> std::string { return "its check has to pass"; },
               .stretch = Stretch::away,
               .effort = Effort::until_late},
       .look = &Ownership::upgrade_is_checked,
       .done = &Ownership::upgraded},

      {.row = {.phase = UpgradePhase::roll_back,
               .then = UpgradePhase::restore,
               .shown = [](const CapsuleUpgrade&) -> std::string { return "it goes back: it stops"; },
               .stretch = Stretch::back,
               .held = true},
       .look = &Ownership::upgrade_rolls_back},

      {.row = {.phase = UpgradePhase::restore,
               .who = Who::owner,
               .does = Action::restore,
               .then = UpgradePhase::restart,
               .shown = [](const CapsuleUpgrade&) -> std::string {
                 return "it goes back: its overlay becomes what it was";
               },
               .stretch = Stretch::back,
               // There is nothing else to go back to than what it was before.
               .effort = Effort::until_done,
               .held = true},
       .look = &Ownership::overlay_goes_back,
       .done = &Ownership::overlay_is_back,
       .snapshot = &CapsuleUpgrade::snapshot},

      {.row = {.phase = UpgradePhase::restart,
               .within = &Limits::start,
               .then = UpgradePhase::recheck,
               .shown =
                   [](const CapsuleUpgrade& upgrade) {
                     return fmt::format("it goes back: {} starts", upgrade.back_image);
                   },
               .stretch = Stretch::back},
       .look = &Ownership::starts_again},

      {.row = {.phase = UpgradePhase::recheck,
               .who = Who::owner,
               .does = Action::check,
               .within = &Limits::check,
               .then = UpgradePhase::done,
               .shown = [](const CapsuleUpgrade&) -> std::string {
                 return "it goes back: its check has to pass again";
               },
               .stretch = Stretch::back,
               .effort = Effort::until_late},
       .look = &Ownership::is_checked_again,
       .done = &Ownership::works_again},

      {.row = {.phase = UpgradePhase::done, .shown = &upgrade_ended, .stretch = Stretch::over}},
  };
  static_assert(std::size(kWorks) == kEnumerators<UpgradePhase> && in_order(kWorks));
  return kWorks;
}

}  // namespace detail

const UpgradePhaseRow& row_of(UpgradePhase phase) {
  return detail::Ownership::upgrade_phases()[static_cast<std::size_t>(phase)].row;
}

UpgradePhase first_phase(const CapsuleUpgrade&) { return UpgradePhase::stage; }

std::vector<UpgradePhase> path_of(const CapsuleUpgrade& upgrade) {
  CapsuleUpgrade walked{.phase = first_phase(upgrade), .data = upgrade.data};
  std::vector<UpgradePhase> path = {walked.phase};
  while (path.back() != UpgradePhase::done) path.push_back(walked.phase = next_phase(walked));
  return path;
}

}  // namespace underway::ownership
