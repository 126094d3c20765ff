// Two hundred seeded rounds of SIGKILL at agent, keeper and task, one by one and all at once, while jobs come and go.
// Held: what was acknowledged is there at the end, and no allocation ever has two living processes.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>

#include "harness/machine.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

constexpr int kRounds = 200;
constexpr std::size_t kLiving = 6;  ///< jobs at a time

class Kills {
 public:
  explicit Kills(unsigned seed) : random_(seed) {}

  void run() {
    for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      const bool agent_dies = strike(round);
      if (agent_dies) machine_.start();
      for (const auto& [id, wanted] : jobs_) expect_one_life(id);
    }
    for (const auto& [id, wanted] : jobs_) {
      EXPECT_TRUE(eventually(seconds(60), [&] { return living(id).size() == (wanted ? 1u : 0u); }))
          << id << (wanted ? " is wanted" : " was stopped") << " and lives " << living(id).size() << " times";
    }
    for (const auto& [id, wanted] : jobs_) machine_.underway({"job", "stop", "-detach", "-purge", id});
    for (const auto& id : unsure_) machine_.underway({"job", "stop", "-detach", "-purge", id});
    EXPECT_TRUE(eventually(seconds(30), [&] { return all_dead(); }));
  }

 private:
  std::string marks(const std::string& id) const { return machine_.directory() + "/" + id + ".pids"; }

  /// Every start of the task is a line with its pid.
  std::vector<int> living(const std::string& id) const {
    std::istringstream lines(read_text(marks(id)));
    std::vector<int> out;
    for (int pid = 0; lines >> pid;) {
      const std::string line = read_text("/proc/" + std::to_string(pid) + "/environ");
      if (line.find("NOMAD_JOB_ID=" + id) != std::string::npos) out.push_back(pid);
    }
    return out;
  }
  void expect_one_life(const std::string& id) {
    EXPECT_LE(living(id).size(), 1u) << id << " runs twice: " << read_text(marks(id));
  }
  bool all_dead() {
    for (const auto& [id, wanted] : jobs_) {
      if (!living(id).empty()) return false;
    }
    return std::ranges::all_of(unsure_, [this](const auto& id) { return living(id).empty(); });
  }

  /// One act of change and one of violence at the same time; whether the agent was killed.
  bool strike(int round) {
    Background change = begin_change(round);
    ::usleep(static_cast<useconds_t>(random_() % 20'000));
    const unsigned what = random_() % 4;
    if (what == 0 || what == 3) kill_keeper();
    if (what == 1 || what == 3) kill_task();
    if (what == 2 || what == 3) machine_.kill_agent();
    const bool acknowledged = change.wait(seconds(30)) == 0;
    if (acknowledged || changed_ == Change::stop) jobs_[subject_] = changed_ == Change::start;
    if (!acknowledged && changed_ == Change::stop) jobs_.erase(subject_);  // either way is right
    if (!acknowledged) unsure_.push_back(subject_);
    return what == 2 || what == 3;
  }

  enum class Change { start, stop };

  Background begin_change(int round) {
    std::vector<std::string> wanted;
    for (const auto& [id, is_wanted] : jobs_) {
      if (is_wanted) wanted.push_back(id);
    }
    if (wanted.size() >= kLiving) {
      changed_ = Change::stop;
      subject_ = wanted[random_() % wanted.size()];
      return Background(machine_.command({"job", "stop", "-detach", subject_}));
    }
    changed_ = Change::start;
    subject_ = "k" + std::to_string(round);
    const std::string file = machine_.directory() + "/" + subject_ + ".hcl";
    write_text(file, "job \"" + subject_ +
                         "\" {\n  group \"g\" {\n    restart {\n      attempts = 1000\n      interval = \"1h\"\n      "
                         "delay = \"100ms\"\n      mode = \"delay\"\n    }\n"
                         "    task \"t\" {\n      driver = \"raw_exec\"\n      config {\n        command = "
                         "\"/bin/sh\"\n        args = [\"-c\", \"echo $$ >> " +
                         marks(subject_) +
                         "; exec sleep 86399\"]\n      }\n"
                         "      resources {\n        cpu = 10\n        memory = 10\n      }\n    }\n  }\n}\n");
    return Background(machine_.command({"job", "run", "-detach", file}));
  }

  int some_task() {
    std::vector<int> pids;
    for (const auto& [id, wanted] : jobs_) {
      const auto own = living(id);
      pids.insert(pids.end(), own.begin(), own.end());
    }
    return pids.empty() ? -1 : pids[random_() % pids.size()];
  }
  void kill_task() {
    if (const int pid = some_task(); pid > 0) ::kill(pid, SIGKILL);
  }
  void kill_keeper() {
    const int pid = some_task();
    if (pid <= 0) return;
    std::istringstream stat(read_text("/proc/" + std::to_string(pid) + "/stat"));
    std::string ignored;
    int parent = -1;
    stat >> ignored >> ignored >> ignored >> parent;
    if (parent > 1 && read_text("/proc/" + std::to_string(parent) + "/comm").starts_with("underway-keepe"))
      ::kill(parent, SIGKILL);
  }

  std::mt19937 random_;
  Machine machine_;
  std::map<std::string, bool> jobs_;  ///< acknowledged: whether it shall run
  std::vector<std::string> unsure_;   ///< registered or not, stopped or not: the answer was lost
  std::string subject_;
  Change changed_ = Change::start;
};

TEST(Kill, LosesNothingAcknowledgedAndStartsNothingTwice) { Kills(20261121).run(); }

}  // namespace
}  // namespace underway::harness
