#include "ownership/node/detail/held_saves.hpp"

#include "base/log.hpp"
#include "ownership/node/detail/layer.hpp"

namespace underway::ownership::detail {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(500);

}  // namespace

std::unique_ptr<HeldSaves> HeldSaves::find(const CapsuleRequest& request, const run::Run& run) {
  if (!run::protection_of(task_of(request).config).sync || !run.running()) return nullptr;
  try {
    auto control = run::Control::connect(run.keeper_dir, kPatience);
    control.saves(kPatience);
    return std::unique_ptr<HeldSaves>(new HeldSaves(std::move(control)));
  } catch (const Error& error) {
    log::debug("node: nobody is held in capsule {}: {}", run.name, error.one_line());
    return nullptr;
  }
}

void HeldSaves::note() {
  if (!control_) return;
  try {
    newest_ = control_->saves(kPatience).newest;
  } catch (const Error& error) {
    log::debug("node: {}", error.one_line());
    control_.reset();
  }
}

Duration HeldSaves::copied() {
  constexpr Duration kNone{-1};
  if (!control_) return kNone;
  try {
    control_->saves_copied(newest_, kPatience);
    return control_->saves(kPatience).behind;
  } catch (const Error& error) {
    log::debug("node: {}", error.one_line());
    control_.reset();
    return kNone;
  }
}

void HeldSaves::listen() {
  if (control_) control_->ask_for_saves();
}

bool HeldSaves::heard() {
  if (!control_) return false;
  try {
    return control_->saves_wanted();
  } catch (const Error&) {  // it has ended
    control_.reset();
    return false;
  }
}

int HeldSaves::events() const { return control_ ? control_->fd() : -1; }

}  // namespace underway::ownership::detail
