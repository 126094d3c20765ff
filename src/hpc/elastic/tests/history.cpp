#include "tests/history.hpp"

#include <algorithm>

namespace underway::elastic::testing {
namespace {

constexpr std::chrono::seconds kLongestStep = 60s;
constexpr std::chrono::seconds kBootAtMost = 200s;

}  // namespace

History::History(std::uint64_t seed) : chance_(seed) {
  make_policy();
  make_jobs();
}

void History::Seen::add(const Seen& other) {
  suspensions += other.suspensions;
  taken_back += other.taken_back;
  given_up += other.given_up;
  lost += other.lost;
  gangs += other.gangs;
  strict += other.strict;
  stayed += other.stayed;
  late += other.late;
}

void History::make_policy() {
  policy_.pack = chance_.happens(0.5);
  policy_.boot_rate = 0.05 + chance_.uniform();
  policy_.boot_burst = 1 + chance_.below(10);
  policy_.gang_deadline = std::chrono::minutes(2 + chance_.below(8));
  policy_.breaker = {2 + chance_.below(4), 20min, 5min};
  policy_.backoff = 30s;
  policy_.max_backoff = 5min;
  policy_.promises.max_suspensions = chance_.below(4);
  policy_.promises.max_asleep = std::chrono::minutes(30 + chance_.below(200));
  for (int i = 0; i < 3; ++i) {
    PoolClass type;
    type.name = fmt::format("c{}", i);
    type.vcpus = 4;
    type.memory_mb = 8192;
    type.max_nodes = 3 + chance_.below(4);
    type.min_nodes = i == 0 ? chance_.below(2) : 0;
    type.cost_per_hour = fmt::format("0.{}", 1 + chance_.below(8));
    type.start_time = 1min;
    type.boot_timeout = 5min;
    type.opportunistic = i == 2;
    policy_.classes.push_back(type);
  }
  ASSERT_TRUE(problems(policy_).empty());
}

void History::make_jobs() {
  const std::int64_t count = 4 + chance_.below(10);
  for (std::int64_t i = 0; i < count; ++i) {
    Job job;
    job.asks.id = std::to_string(100 + i);
    job.asks.partition = "batch";
    job.asks.nodes_min = job.asks.nodes_max = chance_.happens(0.3) ? 2 + chance_.below(2) : 1;
    job.asks.cpus = 4 * job.asks.nodes_min;
    job.asks.exclusive = true;
    job.asks.reason = chance_.happens(0.5) ? "Resources" : "Priority";
    job.urgent = job.asks.nodes_min == 1 && chance_.happens(0.2);
    job.interactive = chance_.happens(0.2);
    job.asks.priority = job.urgent ? 1000 : chance_.below(10);
    job.arrives = std::chrono::seconds(chance_.below(2400));
    job.left = std::chrono::seconds(60 + chance_.below(2400));
    job.limit = job.left + std::chrono::seconds(chance_.below(600));
    jobs_.emplace(job.asks.id, std::move(job));
  }
  calm_at_ = 50min;
}

void History::run() {
  for (int steps = 0; steps < 1500; ++steps) {
    step();
    if (::testing::Test::HasFailure()) return;
    const bool all =
        std::all_of(jobs_.begin(), jobs_.end(), [](const auto& it) { return it.second.phase == Phase::ended; });
    if (all && calm() && static_cast<std::int64_t>(vms_.size()) == policy_.classes[0].min_nodes) return;
  }
  for (const auto& [id, job] : jobs_) EXPECT_EQ(job.phase, Phase::ended) << "job " << id << " was lost";
  for (const auto& [name, vm] : vms_) {
    ADD_FAILURE() << "node " << name << " has leaked, or is one of " << policy_.classes[0].min_nodes << ": up " << vm.up
                  << " draining " << vm.draining << " job '" << vm.job << "' gang '" << vm.gang << "' held for '"
                  << vm.held_for << "' goes " << vm.goes.count();
  }
}

void History::step() {
  dt_ = std::chrono::seconds(5 + chance_.below(kLongestStep.count() - 5));
  now_ += dt_;
  pass_time();
  if (!calm()) {
    set_clock();
    break_things();
  }
  resume_sleepers();
  start_jobs();
  preempt();
  decide_and_do();
}

void History::pass_time() {
  for (auto& [id, job] : jobs_) {
    if (job.phase == Phase::coming && job.arrives <= now_) job.phase = Phase::queued;
    if (job.phase == Phase::running && now_ - job.since >= job.left) end(job);
    if (job.phase == Phase::queued) job.asks.submitted = wall();
  }
  std::vector<std::string> gone;
  for (auto& [name, vm] : vms_) {
    if (!vm.up && !vm.hangs && vm.ready <= now_) {
      vm.up = true;
      vm.since = now_;
      outcomes_.push_back({vm.class_name, name, BootResult::up, {}});
    }
    if (vm.goes != Duration{0} && (vm.goes <= now_ || vm.job.empty()) && !vm.open) gone.push_back(name);
  }
  for (const auto& name : gone) {  // taken back: the notice is over, or it is empty
    const auto id = vms_.at(name).job;
    if (!id.empty()) {
      Job& job = jobs_.at(id);
      if (!job.noticed) continue;  // it came too late to be asked, and runs to its end
      ++seen_.taken_back;
      EXPECT_FALSE(job.interactive) << "job " << id << " is lost";
      EXPECT_EQ(++job.taken_back, 1) << "job " << id << " is redone more than once";
      EXPECT_EQ(state_.redone[id], 1);
    }
    kill(name);
  }
}

void History::set_clock() {
  if (!chance_.happens(0.02)) return;
  const Duration step = chance_.happens(0.5) ? Duration{10min} : Duration{-10min};
  clock_off_ += step;
  ledger_.follow_clock(step);
}

void History::break_things() {
  if (chance_.happens(0.03) && !vms_.empty()) {
    auto it = vms_.begin();
    std::advance(it, chance_.below(static_cast<std::int64_t>(vms_.size())));
    ++seen_.lost;
    room_was_lost_ = room_was_lost_ || std::any_of(jobs_.begin(), jobs_.end(),
                                                   [](const auto& job) { return job.second.phase == Phase::asleep; });
    outcomes_.push_back({it->second.class_name, it->first, BootResult::lost, now_ - it->second.born});
    kill(std::string(it->first));
  }
  if (chance_.happens(0.04)) recalls_.push_back({"c2", 1 + chance_.below(3)});
  if (chance_.happens(0.01)) {
    std::vector<std::string> named = {"never-was"};
    for (const auto& [name, vm] : vms_) {
      if (vm.class_name == "c2") named.push_back(name);
    }
    recalls_.push_back({"c2", 0, "by name", named});
  }
}

void History::kill(const std::string& name) {
  const auto it = vms_.find(name);
  const std::string job = it->second.job;
  vms_.erase(it);
  if (!job.empty()) requeue(jobs_.at(job));
}

void History::requeue(Job& job) {
  for (const auto& name : job.nodes) {
    const auto it = vms_.find(name);
    if (it == vms_.end()) continue;
    it->second.job.clear();
    it->second.since = now_;
  }
  job.nodes.clear();
  job.noticed = false;
  job.phase = Phase::queued;  // all of its work is done again
}

void History::begin(Job& job, std::vector<std::string> nodes) {
  EXPECT_EQ(static_cast<std::int64_t>(nodes.size()), job.asks.nodes_min) << "a gang in part";
  for (const auto& name : nodes) {
    Vm& vm = vms_.at(name);
    EXPECT_TRUE(vm.job.empty()) << "two jobs on one node";
    vm.job = job.asks.id;
  }
  for (auto& [name, vm] : vms_) {  // wherever it runs now: its room is anybody's
    if (vm.held_for == job.asks.id) vm.held_for.clear();
  }
  making_room_.erase(job.asks.id);
  job.nodes = std::move(nodes);
  job.phase = Phase::running;
  job.since = now_;
}

void History::end(Job& job) {
  requeue(job);
  job.phase = Phase::ended;
}

bool History::may_use(const Job& job, const std::string&, const Vm& vm) const {
  if (!vm.up || !vm.job.empty() || vm.draining || (vm.goes != Duration{0} && !vm.open)) return false;
  if (!vm.held_for.empty() && vm.held_for != job.asks.id) return false;
  if (vm.class_name == "c2" && state_.redone.contains(job.asks.id)) return false;  // Decision::protect
  for (const auto& gang : state_.gangs) {
    if (gang.forming && gang.label == vm.gang) return gang.job == job.asks.id;
  }
  return true;
}

void History::start_jobs() {
  std::vector<Job*> order;
  for (auto& [id, job] : jobs_) {
    if (job.phase == Phase::queued) order.push_back(&job);
  }
  std::sort(order.begin(), order.end(), [](const Job* a, const Job* b) {
    return std::tuple(-a->asks.priority, a->asks.id) < std::tuple(-b->asks.priority, b->asks.id);
  });
  for (auto* job : order) {
    std::map<std::string, std::vector<std::string>> nodes;
    for (const auto& [name, vm] : vms_) {
      if (may_use(*job, name, vm)) nodes[vm.class_name].push_back(name);
    }
    for (auto& [type, names] : nodes) {
      if (static_cast<std::int64_t>(names.size()) < job->asks.nodes_min) continue;
      names.resize(static_cast<std::size_t>(job->asks.nodes_min));
      for (const auto& name : names) seen_.late += vms_.at(name).goes != Duration{0} ? 1 : 0;
      begin(*job, names);
      break;
    }
  }
  for (auto& [name, vm] : vms_) vm.open = false;
}

void History::resume_sleepers() {
  std::vector<Sleeper> sleepers;
  for (const auto& [id, job] : jobs_) {
    if (job.phase != Phase::asleep) continue;
    const auto total = ledger_.total(id, wall());
    std::vector<std::string> features;
    if (state_.redone.contains(id)) features = {"durable"};
    sleepers.push_back(
        {id, "low", job.home, 4, 0, features, 1 << 20, wall() - (now_ - job.since), Duration{total.asleep}});
    seen_.strict += room_was_lost_ ? 0 : 1;
    if (!room_was_lost_)
      EXPECT_LE(Duration{total.asleep}, policy_.promises.max_asleep + kLongestStep)
          << "job " << id << " sleeps past its promise";
  }
  if (sleepers.empty()) return;
  std::vector<ResumeHost> hosts;
  for (const auto& [name, vm] : vms_) {
    if (!may_use(Job{}, name, vm)) continue;
    std::vector<std::string> features;
    if (vm.class_name != "c2") features = {"durable"};
    hosts.push_back({name, 4, 8192, wall(), features});
  }
  std::set<std::string> woken;
  for (const auto& plan : plan_resumes(sleepers, hosts, {}, policy_.promises, wall())) {
    EXPECT_TRUE(woken.insert(plan.job).second) << "a VM is resumed twice";
    Job& job = jobs_.at(plan.job);
    job.asleep += ledger_.wake(plan.job, wall());
    begin(job, {plan.to});
  }
}

void History::preempt() {
  for (auto& [id, job] : jobs_) {
    if (job.phase != Phase::queued || !job.urgent || making_room_.contains(id)) continue;
    UrgentNeed need;
    need.job = id;
    need.priority = 1000;
    need.cpus = 4;
    need.expected = job.limit + 3 * kLongestStep;
    std::vector<VictimHost> hosts;
    std::vector<Candidate> candidates;
    for (const auto& [name, vm] : vms_) {
      if (vm.job.empty() || vm.class_name == "c2" || vm.goes != Duration{0} || vm.draining) continue;
      const Job& other = jobs_.at(vm.job);
      hosts.push_back({name, 0, 0, {}, {}});
      Candidate candidate;
      candidate.job = vm.job;
      candidate.hosts = other.nodes;
      candidate.cpus = 4;
      candidate.suspendable = other.nodes.size() == 1 && !other.urgent;
      candidate.suspend = 4s;
      const auto total = ledger_.total(vm.job, wall());
      candidate.suspensions = total.suspensions;
      candidate.asleep = Duration{total.asleep};
      candidates.push_back(std::move(candidate));
    }
    const auto victims = choose_victims(need, hosts, candidates, policy_.promises);
    if (!victims.found) continue;
    making_room_.insert(id);
    for (const auto& victim : victims.jobs) {
      Job& sleeper = jobs_.at(victim);
      sleeper.left -= now_ - sleeper.since;
      ++seen_.suspensions;
      sleeper.home = sleeper.nodes.front();
      requeue(sleeper);
      sleeper.phase = Phase::asleep;
      sleeper.since = now_;
      EXPECT_LE(++sleeper.suspensions, policy_.promises.max_suspensions) << "suspended more often than promised";
      ledger_.fall_asleep({victim, "low", id, "high", 4, 0, 0}, wall());
      vms_.at(sleeper.home).held_for = id;
    }
  }
  for (auto it = making_room_.begin(); it != making_room_.end();) {  // the room was lost with its node: ask anew
    const bool held = std::any_of(vms_.begin(), vms_.end(), [&](const auto& vm) { return vm.second.held_for == *it; });
    it = held ? std::next(it) : making_room_.erase(it);
  }
}

Tick History::look() {
  Tick tick;
  tick.now = wall();
  tick.elapsed = now_ - last_;
  last_ = now_;
  for (auto& [id, job] : jobs_) {
    if (job.phase == Phase::queued) {
      tick.pending.push_back(job.asks);
      if (making_room_.contains(id)) tick.pending.back().reason = "JobHeldAdmin";  // its room is being made
    }
    if (job.phase == Phase::asleep) {  // sleepers are demand as well
      tick.pending.push_back(job.asks);
      tick.pending.back().priority = 2000;
      tick.pending.back().reason = "Resources";
    }
    if (job.phase != Phase::running) continue;
    RunningJob running;
    running.id = id;
    running.nodes = job.nodes;
    running.cpus_per_node = 4;
    running.started = wall() - (now_ - job.since);
    if (job.interactive) running.not_redone = "is interactive";
    tick.running.push_back(std::move(running));
  }
  for (const auto& [name, vm] : vms_) {
    NodeView view;
    view.name = name;
    view.class_name = vm.class_name;
    view.gang = vm.gang;
    view.taken = vm.goes != Duration{0};
    const bool busy = !vm.job.empty() || !vm.held_for.empty();
    view.phase = vm.draining ? NodePhase::draining
                 : !vm.up    ? NodePhase::booting
                 : busy      ? NodePhase::busy
                             : NodePhase::idle;
    if (busy) view.jobs = {!vm.job.empty() ? vm.job : vm.held_for};
    view.cpus_free = busy ? 0 : 4;
    view.memory_free_mb = busy ? 0 : 8192;
    view.since = wall() - (now_ - (vm.up ? vm.since : vm.born));
    tick.nodes.push_back(std::move(view));
  }
  tick.outcomes = std::move(outcomes_);
  outcomes_.clear();
  tick.recalls = std::move(recalls_);
  recalls_.clear();
  return tick;
}

void History::decide_and_do() {
  const Tick tick = look();
  const Decision decision = decide(policy_, tick, state_);
  auto gangs_before = gangs_since_;
  check(decision);
  const bool faulty = !calm();
  if (faulty && chance_.happens(0.02)) {                     // the daemon dies before it has written anything
    for (auto& [label, since] : gangs_before) since += dt_;  // what it asked for in that time is asked for again
    gangs_since_ = std::move(gangs_before);
    return;
  }
  state_ = json::decode_text<State>(json::encode(decision.state));
  if (faulty && chance_.happens(0.02) && decision.take_back.empty()) return;  // and here before it has done anything
  carry_out(decision);
}

void History::check(const Decision& decision) {
  for (const auto& action : decision.shrink)
    EXPECT_TRUE(vms_.at(action.node).job.empty()) << "node " << action.node << " is taken from under a job";
  for (const auto& back : decision.take_back) {
    const Vm& vm = vms_.at(back.node);
    EXPECT_EQ(vm.class_name, "c2");
    EXPECT_TRUE(vm.goes == Duration{0} || !back.jobs.empty()) << "node " << back.node << " is taken twice";
    if (!back.jobs.empty()) EXPECT_EQ(back.at, wall() + policy_.promises.notice) << "all have the same notice";
    for (const auto& id : back.jobs) EXPECT_FALSE(jobs_.at(id).interactive) << "job " << id << " cannot be done again";
  }
  seen_.stayed += static_cast<std::int64_t>(decision.staying.size());
  for (const auto& [job, times] : decision.state.redone) EXPECT_LE(times, 1) << "job " << job;
  std::map<std::string, Duration> forming;
  for (const auto& gang : decision.state.gangs) {
    if (!gang.forming) {
      seen_.given_up += gangs_since_.contains(gang.label) ? 1 : 0;
      continue;
    }
    seen_.gangs += gangs_since_.contains(gang.label) ? 0 : 1;
    const auto known = gangs_since_.find(gang.label);
    const Duration since = known == gangs_since_.end() ? now_ : known->second;
    forming[gang.label] = since;
    const auto asking = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(static_cast<double>(gang.nodes) / policy_.boot_rate));
    EXPECT_LE(now_ - since, policy_.gang_deadline + asking + 2 * kLongestStep)
        << "gang " << gang.label << " holds nodes for ever";
  }
  gangs_since_ = std::move(forming);
}

void History::carry_out(const Decision& decision) {
  for (const auto& action : decision.shrink) vms_.erase(action.node);
  for (const auto& action : decision.drain) vms_.at(action.node).draining = true;
  for (const auto& name : decision.undrain) vms_.at(name).draining = false;
  for (const auto& back : decision.take_back) {
    Vm& vm = vms_.at(back.node);
    vm.open = vm.goes == Duration{0};
    vm.goes = std::max(now_ + (back.at - wall()), now_ + 1ns);
    for (const auto& id : back.jobs) jobs_.at(id).noticed = true;
  }
  for (const auto& grow : decision.grow) {
    for (std::int64_t i = 0; i < grow.count; ++i) {
      if (!calm() && chance_.happens(0.08)) {
        constexpr BootResult kRefused[] = {BootResult::refused, BootResult::over_quota, BootResult::control_plane};
        outcomes_.push_back({grow.class_name, "", kRefused[chance_.below(3)], {}});
        continue;
      }
      const std::string name = fmt::format("{}-{}", grow.class_name, ++made_);
      EXPECT_TRUE(names_.insert(name).second) << "a VM twice";
      Vm vm;
      vm.class_name = grow.class_name;
      vm.gang = grow.gang;
      vm.born = vm.since = now_;
      vm.ready = now_ + std::chrono::seconds(20 + chance_.below(kBootAtMost.count() - 20));
      vm.hangs = !calm() && chance_.happens(0.12);
      vms_.emplace(name, std::move(vm));
    }
  }
  std::map<std::string, std::int64_t> count;
  for (const auto& [name, vm] : vms_) ++count[vm.class_name];
  for (const auto& type : policy_.classes)
    EXPECT_LE(count[type.name], type.max_nodes) << "more nodes than class " << type.name << " may have";
}

}  // namespace underway::elastic::testing
