#include "harness/capsule/held_upgrade.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

namespace underway::harness {

using std::chrono::seconds;

HeldUpgrade::HeldUpgrade(const Capsule& capsule, std::string phase)
    : capsule_(capsule), phase_(std::move(phase)), node_(capsule.owner()) {}

HeldUpgrade::~HeldUpgrade() {
  for (const auto& what : held_) capsule_.let_go(what);
  // It may have been killed, and another process have its number.
  for (const int pid : capsule_.cluster().agents()) {
    if (pid == agent_) ::kill(pid, SIGCONT);
  }
}

bool HeldUpgrade::reached(std::vector<std::string> arguments) {
  if (phase_ == "stage") stop_agent();
  // The clone has the same check. What comes later is held once the rehearsal is over.
  if (phase_ == "rehearse") hold("check");
  if (phase_ != "stage" && phase_ != "rehearse") hold("before_stop");
  if (!begin(std::move(arguments))) return false;
  if (phase_ == "stage" || phase_ == "rehearse") return stands_in(phase_);
  if (!stands_in("before_stop")) return false;
  if (phase_ == "before_stop") return true;
  return goes_back() ? led_back() : led_forwards();
}

bool HeldUpgrade::begin(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {"capsule", "upgrade", capsule_.name(), "-detach", "-yes"});
  const auto begun = capsule_.cluster().underway(std::move(arguments), seconds(20));
  EXPECT_EQ(begun.exit_code, 0) << begun.out << begun.err;
  return begun.exit_code == 0;
}

bool HeldUpgrade::goes_back() const {
  return phase_ == "roll_back" || phase_ == "restore" || phase_ == "restart" || phase_ == "recheck";
}

bool HeldUpgrade::led_forwards() {
  const bool in_the_middle = phase_ == "snapshot" || phase_ == "install";
  hold(in_the_middle ? "stop" : phase_);
  let_go("before_stop");
  if (!in_the_middle) return stands_in(phase_);
  if (!stands_in("stop")) return false;
  let_go("stop");
  return caught_in(phase_);
}

bool HeldUpgrade::led_back() {
  hold("check");
  let_go("before_stop");
  if (!stands_in("check")) return false;
  hold("stop");
  const auto cancelled = capsule_.cluster().underway({"capsule", "upgrade", "-cancel", capsule_.name()}, seconds(20));
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled.err;
  if (!stands_in("roll_back")) return false;
  if (phase_ == "roll_back") return true;
  if (phase_ == "restart") hold("start");
  let_go("stop");
  return phase_ == "restore" ? caught_in(phase_) : stands_in(phase_);
}

/// Where services wait for the probe: the launch itself is over too soon to be seen.
bool HeldUpgrade::stands_in(const std::string& phase) const {
  const std::string next = phase == "start" ? "check" : phase == "restart" ? "recheck" : phase;
  return eventually(seconds(30), [&] {
    const auto now = capsule_.record().phase;
    return now == phase || now == next;
  });
}

bool HeldUpgrade::caught_in(const std::string& phase) {
  if (!stands_in(phase)) return false;
  stop_agent();
  return capsule_.in_phase(phase);
}

void HeldUpgrade::hold(const std::string& what) {
  capsule_.hold(what);
  held_.push_back(what);
}

void HeldUpgrade::let_go(const std::string& what) {
  capsule_.let_go(what);
  std::erase(held_, what);
}

void HeldUpgrade::stop_agent() {
  agent_ = capsule_.cluster().agent_of(node_);
  ::kill(agent_, SIGSTOP);
}

}  // namespace underway::harness
