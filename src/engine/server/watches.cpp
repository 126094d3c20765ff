// What a Server does without being asked: heartbeats, drains, losses, deadlines, collection.
#include "base/log.hpp"
#include "server/detail/links.hpp"
#include "server/job/deployment_decisions.hpp"

namespace underway::server {

async::LoopPlan Server::heartbeats_loop() {
  return {.area = "server",
          .name = "heartbeats",
          .trouble = "silent nodes are not declared down",
          .wait = [this] { return wait_for_beat(); },
          .reconcile = [this] { return listen(); }};
}

async::LoopPlan Server::collection_loop() {
  return {.area = "server",
          .name = "collection",
          .trouble = "what is over and done with is not collected",
          .wait = [this] { return async::sleep_for(options_.collect_every); },
          .reconcile = [this] { return collect_what_is_over(); },
          .retry = async::RetryPolicy::up_to(options_.collect_every)};
}

async::LoopPlan Server::drains_loop() {
  return {.area = "server",
          .name = "drains",
          .trouble = "drains and losses of nodes do not go on",
          .wait = [this] { return wait_for_care(); },
          .reconcile = [this] { return look_after_drains_and_losses(); }};
}

async::LoopPlan Server::deployments_loop() {
  FollowerOptions options;
  options.scopes = [](const Tables&) { return std::vector<tables::Scope>{{tables::Topic::deployments, ""}}; };
  options.due = [](const Tables& tables) -> std::optional<TimePoint> {
    const auto due = next_deployment_deadline(tables);
    if (!due) return std::nullopt;
    return from_unix_nanos(*due);
  };
  // A deadline is minutes away when it is set.
  options.gather = std::chrono::seconds(1);
  const auto follower = std::make_shared<Follower>(follow(std::move(options)));
  return {.area = "server",
          .name = "deployments",
          .trouble = "deployments that make no progress do not fail",
          .wait = [follower] { return follower->wait_until_due(); },
          .reconcile = [this] { return look_after_deployments(); }};
}

async::awaitable<void> Server::collect_what_is_over() { co_await apply(Collect{options_.retention}); }

Duration Server::beat() const {
  const Duration patience = options_.heartbeat_ttl + options_.heartbeat_grace;
  return std::clamp<Duration>(patience / 8, std::chrono::milliseconds(5), std::chrono::seconds(1));
}

async::awaitable<void> Server::wait_for_beat() {
  const Duration pause = beat();
  const auto before = async::LoopClock::now();
  co_await async::sleep_for(pause);
  const auto now = async::LoopClock::now();
  if (options_.follow_clock) writer_.look_at_clock(now);
  const Duration late = now - before - pause;
  if (late > pause) forgive(late);
}

async::awaitable<void> Server::listen() {
  const auto now = async::LoopClock::now();
  end_silent_sessions(now - options_.heartbeat_ttl - options_.heartbeat_grace);
  end_expired_sessions();
  std::vector<std::string> down;
  for (const auto& [id, until] : links_->silent_since) {
    if (now >= until) down.push_back(id);
  }
  if (down.empty()) co_return;
  co_await mark_down(down);
  std::erase_if(links_->silent_since, [&](const auto& silent) { return now >= silent.second; });
}

/// We were held up ourselves (a suspended machine, a slow disk), and heard nobody meanwhile: that is not their silence.
void Server::forgive(Duration span) {
  log::warn("server: was held up for {}, the nodes are given that time", human_duration(span));
  for (auto& [id, session] : links_->sessions) session->heard += span;
  for (auto& [id, until] : links_->silent_since) until += span;
}

/// A certificate that is not renewed in time ends the link that it opened: else its end would mean nothing for a node
/// that stays linked.
void Server::end_expired_sessions() {
  std::vector<std::shared_ptr<Session>> over;
  for (const auto& [id, session] : links_->sessions) {
    if (session->peer && clock_.now() >= session->peer->until) over.push_back(session);
  }
  for (const auto& session : over) {
    log::warn("server: the certificate of node {} expired at {} and was not renewed; its link is ended",
              session->node_id.substr(0, 8), format_time(session->peer->until));
    session->connection->abort();
    end_session(*session);
  }
}

void Server::end_silent_sessions(async::SteadyTime heard_before) {
  std::vector<std::shared_ptr<Session>> over;
  for (const auto& [id, session] : links_->sessions) {
    // A link that says nothing is as good as none: a half-open connection can stand for minutes. And a node that was
    // declared down just as it linked again has to register once more.
    const auto node = tables_.find_node(id);
    const bool ready = node && node->status == model::NodeStatus::ready;
    if (session->heard < heard_before || !ready) over.push_back(session);
  }
  for (const auto& session : over) {
    session->connection->abort();
    end_session(*session);
  }
}

/// All of them at once: when a switch fails, a thousand nodes fall silent together.
async::awaitable<void> Server::mark_down(std::vector<std::string> node_ids) {
  MarkNodesDown down{node_ids, "no heartbeat was heard in time", {}};
  down.is_heard = [this](const std::string& id) { return links_->sessions.contains(id); };
  const auto lost = co_await apply(std::move(down));
  for (const auto& name : lost) log::warn("server: node {} is down: no heartbeat in time", name);
}

/// Drains, and nodes that are not heard of: looked at when something about them changed, or a deadline has passed.
async::awaitable<void> Server::wait_for_care() {
  // What happens together is seen to together.
  constexpr auto kPause = std::chrono::milliseconds(50);
  const auto* tables = co_await read();
  const auto deadline = next_drain_deadline(*tables, clock_.now());
  if (!links_->needs_care) {
    const auto until = deadline ? async::deadline_in(*deadline - clock_.now()) : async::kNever;
    co_await links_->care.wait_until(until);
  }
  co_await async::sleep_for(kPause);
}

async::awaitable<void> Server::look_after_drains_and_losses() {
  links_->needs_care = false;
  std::vector<std::string> silent_nodes(links_->disconnected.begin(), links_->disconnected.end());
  co_await apply(AdvanceDrains{});
  GiveNodesUp losses{std::move(silent_nodes)};
  co_await apply(std::move(losses));
}

async::awaitable<void> Server::look_after_deployments() {
  if (!deployments_seen_) {
    co_await apply(RenewDeploymentDeadlines{});
    deployments_seen_ = true;
    co_return;
  }
  for (const auto& id : co_await apply(EnforceDeploymentDeadlines{}))
    log::warn("server: deployment {} made no progress in time and has failed", id.substr(0, 8));
}

}  // namespace underway::server
