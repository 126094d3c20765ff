#include "growth/look.hpp"

#include "base/text.hpp"
#include "growth/detail/views.hpp"
#include "growth/entitled.hpp"
#include "growth/notices.hpp"
#include "growth/reserve/bookings.hpp"

namespace underway::growth {

using elastic::BootResult;
using elastic::NodePhase;
using elastic::NodeView;

namespace {

class Thinking {
 public:
  Thinking(const ClusterFacts& facts, const SlurmLook& slurm, const std::map<std::string, Seen>& before, TimePoint now,
           std::optional<Duration> elapsed)
      : facts_(facts), before_(before), views_(detail::views_of(facts, slurm, before, now)) {
    tick_.now = now;
    tick_.elapsed = elapsed;
    for (const auto& pool : facts.pools) pools_[pool.type.name] = pool.hosts;
    out_.memory = facts.memory;
  }

  Outlook run(const SlurmLook& slurm) {
    elastic::Policy policy{facts_.policy, {}};
    for (const auto& pool : facts_.pools) {
      if (!pool.by_slurm()) policy.classes.push_back(pool.type);
    }
    recall();
    const bool all_ours = policy.classes.size() == facts_.pools.size();  // a queue is long, and is not copied then
    const auto ours = all_ours ? std::vector<slurm::QueuedJob>() : left_to_us(slurm);
    detail::add_jobs(tick_, all_ours ? slurm.queue : ours, policy, views_.partitions);
    tick_.nodes = views_.nodes;
    mark_taken(slurm);
    note_boots();
    pay();
    leave_room(policy);
    look_ahead(policy);
    reserve(slurm);
    auto decision = elastic::decide(policy, tick_, out_.memory.state);
    carry_out(decision);
    take_back(decision);
    for (const auto& pool : facts_.pools) {
      auto& hosts = pools_[pool.type.name];
      if (hosts.hosts != pool.hosts.hosts || hosts.gangs != pool.hosts.gangs) out_.pools.push_back(std::move(hosts));
    }
    out_.memory.state = std::move(decision.state);
    out_.memory.written_at = unix_nanos(tick_.now);
    for (const auto& node : views_.nodes) out_.hosts[node.name] = {node.phase, node.since};
    describe(std::move(decision.explanation));
    out_.settled =
        out_.pools.empty() && out_.status.pending == 0 && views_.settled && reserved_ && out_.notices.empty();
    return std::move(out_);
  }

 private:
  /// Without the jobs that wait for pools alone that Slurm asks for.
  std::vector<slurm::QueuedJob> left_to_us(const SlurmLook& slurm) {
    std::set<std::string> theirs, ours;
    for (const auto& pool : facts_.pools) {
      auto partitions = partitions_of(pool, slurm);
      (pool.by_slurm() ? theirs : ours).insert(partitions.begin(), partitions.end());
      if (pool.by_slurm()) out_.asked.push_back({pool.type.name, std::move(partitions)});
    }
    std::vector<slurm::QueuedJob> out;
    for (const auto& job : slurm.queue) {
      const bool is_theirs =
          !job.partitions.empty() && std::all_of(job.partitions.begin(), job.partitions.end(), [&](const auto& name) {
            return theirs.contains(name) && !ours.contains(name);
          });
      if (job.waits() && is_theirs)
        out_.status.pending += job.array_remaining;
      else
        out.push_back(job);
    }
    return out;
  }

  /// The hosts of pools that Slurm asks for use up what all pools together may have.
  void leave_room(elastic::Policy& policy) {
    for (const auto& node : views_.nodes) {
      const auto* pool = find_pool(node.class_name);
      if (pool == nullptr || !pool->by_slurm()) continue;
      ++theirs_;
      // What is there costs its price for another hour at least, as of ours.
      tick_.spent_today += pool->type.hourly();
      tick_.spent_this_month += pool->type.hourly();
      for (auto& quota : policy.quotas) {
        if (quota.provider != pool->type.counted_at()) continue;
        take(quota.nodes, 1);
        take(quota.vcpus, pool->type.vcpus);
        take(quota.memory_mb, pool->type.memory_mb);
      }
    }
    take(policy.max_nodes, theirs_);
  }
  /// Of a limit, which is none when it is 0: what is used up leaves as little as can be said.
  static void take(std::int64_t& limit, std::int64_t used) {
    if (limit > 0) limit = std::max<std::int64_t>(limit - used, 1);
  }

  /// What the jobs of the past teach is taken over when they have been looked at, and goes on from there.
  void look_ahead(const elastic::Policy& policy) {
    auto& memory = out_.memory;
    if (policy.forecast.mode == model::ForecastMode::off) {
      memory.forecasts.clear();
      return;
    }
    const auto& trial = facts_.trial;
    trusted_ = trial && trial->act && trial->holds(trial_digest(facts_), tick_.now);
    if (trial && trial->at > memory.learnt_at) {
      memory.forecasts = trial->learnt;
      memory.learnt_at = trial->at;
    }
    auto warm = elastic::look_ahead(memory.forecasts, policy, tick_);
    if (trusted_ && policy.forecast.mode == model::ForecastMode::act) tick_.warm = std::move(warm);
  }

  /// Hosts that some have for themselves from a moment on.
  void reserve(const SlurmLook& slurm) {
    auto bookings = book_hosts(facts_, slurm, tick_.nodes, tick_.now);
    for (auto& node : tick_.nodes) node.held = bookings.held.contains(node.name);
    tick_.reserved = std::move(bookings.lacking);
    out_.memory.reservations = std::move(bookings.ours);
    out_.reserve = std::move(bookings.steps);
    booked_ = std::move(bookings.lines);
    reserved_ = bookings.settled;
  }

  /// What is asked for since the last look.
  void recall() {
    for (const auto& recall : facts_.recalls) {
      if (!recall.decided())
        tick_.recalls.push_back({recall.pool, recall.count, std::to_string(recall.number), recall.hosts});
    }
  }

  /// Who goes already, and what cannot be done again.
  void mark_taken(const SlurmLook& slurm) {
    for (auto& node : tick_.nodes) node.taken = facts_.notices.find_host(node.name) != nullptr;
    if (tick_.recalls.empty() && facts_.notices.empty()) return;
    std::set<std::string_view> there;
    for (const auto& job : slurm.queue) there.insert(job.id);
    std::map<std::string_view, const slurm::RedoFacts*> known;
    for (const auto& job : slurm.redo) known[job.id] = &job;
    for (auto& job : tick_.running) {
      const auto at = known.find(job.id);
      job.not_redone = slurm::why_not_redone(job.id, at == known.end() ? nullptr : at->second);
    }
    // One that has failed is about to be queued again: that its node was taken is not forgotten until then.
    for (const auto& job : facts_.notices.jobs) {
      if (there.contains(job.id)) continue;
      tick_.running.push_back({.id = job.id, .ending = true});
      ++between_;
    }
  }

  model::PoolHosts& hosts_of(const std::string& pool) { return pools_.at(pool); }

  const PoolFacts* find_pool(const std::string& name) const {
    const auto at = std::find_if(facts_.pools.begin(), facts_.pools.end(),
                                 [&](const PoolFacts& pool) { return pool.type.name == name; });
    return at == facts_.pools.end() ? nullptr : &*at;
  }

  bool wanted(const std::string& pool, const std::string& host) {
    const auto& names = hosts_of(pool).hosts;
    return std::find(names.begin(), names.end(), host) != names.end();
  }

  /// What has become of hosts since the look before. One that cannot be made is given back, so that the policy and not
  /// the provider decides when the next is asked for; of those that are always there the provider tries on.
  void note_boots() {
    for (const auto& node : views_.nodes) {
      const auto known = before_.find(node.name);
      const auto* of = find_pool(node.class_name);
      if (known == before_.end() || of == nullptr || of->by_slurm()) continue;
      const bool was_up = known->second.phase == NodePhase::idle || known->second.phase == NodePhase::busy;
      const bool is_up = node.phase == NodePhase::idle || node.phase == NodePhase::busy;
      if (known->second.phase == NodePhase::booting && is_up)
        tick_.outcomes.push_back({node.class_name, node.name, BootResult::up, {}});
      if (was_up && node.phase == NodePhase::booting) {
        tick_.outcomes.push_back({node.class_name, node.name, BootResult::lost, tick_.now - node.booted});
        ++out_.failed_boots;
      }
    }
    for (const auto& [host, result] : views_.not_made) {
      const auto& pool = facts_.pools[host.second];
      if (pool.by_slurm()) continue;  // asked.hpp
      auto& names = hosts_of(pool.type.name).hosts;
      if (static_cast<std::int64_t>(names.size()) <= pool.type.min_nodes) continue;
      tick_.outcomes.push_back({pool.type.name, host.first, result, {}});
      ++out_.failed_boots;
      give_back(pool.type.name, host.first);
      std::erase_if(tick_.nodes, [&](const NodeView& node) { return node.name == host.first; });
    }
  }

  /// Those that are always there stay, however long they take: their provider tries on.
  void give_back(const std::string& pool, const std::string& host) {
    auto& hosts = hosts_of(pool);
    const auto* declared = find_pool(pool);
    if (declared == nullptr || static_cast<std::int64_t>(hosts.hosts.size()) <= declared->type.min_nodes) return;
    if (std::erase(hosts.hosts, host) == 0) return;
    hosts.asked_at.erase(host);
    hosts.gangs.erase(host);
    ++out_.given_back;
  }

  void pay() {
    std::int64_t hourly = 0;
    for (const auto& node : views_.nodes) {
      const auto* pool = find_pool(node.class_name);
      if (pool != nullptr) hourly += pool->type.hourly();
    }
    spend(out_.memory.spending, hourly, tick_.elapsed.value_or(Duration{}), tick_.now);
    tick_.spent_today = out_.memory.spending.today;
    tick_.spent_this_month = out_.memory.spending.this_month;
  }

  void carry_out(const elastic::Decision& decision) {
    for (const auto* actions : {&decision.shrink, &decision.drain}) {
      for (const auto& action : *actions) {
        const auto* node = views_.find(action.node);
        if (node != nullptr) give_back(node->class_name, action.node);
      }
    }
    for (const auto& name : decision.undrain) {
      if (const auto* node = views_.find(name)) ask_for(node->class_name, name, node->gang);
    }
    for (const auto& grow : decision.grow) make(grow);
  }

  /// Its jobs have until then, and it goes as any that is not wanted any more.
  void take_back(const elastic::Decision& decision) {
    out_.notices = facts_.notices;
    out_.notices.cluster = facts_.name;
    std::map<std::string, model::Recall> decided;
    for (const auto& recall : facts_.recalls) {
      if (!recall.decided()) decided.emplace(std::to_string(recall.number), recall);
    }
    for (const auto& back : decision.take_back) {
      const auto until = unix_nanos(back.at);
      for (const auto& job : back.jobs) out_.notices.jobs.push_back({job, back.node, until});
      const auto* node = views_.find(back.node);
      if (node == nullptr || back.recall.empty()) continue;
      ++out_.taken_back;
      out_.notices.hosts.push_back({back.node, node->class_name, unix_nanos(tick_.now)});
      give_back(node->class_name, back.node);
      const bool at_once = back.at <= tick_.now;
      decided[back.recall].goes.push_back({back.node, at_once ? 0 : until, back.jobs});
    }
    for (const auto& it : decision.staying) {
      auto& stays = decided[it.recall].stays;
      if (stays.size() < model::kMostSpareHosts) stays.push_back({it.node, it.why});
    }
    for (auto& [number, recall] : decided) {
      recall.decided_at = unix_nanos(tick_.now);
      const auto pool = pools_.find(recall.pool);
      if (pool != pools_.end()) recall.ceiling = static_cast<std::int64_t>(pool->second.hosts.size());
      out_.recalls.push_back(std::move(recall));
    }
  }

  void ask_for(const std::string& pool, const std::string& host, const std::string& gang) {
    if (wanted(pool, host)) return;
    auto& hosts = hosts_of(pool);
    hosts.hosts.push_back(host);
    hosts.asked_at[host] = unix_nanos(tick_.now);
    if (!gang.empty()) hosts.gangs[host] = gang;
    ++out_.asked_for;
  }

  /// The lowest names that nobody has: the machine of one that was given back may still run.
  void make(const elastic::Grow& grow) {
    const auto* pool = find_pool(grow.class_name);
    if (pool == nullptr) return;
    std::int64_t left = grow.count;
    if (facts_.policy.max_nodes > 0) left = std::min(left, facts_.policy.max_nodes - all_wanted());
    for (const auto& name : pool->all_names) {
      if (left <= 0) break;
      if (views_.taken.contains(name) || wanted(grow.class_name, name)) continue;
      ask_for(grow.class_name, name, grow.gang);
      --left;
    }
  }

  std::int64_t all_wanted() const {
    std::size_t out = 0;
    for (const auto& [name, hosts] : pools_) out += hosts.hosts.size();
    return static_cast<std::int64_t>(out);
  }

  void describe(elastic::Explanation explanation) {
    Status& status = out_.status;
    status.cluster = facts_.name;
    status.at = unix_nanos(tick_.now);
    for (const auto& job : tick_.pending) status.pending += job.array_remaining;
    status.running = static_cast<std::int64_t>(tick_.running.size()) - between_;
    const auto& spending = out_.memory.spending;
    if (spending.this_month > 0) {
      status.spent_today = model::format_money(spending.today);
      status.spent_this_month = model::format_money(spending.this_month);
    }
    for (const auto& pool : facts_.pools)
      status.pools.push_back(detail::status_of(pool.type, views_.nodes, out_.memory.state, tick_.now));
    status.explanation = explanation;
    auto& shapes = status.explanation.shapes;
    const std::size_t more = shapes.size() > kMostShapesTold ? shapes.size() - kMostShapesTold : 0;
    shapes.resize(shapes.size() - more);
    status.lines = elastic::render(status.explanation);
    if (more > 0) status.lines.push_back(fmt::format("and {} more kinds of jobs", more));
    for (const auto& pool : out_.asked)
      status.lines.push_back(fmt::format("pool '{}': Slurm asks for its hosts itself", pool.pool));
    tell_forecast();
    tell_recalls();
    for (auto& line : booked_) status.lines.push_back(std::move(line));
    out_.explanation = std::move(explanation);
  }

  void tell_forecast() {
    auto& lines = out_.status.lines;
    const bool acts = facts_.policy.forecast.mode == model::ForecastMode::act;
    // Who has not asked for it is told only what he might like to know.
    if (!acts && (!facts_.trial || facts_.trial->jobs == 0)) return;
    if (facts_.policy.forecast.mode == model::ForecastMode::off) return;
    const auto why = facts_.trial ? facts_.trial->why : std::string("its trial on past jobs has not ended yet");
    lines.push_back(fmt::format("forecast {}: {}", acts && trusted_ ? "acts" : "stays in shadow", why));
    for (const auto& [pool, count] : tick_.warm)
      lines.push_back(fmt::format("pool '{}' keeps {} idle for what is expected", pool, count));
  }

  void tell_recalls() {
    auto& lines = out_.status.lines;
    for (const auto& host : out_.notices.hosts)
      lines.push_back(fmt::format("{} {}", host.host, notice_text(out_.notices, host)));
    for (const auto& recall : facts_.recalls) {
      if (!recall.decided()) continue;
      const auto over = recall.for_host.empty() ? fmt::format("`underway host recall -end {}`", recall.number)
                                                : fmt::format("{} is gone", recall.for_host);
      lines.push_back(fmt::format("pool '{}' has at most {} host{} until {}: recall {}{}{}", recall.pool,
                                  recall.ceiling, recall.ceiling == 1 ? "" : "s", over, recall.number,
                                  recall.why.empty() ? "" : ", ", recall.why));
      for (const auto& it : recall.stays)
        lines.push_back(fmt::format("{} stays although recall {} asks for it: {}", it.host, recall.number, it.why));
    }
  }

  const ClusterFacts& facts_;
  const std::map<std::string, Seen>& before_;
  detail::Views views_;
  std::map<std::string, model::PoolHosts> pools_;  ///< by name, as they are to be
  elastic::Tick tick_;
  bool trusted_ = false;             ///< the forecast is, by its trial
  bool reserved_ = true;             ///< all reservations that are near have their hosts
  std::vector<std::string> booked_;  ///< how they stand
  std::int64_t theirs_ = 0;          ///< hosts of pools that Slurm asks for
  std::int64_t between_ = 0;         ///< jobs that have failed and are queued again
  Outlook out_;
};

}  // namespace

Outlook think(const ClusterFacts& facts, const SlurmLook& slurm, const std::map<std::string, Seen>& before,
              TimePoint now, std::optional<Duration> elapsed) {
  return Thinking(facts, slurm, before, now, elapsed).run(slurm);
}

namespace {

/// "pool 'burst', pool 'gpu'": those that Slurm asks for, for this job.
std::string pools_for(const slurm::QueuedJob& job, const std::vector<AskedPool>& asked) {
  std::vector<std::string> out;
  for (const auto& pool : asked) {
    const bool serves = std::any_of(job.partitions.begin(), job.partitions.end(),
                                    [&](const auto& partition) { return pool.partitions.contains(partition); });
    if (serves) out.push_back(fmt::format("pool '{}'", pool.pool));
  }
  return join(out, ", ");
}

}  // namespace

JobExplanation explain(const std::string& cluster, const elastic::Explanation& explanation,
                       const std::vector<slurm::QueuedJob>& queue, const std::string& job,
                       const std::vector<AskedPool>& asked) {
  JobExplanation out{.cluster = cluster, .job = job};
  const auto found = std::find_if(queue.begin(), queue.end(), [&](const auto& it) { return detail::is_job(it, job); });
  if (found == queue.end()) {
    out.lines.emplace_back("it is not in Slurm's queue: it has ended, or there never was one");
    return out;
  }
  out.state = found->state;
  out.reason = found->reason;
  if (!found->waits()) {
    out.lines.push_back(fmt::format("it does not wait: it is {} on {}", found->state, join(found->nodes, ", ")));
    return out;
  }
  elastic::Explanation only{.at = explanation.at};
  for (const auto& shape : explanation.shapes) {
    if (detail::is_of_shape(*found, shape)) only.shapes.push_back(shape);
  }
  const auto theirs = pools_for(*found, asked);
  if (!theirs.empty())
    out.lines.push_back(fmt::format(
        "it waits for {}; Slurm asks for hosts of {} itself, and does so when it gives the job nodes that are powered "
        "down",
        found->reason, theirs));
  if (only.shapes.empty() && theirs.empty())
    out.lines.push_back(fmt::format("it waits for {}, which more nodes do not cure", found->reason));
  for (auto& line : elastic::render(only)) out.lines.push_back(std::move(line));
  for (const auto& note : explanation.notes) {
    if (note.find(fmt::format("job {}:", job)) != std::string::npos) out.lines.push_back(note);
  }
  return out;
}

}  // namespace underway::growth
