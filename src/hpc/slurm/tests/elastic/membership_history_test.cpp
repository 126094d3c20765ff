// Histories of hosts, Slurm and an administrator, one per seed: hosts come and go and die, jobs run, slurmctld is away,
// we are killed between two commands, somebody uses scontrol. Whatever happens, no machine is stopped under a job, no
// address is given away while Slurm has it, and in the end Slurm's nodes are as the hosts are.
#include <gmock/gmock.h>

#include <random>
#include <set>

#include "base/text.hpp"
#include "slurm/elastic/membership.hpp"
#include "slurm/hostlist.hpp"

namespace underway::slurm {
namespace {

using model::SlurmMember;
using model::SlurmMembership;

constexpr std::int64_t kTick = 1'000'000'000;
constexpr int kHosts = 4;

/// slurmctld as the commands of membership know it. Source of how it behaves: integration.slurm_pools.
class FakeSlurm {
 public:
  FakeSlurm(JoinMode mode, const std::vector<std::string>& names) : mode_(mode) {
    if (mode != JoinMode::cloud) return;
    for (const auto& name : names) {
      NodeRecord node{name, name, name, "IDLE", {"CLOUD", "POWERED_DOWN"}};
      node.weight = 1;
      node.features = {"burst"};
      nodes[name] = node;
    }
  }

  /// False: it refuses.
  bool obey(const Command& words) {
    std::vector<std::string> names, places;
    std::string state, reason;
    for (const auto& word : words) {
      const auto value = word.substr(word.find('=') + 1);
      if (word.starts_with("nodename=")) names = unfold_hosts(value);
      if (word.starts_with("nodeaddr=")) places = split_list(value);
      if (word.starts_with("state=")) state = value;
      if (word.starts_with("reason=")) reason = value;
    }
    const bool deletes = words[1] == "delete";
    for (const auto& name : names) {
      if (!nodes.contains(name) || (deletes && jobs.contains(name))) return false;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (deletes)
        nodes.erase(names[i]);
      else
        update(nodes[names[i]], places.size() == names.size() ? places[i] : "", state, reason);
    }
    return true;
  }

  void register_node(const std::string& name, const std::string& address) {
    if (!nodes.contains(name)) {
      if (mode_ == JoinMode::cloud) return;  // unknown to it
      NodeRecord node{name, address, name, "IDLE", {"DYNAMIC_NORM"}};
      node.weight = 1;
      node.features = {"burst"};
      nodes[name] = node;
    }
    auto& node = nodes[name];
    node.address = address;  // cloud_reg_addrs
    node.flags.erase("POWERED_DOWN");
    node.flags.erase("NOT_RESPONDING");
    if (node.state == "DOWN") {
      node.state = "IDLE";
      if (!node.draining()) node.reason.clear();
    }
  }
  bool takes_jobs(const std::string& name) const {
    const auto at = nodes.find(name);
    return at != nodes.end() && at->second.state == "IDLE" && !at->second.draining() && at->second.responds();
  }
  SlurmView view() const {
    SlurmView out;
    for (auto [name, node] : nodes) {
      if (jobs.contains(name)) node.state = node.state == "DOWN" ? "DOWN" : "MIXED";
      out.records.push_back(node);
    }
    for (const auto& name : jobs) out.jobs[name] = {"17"};
    return out;
  }

  std::map<std::string, NodeRecord> nodes;
  std::set<std::string> jobs;  ///< nodes with one

 private:
  static void update(NodeRecord& node, const std::string& address, const std::string& state,
                     const std::string& reason) {
    if (!address.empty()) node.address = address;
    if (!reason.empty()) node.reason = reason;
    if (state == "drain") node.flags.insert("DRAIN");
    if (state == "down") {
      node.state = "DOWN";
      node.flags.erase("POWERED_DOWN");
    }
    if (state == "undrain" || state == "resume") node.flags.erase("DRAIN");
    if (state == "resume" && node.state == "DOWN") node.state = "IDLE";
    if ((state == "undrain" || state == "resume") && node.state != "DOWN") node.reason.clear();
  }

  JoinMode mode_;
};

struct SimulatedHost {
  bool wanted = true, runs = true, gate_open = false, slurmd = false, ready = true, known_to_agent = true;
  std::string address, node_id;
  std::optional<SlurmMember> row;
};

class World {
 public:
  World(JoinMode mode, unsigned seed) : random_(seed), slurm_(mode, names()) {
    pool_.name = "burst";
    pool_.hostname = "b%d";
    pool_.size = kHosts;
    pool_.slurm = model::SlurmJoin{.join = to_string(mode), .most = kHosts};
  }

  void run() {
    for (int tick = 0; tick < 150; ++tick) {
      now_ += kTick;
      happen();
      advance(chance(10));
    }
    // Now everything is left in peace.
    away_ = false;
    for (auto& [name, host] : hosts_) host.ready = true;
    for (auto& [name, node] : slurm_.nodes) {
      if (node.draining() && !held_by_us(node)) slurm_.obey({"scontrol", "update", "nodename=" + name, "state=resume"});
    }
    for (int tick = 0; tick < 60; ++tick) {
      now_ += kTick;
      slurm_.jobs.clear();
      advance(false);
    }
    for (const auto& [name, host] : hosts_) {
      EXPECT_TRUE(host.wanted) << name << " is still there: " << (host.row ? host.row->description : "");
      EXPECT_TRUE(slurm_.takes_jobs(name)) << name << ": " << (host.row ? host.row->description : "");
      if (slurm_.nodes.contains(name)) EXPECT_EQ(slurm_.nodes.at(name).address, host.address);
    }
    for (const auto& [name, node] : slurm_.nodes) {
      if (!hosts_.contains(name)) EXPECT_FALSE(slurm_.takes_jobs(name)) << name << " is not there";
    }
  }

 private:
  static std::vector<std::string> names() { return {"b1", "b2", "b3", "b4"}; }
  bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }
  std::string any() { return names()[random_() % kHosts]; }

  void happen() {
    const auto name = any();
    if (chance(10)) away_ = !away_ && chance(30);
    if (chance(30) && !hosts_.contains(name)) {
      SimulatedHost host;
      host.address = free_address();
      host.node_id = fmt::format("node-{}", ++nodes_);
      hosts_[name] = host;
    } else if (chance(15) && hosts_.contains(name)) {
      auto& host = hosts_[name];
      const bool comes_back = !host.wanted && host.runs && host.row && host.row->status == SlurmMembership::leaving;
      if (host.wanted || comes_back) host.wanted = !host.wanted;
    }
    if (chance(20)) {
      if (const auto node = any(); !away_ && slurm_.takes_jobs(node)) start(node);
    }
    if (chance(20)) slurm_.jobs.erase(any());
    if (chance(5) && hosts_.contains(name)) hosts_[name].ready = !hosts_[name].ready;
    if (chance(3)) die(name);
    if (!away_ && chance(6)) scontrol(name);
  }

  void start(const std::string& name) {
    const auto at = hosts_.find(name);
    ASSERT_TRUE(at != hosts_.end() && at->second.runs) << "Slurm gives a job to " << name << ", which is not there";
    slurm_.jobs.insert(name);
  }

  /// The machine is lost and made anew, with the same name and address. Slurm finds that it is silent.
  void die(const std::string& name) {
    const auto at = hosts_.find(name);
    if (at == hosts_.end() || !at->second.wanted || !at->second.runs) return;
    auto& host = at->second;
    host.slurmd = host.gate_open = false;
    host.node_id = fmt::format("node-{}", ++nodes_);
    slurm_.jobs.erase(name);
    if (slurm_.nodes.contains(name) && slurm_.nodes[name].state != "DOWN") {
      slurm_.nodes[name].state = "DOWN";
      slurm_.nodes[name].flags.insert("NOT_RESPONDING");
      if (!slurm_.nodes[name].draining()) slurm_.nodes[name].reason = "Not responding";
    }
  }

  void scontrol(const std::string& name) {
    if (!slurm_.nodes.contains(name) || !hosts_.contains(name)) return;
    switch (random_() % 4) {
      case 0:
        slurm_.obey({"scontrol", "update", "nodename=" + name, "state=drain", "reason=bad DIMM"});
        break;
      case 1:
        slurm_.obey({"scontrol", "update", "nodename=" + name, "nodeaddr=10.9.99.99"});
        break;
      case 2:
        // Of what somebody lets in, jobs come only where slurmd runs.
        if (hosts_[name].slurmd) slurm_.obey({"scontrol", "update", "nodename=" + name, "state=resume"});
        break;
      default:
        if (slurm_.nodes[name].dynamic()) slurm_.obey({"scontrol", "delete", "nodename=" + name});
    }
  }

  std::string free_address() {
    std::set<std::string> used;
    for (const auto& [name, host] : hosts_) used.insert(host.address);
    for (int i = 1;; ++i) {
      const auto address = fmt::format("10.9.1.{}", i);
      if (used.contains(address)) continue;
      for (const auto& [name, node] : slurm_.nodes)
        EXPECT_NE(node.address, address) << "Slurm still takes " << address << " for " << name;
      return address;
    }
  }

  /// A look of the control loop; `killed`: in the middle of what follows from it.
  void advance(bool killed) {
    std::vector<MemberHost> views;
    for (const auto& [name, host] : hosts_) {
      MemberHost view{.name = name,
                      .address = host.address,
                      .wanted = host.wanted,
                      .runs = host.runs,
                      .node_id = host.runs ? host.node_id : "",
                      .known = host.row,
                      .gate_open = host.gate_open};
      if (host.runs)
        view.reasons =
            host.ready ? std::vector<std::string>{} : std::vector<std::string>{"nothing is mounted at /home"};
      views.push_back(view);
    }
    if (away_) {
      write(plan_without_slurm("demo", views, "slurmctld does not run", now_));
    } else {
      auto plan = plan_members(&pool_, "demo", views, slurm_.view(), now_);
      for (auto& [name, host] : hosts_) {
        if (host.wanted && !host.row) host.row = SlurmMember{.cluster = "demo", .host = name};
      }
      const bool done = carry_out(plan, killed);
      if (done) write(plan);
    }
    machines();
  }

  bool carry_out(const MembershipPlan& plan, bool killed) {
    for (const auto& command : plan.commands) {
      if (killed && chance(50)) return false;
      if (!slurm_.obey(command)) return false;
    }
    for (const auto& name : plan.open) {
      if (killed && chance(50)) return false;
      hosts_[name].gate_open = true;
    }
    for (const auto& [name, why] : plan.restart) hosts_[name].slurmd = false;
    return true;
  }

  void write(const MembershipPlan& plan) {
    for (const auto& [name, member] : plan.members) {
      auto& host = hosts_[name];
      if (host.row || host.wanted) host.row = member;
    }
  }

  /// What the hosts' controller does, and slurmd.
  void machines() {
    for (auto at = hosts_.begin(); at != hosts_.end();) {
      auto& [name, host] = *at;
      if (host.runs && host.gate_open && !host.slurmd && !away_) {
        host.slurmd = true;
        slurm_.register_node(name, host.address);
      }
      const bool may_stop =
          !host.row || host.row->status == SlurmMembership::released || host.row->status == SlurmMembership::gone;
      if (!host.wanted && host.runs && may_stop) {
        EXPECT_FALSE(slurm_.jobs.contains(name)) << name << " is stopped under a job";
        EXPECT_FALSE(slurm_.takes_jobs(name)) << name << " is stopped, and Slurm may give it a job";
        host.runs = host.slurmd = host.gate_open = false;
      }
      const bool may_forget = !host.row || host.row->status == SlurmMembership::gone;
      at = !host.runs && may_forget ? hosts_.erase(at) : std::next(at);
    }
  }

  std::mt19937 random_;
  model::Pool pool_;
  FakeSlurm slurm_;
  std::map<std::string, SimulatedHost> hosts_;
  bool away_ = false;
  int nodes_ = 0;
  std::int64_t now_ = 1'800'000'000 * kTick;
};

TEST(SlurmMembershipHistory, LosesNoJobAndEndsAsTheHostsAre) {
  for (const auto mode : {JoinMode::dynamic, JoinMode::cloud}) {
    for (unsigned seed = 0; seed < 400; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", to_string(mode), seed));
      World(mode, seed).run();
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace underway::slurm
