#include "slurm/drain.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "slurm/commands.hpp"
#include "slurm/hostlist.hpp"

namespace underway::slurm {

using model::SlurmDrainStatus;

DrainVerdict decide_slurm_drain(const model::Node& node, const std::vector<NodeState>& nodes) {
  if (!node.slurm_drain) return {};
  DrainVerdict verdict;
  const auto pick = [&](DrainStep step, auto matches) {
    verdict.step = step;
    for (const auto& state : nodes) {
      if (matches(state)) verdict.names.push_back(state.name);
    }
    return !verdict.names.empty();
  };
  if (!node.drain) {
    // Ineligible: whoever keeps it so wants no Slurm jobs there either.
    if (node.eligibility != model::Eligibility::eligible) return {};
    const auto ours = [](const NodeState& state) { return state.held() && state.reason.starts_with("underway"); };
    if (!pick(DrainStep::hand_back, ours)) verdict.step = DrainStep::forget;
    return verdict;
  }
  if (node.slurm_drain->status == SlurmDrainStatus::drained) return {};
  if (pick(DrainStep::tell, [](const NodeState& state) { return !state.held(); })) return verdict;
  if (pick(DrainStep::wait, [](const NodeState& state) { return !state.empty(); })) return verdict;
  verdict.step = DrainStep::release;
  return verdict;
}

std::string waiting_text(const std::vector<std::string>& names,
                         const std::map<std::string, std::vector<std::string>>& jobs) {
  constexpr std::size_t kNamed = 5;
  std::set<std::string> ids;
  for (const auto& name : names) {
    if (const auto it = jobs.find(name); it != jobs.end()) ids.insert(it->second.begin(), it->second.end());
  }
  const std::string where = fold_hosts(names);
  if (ids.empty()) return fmt::format("waits for Slurm to empty {}", where);
  std::vector<std::string> named(ids.begin(),
                                 std::next(ids.begin(), static_cast<std::ptrdiff_t>(std::min(kNamed, ids.size()))));
  if (ids.size() > kNamed) named.emplace_back("…");
  return fmt::format("waits for {} Slurm job{} on {} ({})", ids.size(), ids.size() == 1 ? "" : "s", where,
                     join(named, ", "));
}

tables::Row<model::Allocation> controller_for(const tables::Tables& tables, const model::Node& node) {
  tables::Row<model::Allocation> found;
  for (const auto& job : tables.jobs()) {
    if (job->stop) continue;
    const bool near = job->cluster == node.cluster;
    if (found && !near) continue;
    for (const auto& allocation : tables.allocations_of_job(job->ns, job->id)) {
      const bool runs = allocation->client_status == model::ClientStatus::running && !allocation->terminal();
      if (!runs || !find_slurmctld(allocation)) continue;
      if (near) return allocation;
      found = allocation;
    }
  }
  return found;
}

namespace {

/// Those that Slurm has to be asked about.
std::vector<tables::Row<model::Node>> concerned(const tables::Tables& tables) {
  std::vector<tables::Row<model::Node>> nodes;
  for (const auto& node : tables.nodes()) {
    if (node->slurm_drain) nodes.push_back(node);
  }
  const bool busy = std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
    return node->drain ? node->slurm_drain->status != SlurmDrainStatus::drained
                       : node->eligibility == model::Eligibility::eligible;
  });
  if (!busy) nodes.clear();
  return nodes;
}

server::FollowerOptions what_drains_follow(const DrainController::Options& options) {
  server::FollowerOptions out;
  out.scopes = [](const tables::Tables&) { return std::vector<tables::Scope>{{tables::Topic::nodes, ""}}; };
  out.again = [poll = options.poll](const tables::Tables& tables) {
    return concerned(tables).empty() ? std::nullopt : std::optional(poll);
  };
  // Changes of nodes come in bursts; Slurm need not be asked for each.
  out.gather = std::min<Duration>(options.poll, std::chrono::milliseconds(500));
  return out;
}

}  // namespace

DrainController::DrainController(server::Server& server, async::Executor executor, Options options)
    : server_(server),
      options_(options),
      follower_(server.follow(what_drains_follow(options))),
      tasks_(std::move(executor), "drains of Slurm nodes") {}

void DrainController::start() {
  server_.loops().start(tasks_, {.area = "slurm",
                                 .name = "drains of Slurm nodes",
                                 .trouble = "drains of Slurm nodes do not go on",
                                 .wait = [this] { return wait_for_drains(); },
                                 .reconcile = [this] { return reconcile(); },
                                 .retry = async::RetryPolicy::up_to(options_.poll),
                                 .patience = std::chrono::minutes(10)});
}

async::awaitable<void> DrainController::stop() { co_await tasks_.stop(); }

/// While no drain waits for Slurm there is nothing to gather: the first is looked after at once.
async::awaitable<void> DrainController::wait_for_drains() {
  co_await follower_.wait_for_news();
  while (concerned(server_.writer().tables()).empty()) co_await follower_.wait_for_news();
}

/// Nodes of one cluster have one slurmctld: it is asked for all of them together.
async::awaitable<void> DrainController::reconcile() {
  const auto* tables = co_await server_.read();
  const Nodes nodes = concerned(*tables);
  std::map<std::string, std::pair<tables::Row<model::Allocation>, Nodes>> by_controller;
  for (const auto& node : nodes) {
    const auto controller = controller_for(*tables, *node);
    auto& entry = by_controller[controller ? controller->id : std::string()];
    entry.first = controller;
    entry.second.push_back(node);
  }
  for (const auto& [id, entry] : by_controller) {
    std::optional<std::string> failure;
    if (!entry.first) {
      failure = "no allocation with a task 'slurmctld' runs";
    } else {
      try {
        co_await reconcile_with(entry.first, entry.second);
      } catch (const Error& error) {
        failure = error.one_line();
      }
    }
    if (failure) co_await record_failure(entry.second, *failure);
  }
}

async::awaitable<void> DrainController::reconcile_with(tables::Row<model::Allocation> controller, Nodes nodes) {
  const auto list = nodes_command();
  std::map<std::string, std::vector<NodeState>> by_host;
  for (auto& state : parse_nodes(co_await command(controller, list)))
    by_host[state.hostname].push_back(std::move(state));
  std::vector<std::string> tell, hand_back, waited_for;
  std::vector<std::pair<tables::Row<model::Node>, DrainVerdict>> verdicts;
  for (const auto& node : nodes) {
    const auto hostname = node->attributes.find("unique.hostname");
    auto verdict =
        decide_slurm_drain(*node, by_host[hostname == node->attributes.end() ? node->name : hostname->second]);
    auto* names = verdict.step == DrainStep::tell        ? &tell
                  : verdict.step == DrainStep::hand_back ? &hand_back
                  : verdict.step == DrainStep::wait      ? &waited_for
                                                         : nullptr;
    if (names != nullptr) names->insert(names->end(), verdict.names.begin(), verdict.names.end());
    verdicts.emplace_back(node, std::move(verdict));
  }
  std::map<std::string, std::vector<std::string>> jobs;
  if (!tell.empty()) {
    const auto words = drain_command(tell, kDrainReason);
    co_await command(controller, words);
  }
  if (!hand_back.empty()) {
    const auto words = resume_command(hand_back);
    co_await command(controller, words);
  }
  if (!waited_for.empty()) {
    const auto words = jobs_command(waited_for);
    jobs = parse_jobs(co_await command(controller, words));
  }
  for (const auto& [node, verdict] : verdicts) {
    switch (verdict.step) {
      case DrainStep::none:
        break;
      case DrainStep::tell:
        co_await record(node->id, SlurmDrainStatus::draining, "waits for Slurm to empty " + fold_hosts(verdict.names));
        break;
      case DrainStep::wait:
        co_await record(node->id, SlurmDrainStatus::draining, waiting_text(verdict.names, jobs));
        break;
      case DrainStep::release:
        co_await record(node->id, SlurmDrainStatus::drained, "");
        break;
      case DrainStep::hand_back:
      case DrainStep::forget:
        co_await record(node->id, std::nullopt, "");
    }
  }
}

async::awaitable<std::string> DrainController::command(tables::Row<model::Allocation> controller,
                                                       std::vector<std::string> words) {
  const std::string what = join(words, " ");
  auto place = find_slurmctld(controller);
  if (!place) throw Error(Code::unavailable, fmt::format("`{}` has no slurmctld to ask", what));
  co_return co_await async::within(options_.patience, "`" + what + "`",
                                   run_in_task(server_, std::move(*place), std::move(words)));
}

namespace {

/// How far Slurm is with the drain of a node; no status: it is over.
struct NoteSlurmDrain {
  std::string node_id;
  std::optional<SlurmDrainStatus> status;
  std::string description;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteSlurmDrain& request,
                                         const server::Context& context) {
  server::Decision<server::Nothing> decision;
  const auto current = tables.find_node(request.node_id);
  if (!current || !current->slurm_drain) return decision;
  // A new drain that began meanwhile has its own say.
  if (!request.status && current->drain) return decision;
  model::Node node = *current;
  if (request.status)
    node.slurm_drain = {*request.status, request.description, unix_nanos(context.now)};
  else
    node.slurm_drain.reset();
  const bool same = request.status && current->slurm_drain->status == *request.status &&
                    current->slurm_drain->description == request.description;
  if (!same) decision.changes.push_back(tables::PutNode{std::move(node)});
  return decision;
}

}  // namespace

async::awaitable<void> DrainController::record(std::string node_id, std::optional<SlurmDrainStatus> status,
                                               std::string description) {
  NoteSlurmDrain note{std::move(node_id), status, std::move(description)};
  co_await server_.apply(std::move(note));
}

async::awaitable<void> DrainController::record_failure(Nodes nodes, std::string why) {
  for (const auto& node : nodes) {
    const std::string then = !node->drain                       ? "it is handed back once that works"
                             : node->drain->force_deadline == 0 ? "the drain waits for it"
                                                                : "the drain goes on at its deadline";
    const std::string text = fmt::format("waits for Slurm, which cannot be asked: {}; {}", why, then);
    if (node->slurm_drain->description == text) continue;
    log::warn("slurm: the drain of node {} {}", node->name, text);
    co_await record(node->id, node->slurm_drain->status, text);
  }
}

}  // namespace underway::slurm
