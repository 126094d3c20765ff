#include "slurm/elastic/member_controller.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "slurm/queue.hpp"
#include "tables/slurm_members.hpp"

namespace underway::slurm {

using async::awaitable;
using model::SlurmMember;
using model::SlurmMembership;

namespace {

bool joins(const model::Cluster& cluster) {
  return !cluster.stop && std::any_of(cluster.pools.begin(), cluster.pools.end(),
                                      [](const auto& pool) { return pool.slurm.has_value(); });
}

/// On the first of the pool's networks, as slurmctld has it.
std::string address_of(const model::Cluster& cluster, const model::Host& host) {
  for (const auto& network : cluster.networks) {
    if (const auto at = host.addresses.find(network.name); at != host.addresses.end()) return at->second;
  }
  return {};
}

bool goes(const model::Host& host) {
  return host.status == model::HostStatus::stopping || host.status == model::HostStatus::stopped;
}

/// As the tables have it; nobody has looked at it.
MemberHost member_host(const tables::Tables& tables, const model::Host& row) {
  const auto cluster = tables.find_cluster(row.cluster);
  return {.name = row.name,
          .address = cluster ? address_of(*cluster, row) : "",
          .wanted = !goes(row),
          .runs = row.status == model::HostStatus::running || row.status == model::HostStatus::stopping,
          .to_sleep = !row.sleep.empty() && !goes(row),
          .asleep = row.asleep,
          .moves = row.sleeps_to_move,
          .node_id = row.node_id,
          .known = tables::find_record<SlurmMember>(tables, row.cluster + "/" + row.name)};
}

/// Hosts of the cluster's other pools, as far as their agents tell.
std::vector<MemberHost> hosts_elsewhere(const tables::Tables& tables, const std::string& cluster,
                                        const std::string& pool) {
  std::vector<MemberHost> out;
  for (const auto& row : tables.hosts(cluster)) {
    if (row->pool == pool) continue;
    out.push_back(member_host(tables, *row));
    const auto node = row->node_id.empty() ? nullptr : tables.find_node(row->node_id);
    if (node && !node->silent()) out.back().reasons.emplace();
  }
  return out;
}

}  // namespace

MemberController::MemberController(server::Server& server, async::Pool& pool, async::Executor executor, Options options)
    : server_(server),
      pool_(pool),
      executor_(executor),
      options_(options),
      follower_(server.follow(what_members_follow())),
      tasks_(std::move(executor), "nodes of Slurm") {}

server::FollowerOptions MemberController::what_members_follow() {
  server::FollowerOptions out;
  out.scopes = [](const tables::Tables&) {
    return std::vector<tables::Scope>{
        {tables::Topic::clusters, ""}, {tables::Topic::hosts, ""}, {tables::Topic::nodes, ""}};
  };
  // What Slurm and the hosts say, no change tells of.
  out.again = [this](const tables::Tables& tables) -> std::optional<Duration> {
    const auto clusters = tables.clusters();
    const bool any = std::any_of(clusters.begin(), clusters.end(), [](const auto& cluster) { return joins(*cluster); });
    if (!any && settled_) return std::nullopt;
    return settled_ ? options_.rest : options_.poll;
  };
  out.gather = std::chrono::milliseconds(50);
  return out;
}

void MemberController::start() {
  server_.loops().start(tasks_,
                        {.area = "slurm",
                         .name = "nodes of Slurm",
                         .trouble = "nodes do not come to Slurm, nor go from it",
                         .wait = [this] { return follower_.wait_for_news(); },
                         .reconcile = [this] { return reconcile(); },
                         .retry = async::RetryPolicy::up_to(std::min<Duration>(options_.rest, std::chrono::seconds(1))),
                         .patience = std::chrono::minutes(10)});
}

awaitable<void> MemberController::stop() { co_await tasks_.stop(); }

/// One cluster whose slurmctld does not answer keeps nobody from looking after the others.
awaitable<void> MemberController::reconcile() {
  const auto* tables = co_await server_.read();
  std::vector<tables::Row<model::Cluster>> clusters;
  for (const auto& cluster : tables->clusters()) {
    const auto hosts = cluster->stop ? Rows{} : tables->hosts(cluster->name);
    const bool has_members = std::any_of(hosts.begin(), hosts.end(), [&](const auto& host) {
      return tables::find_record<SlurmMember>(*tables, host->cluster + "/" + host->name).has_value();
    });
    if (joins(*cluster) || has_members) clusters.push_back(cluster);
  }
  std::erase_if(seen_, [&](const auto& entry) { return !tables->find<model::Host>(entry.first); });
  std::erase_if(restarted_at_, [&](const auto& entry) { return !tables->find_node(entry.first); });
  settled_ = true;
  std::optional<Error> failure;
  for (const auto& cluster : clusters) {
    try {
      co_await look_after(cluster);
    } catch (const Error& error) {
      if (!failure) failure = error;
    }
  }
  if (failure) throw std::move(*failure);
}

awaitable<std::string> MemberController::command(Place place, std::vector<std::string> words) {
  const std::string what = "`" + join(words, " ") + "`";
  co_return co_await async::within(options_.patience, what, run_in_task(server_, std::move(place), std::move(words)));
}

awaitable<SlurmView> MemberController::ask_slurm(Place place, std::vector<MemberHost> hosts) {
  const auto show = records_command();
  SlurmView out;
  const auto printed = co_await command(place, show);
  auto read = [&] { out.records = parse_records(printed); };
  co_await async::on_pool(pool_, read);
  // squeue refuses a name that Slurm does not know.
  std::vector<std::string> leaving, sleeping;
  for (const auto& host : hosts) {
    const bool known = std::any_of(out.records.begin(), out.records.end(),
                                   [&](const auto& record) { return record.name == host.name; });
    if (!host.wanted && known) leaving.push_back(host.name);
    if (sleep_concerns(host) && known) sleeping.push_back(host.name);
  }
  if (!sleeping.empty()) {
    const auto ask = node_jobs_command(sleeping);
    out.sleepers = parse_node_jobs(co_await command(place, ask));
  }
  if (leaving.empty()) co_return out;
  const auto list = jobs_command(leaving);
  out.jobs = parse_jobs(co_await command(place, list));
  co_return out;
}

/// The pools one by one, as each has nodes and wishes of its own.
awaitable<void> MemberController::look_after(tables::Row<model::Cluster> cluster) {
  const auto* tables = co_await server_.read();
  const auto controller = controller_of(*tables, cluster->name);
  std::map<std::string, Rows> by_pool;
  std::vector<std::string> forgotten;
  for (const auto& host : tables->hosts(cluster->name)) {
    const auto* pool = cluster->find_pool(host->pool);
    const bool has_row = tables::find_record<SlurmMember>(*tables, host->cluster + "/" + host->name).has_value();
    const bool of_ours = pool != nullptr && pool->slurm;
    if (has_row && !of_ours && !goes(*host))
      forgotten.push_back(host->name);  // Slurm's configuration has it from now on
    else if ((of_ours && !goes(*host)) || has_row)
      by_pool[host->pool].push_back(host);
  }
  for (const auto& pool : cluster->pools) {
    if (pool.slurm) by_pool.try_emplace(pool.name);  // nodes of hosts that are not there are looked after, too
  }
  NoteMembers request{cluster->name, {}, std::move(forgotten)};
  if (!request.forgotten.empty()) co_await server_.apply(std::move(request));
  std::optional<Error> failure;
  for (const auto& [name, rows] : by_pool) {
    const auto* found = cluster->find_pool(name);
    const bool declared = found != nullptr && found->slurm;
    const model::Pool pool = declared ? *found : model::Pool{.name = name};
    MembershipPlan plan;
    std::vector<MemberHost> hosts;
    try {
      std::string version;
      if (controller.place && declared) version = co_await version_of(*controller.place, pool);
      hosts = co_await look_at_hosts(pool, rows, std::move(version));
      if (!controller.place) {
        plan = controller.declared ? plan_without_slurm(cluster->name, hosts, "slurmctld does not run",
                                                        unix_nanos(server_.clock().now()))
                                   : plan_where_no_slurm_is(cluster->name, hosts, unix_nanos(server_.clock().now()));
      } else {
        const auto slurm = co_await ask_slurm(*controller.place, hosts);
        const auto now = unix_nanos(server_.clock().now());
        const auto elsewhere = hosts_elsewhere(*co_await server_.read(), cluster->name, name);
        auto think = [&] {
          plan = plan_members(declared ? &pool : nullptr, cluster->name, hosts, slurm, now, elsewhere);
        };
        co_await async::on_pool(pool_, think);
        co_await carry_out(*controller.place, plan, hosts);
      }
    } catch (const Error& error) {
      if (hosts.empty()) throw;
      plan = plan_without_slurm(cluster->name, hosts, error.one_line(), unix_nanos(server_.clock().now()));
      if (!failure) failure = error;
    }
    settled_ = settled_ && plan.settled;
    co_await note(cluster->name, std::move(plan));
  }
  if (failure) throw std::move(*failure);
}

awaitable<std::string> MemberController::version_of(Place place, model::Pool pool) {
  if (pool.slurm->configuration.empty()) co_return "";
  const auto words = version_command(*pool.slurm);
  co_return std::string(trim(co_await command(std::move(place), words)));
}

bool MemberController::is_due(const Seen& seen, const MemberHost& host, std::int64_t agent_start) const {
  const bool same = seen.node_id == host.node_id && seen.agent_start == agent_start && seen.report;
  const bool rests =
      same && host.known && host.known->status == SlurmMembership::admitted && host.known->description.empty();
  return !rests || Clock::now() - seen.at >= options_.recheck;
}

awaitable<std::vector<MemberHost>> MemberController::look_at_hosts(model::Pool pool, Rows rows, std::string version) {
  constexpr std::size_t kTogether = 100;
  const auto* tables = co_await server_.read();
  std::vector<MemberHost> out;
  std::vector<std::pair<std::string, std::string>> looks;  // key, node
  std::map<std::string, std::vector<std::string>> in_tables;
  for (const auto& row : rows) {
    const auto key = row->cluster + "/" + row->name;
    auto host = member_host(*tables, *row);
    const auto node = host.node_id.empty() ? nullptr : tables->find_node(host.node_id);
    // Who sleeps is not asked, and who wakes is, also when it is to go: its jobs go on when its agent is heard of.
    const bool can_answer = host.runs && !host.to_sleep && !host.asleep;
    if ((host.wanted || sleep_concerns(host)) && can_answer && node) {
      auto& seen = seen_[key];
      if (node->silent()) {
        seen = Seen{.node_id = host.node_id, .unseen = "its agent does not answer"};
      } else if (is_due(seen, host, node->last_start)) {
        seen = Seen{.node_id = host.node_id, .agent_start = node->last_start, .at = Clock::now()};
        looks.emplace_back(key, host.node_id);
      }
      in_tables[key] = reasons_in_tables(*tables, host.node_id);
    }
    out.push_back(std::move(host));
  }
  const auto words = look_command(pool.slurm.value_or(model::SlurmJoin{}));
  for (std::size_t i = 0; i < looks.size(); i += kTogether) {
    async::TaskGroup together(executor_, "looks at hosts");
    for (std::size_t k = i; k < std::min(i + kTogether, looks.size()); ++k)
      together.spawn(looks[k].first, look_at_host(looks[k].first, looks[k].second, words));
    co_await together.wait();
  }
  const auto wanted = wanted_of(pool, version);
  for (auto& host : out) {
    const auto key = rows.front()->cluster + "/" + host.name;
    const auto at = seen_.find(key);
    if (!in_tables.contains(key) || at == seen_.end()) continue;
    host.unseen = at->second.unseen;
    host.gate_open = at->second.gate_open;
    host.boot = at->second.boot;
    if (!at->second.report) continue;
    host.reasons = judge(*at->second.report, wanted);
    const auto& more = in_tables[key];
    host.reasons->insert(host.reasons->end(), more.begin(), more.end());
  }
  co_return out;
}

awaitable<void> MemberController::look_at_host(std::string key, std::string node_id, std::vector<std::string> words) {
  Seen seen = seen_[key];
  try {
    const auto asked = server_.clock().now();
    const auto text = co_await async::within(options_.look_patience, "a look at the host",
                                             run_on_host(server_, std::move(node_id), std::move(words)));
    auto look = parse_look(text, asked, server_.clock().now());
    seen.report = std::move(look.report);
    seen.gate_open = look.admitted;
    seen.boot = std::move(look.boot);
  } catch (const Error& error) {
    seen.unseen = error.one_line();
  }
  seen_[key] = std::move(seen);
}

awaitable<void> MemberController::open_gate(std::string node_id, std::string& failure) {
  try {
    co_await async::within(options_.look_patience, "letting slurmd start",
                           run_on_host(server_, std::move(node_id), open_command()));
  } catch (const Error& error) {
    failure = error.one_line();
  }
}

/// A host has its row before Slurm is told of it, so that it is not stopped unseen in between.
awaitable<void> MemberController::carry_out(Place place, MembershipPlan& plan, const std::vector<MemberHost>& hosts) {
  constexpr auto kRegisters = std::chrono::minutes(1);
  MembershipPlan first;
  for (const auto& host : hosts) {
    if (host.known || !host.wanted) continue;
    auto& member = first.members[host.name] = plan.members[host.name];
    member.status = SlurmMembership::waits;
    member.admitted_at = 0;
  }
  if (!first.members.empty()) {
    const auto cluster = first.members.begin()->second.cluster;
    co_await note(cluster, std::move(first));
  }
  for (const auto& text : plan.told) log::warn("slurm: {}", text);
  for (const auto& words : plan.commands) co_await command(place, words);
  std::map<std::string, std::string> node_of;
  for (const auto& host : hosts) node_of[host.name] = host.node_id;
  std::map<std::string, std::string> failures;
  async::TaskGroup together(executor_, "gates of hosts");
  for (const auto& host : plan.open) together.spawn(host, open_gate(node_of[host], failures[host]));
  co_await together.wait();
  for (const auto& [host, failure] : failures) {
    auto& member = plan.members[host];
    // To be seen again: whether it is open, and what there is by then.
    seen_.erase(member.cluster + "/" + host);
    if (failure.empty()) continue;
    member.status = SlurmMembership::waits;
    member.description = "its slurmd cannot be let start: " + failure;
  }
  for (const auto& [host, why] : plan.restart) {
    auto& at = restarted_at_[node_of[host]];
    if (at != Clock::time_point{} && Clock::now() - at < kRegisters) continue;
    at = Clock::now();
    log::warn("slurm: {}", why);
    const auto again = restart_command();
    co_await async::within(options_.look_patience, "restarting slurmd", run_on_host(server_, node_of[host], again));
  }
}

awaitable<void> MemberController::note(std::string cluster, MembershipPlan plan) {
  NoteMembers request{std::move(cluster), {}, {}};
  for (auto& [name, member] : plan.members) request.members.push_back(std::move(member));
  if (!request.members.empty()) co_await server_.apply(std::move(request));
}

}  // namespace underway::slurm
