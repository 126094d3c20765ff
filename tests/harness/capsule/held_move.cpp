#include "harness/capsule/held_move.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace underway::harness {

using std::chrono::seconds;

HeldMove::HeldMove(const Capsule& capsule, std::string phase, std::string target)
    : capsule_(capsule), phase_(std::move(phase)), target_(std::move(target)) {
  if (phase_ == "stage") stop_agent();
  if (phase_ == "start") hold_overlay();
  if (by_file()) capsule_.hold(phase_);
  if (phase_ == "transfer") capsule_.hold("stop");
  if (phase_ == "copy") capsule_.write_much();
}

HeldMove::~HeldMove() {
  capsule_.let_go(by_file() ? phase_ : "stop");
  if (overlay_ >= 0) {
    ::flock(overlay_, LOCK_UN);
    ::close(overlay_);
  }
  go_on();
}

bool HeldMove::reached(seconds limit) {
  if (phase_ == "transfer") {
    if (!eventually(limit, [&] { return capsule_.in_phase("stop"); })) return false;
    stop_agent();
    capsule_.let_go("stop");
  }
  if (!eventually(limit, [&] { return capsule_.in_phase(phase_); })) return false;
  if (phase_ == "copy") stop_agent();
  return capsule_.in_phase(phase_);
}

bool HeldMove::by_file() const { return phase_ == "before_stop" || phase_ == "stop" || phase_ == "check"; }

/// As somebody does who puts back what was saved: nothing starts from it meanwhile.
void HeldMove::hold_overlay() {
  const std::string root = "/proc/" + std::to_string(capsule_.cluster().agent_of(target_)) + "/root";
  const std::string directory = root + "/var/lib/underway-node/capsules/default/" + capsule_.name();
  std::filesystem::create_directories(directory);
  overlay_ = ::open((directory + "/still").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (overlay_ < 0 || ::flock(overlay_, LOCK_EX | LOCK_NB) != 0)
    throw std::runtime_error("somebody is at the overlay in " + directory);
}

void HeldMove::stop_agent() {
  agent_ = capsule_.cluster().agent_of(target_);
  ::kill(agent_, SIGSTOP);
}

/// It may have been killed, and another process have its number.
void HeldMove::go_on() const {
  for (const int pid : capsule_.cluster().agents()) {
    if (pid == agent_) ::kill(pid, SIGCONT);
  }
}

void kill_in_move(const Capsule& capsule, const std::string& victim, const std::string& from, const std::string& to) {
  const auto& cluster = capsule.cluster();
  if (victim == "source_agent") {
    ::kill(cluster.agent_of(from), SIGKILL);
  } else if (victim == "target_agent") {
    ::kill(cluster.agent_of(to), SIGKILL);
  } else if (victim == "source_host") {
    capsule.pull_the_plug(from);
  } else if (victim == "keeper") {
    for (const auto& host : {from, to}) {
      for (const int pid : capsule.keepers(host)) ::kill(pid, SIGKILL);
    }
  } else if (victim == "server") {
    for (const int pid : cluster.server_agents()) ::kill(pid, SIGKILL);
    EXPECT_TRUE(eventually(seconds(10), [&] { return cluster.server_agents().empty(); }));
  } else {
    throw std::invalid_argument("nobody in a move is called " + victim);
  }
}

}  // namespace underway::harness
