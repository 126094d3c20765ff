// What a Server does without being asked: heartbeats, drains, losses, deadlines, collection.
#include "base/log.hpp"
#include "server/detail/links.hpp"
#include "server/job/deployment_decisions.hpp"

namespace underway::server {

async::awaitable<void> Server::heartbeats() {
  const Duration patience = options_.heartbeat_ttl + options_.heartbeat_grace;
  const Duration pause = std::clamp<Duration>(patience / 8, std::chrono::milliseconds(5), std::chrono::seconds(1));
  while (true) {
    const auto before = std::chrono::steady_clock::now();
    co_await async::sleep_for(pause);
    const auto now = std::chrono::steady_clock::now();
    if (options_.follow_clock) writer_.look_at_clock(now);
    const Duration late = now - before - pause;
    if (late > pause) forgive(late);
    end_silent_sessions(now - patience);
    end_expired_sessions();
    std::vector<std::string> down;
    for (const auto& [id, until] : links_->silent_since) {
      if (now >= until) down.push_back(id);
    }
    for (const auto& id : down) links_->silent_since.erase(id);
    if (!down.empty()) co_await mark_down(std::move(down));
  }
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
    if (session->papers && clock_.now() >= session->papers->until) over.push_back(session);
  }
  for (const auto& session : over) {
    log::warn("server: the certificate of node {} expired at {} and was not renewed; its link is ended",
              session->node_id.substr(0, 8), format_time(session->papers->until));
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
  try {
    MarkNodesDown down{node_ids, "no heartbeat was heard in time", {}};
    down.is_heard = [this](const std::string& id) { return links_->sessions.contains(id); };
    const auto lost = co_await apply(std::move(down));
    for (const auto& name : lost) log::warn("server: node {} is down: no heartbeat in time", name);
  } catch (const Error& error) {
    for (const auto& id : node_ids) links_->silent_since[id] = async::deadline_in(std::chrono::seconds(1));
    log::error("server: {} nodes cannot be marked down, trying again in 1 s: {}", node_ids.size(), error.one_line());
  }
}

/// Drains, and nodes that are not heard of: looked at when something about them changed, or a deadline has passed.
async::awaitable<void> Server::tending() {
  // What happens together is seen to together.
  constexpr auto kPause = std::chrono::milliseconds(50);
  while (true) {
    const auto* tables = co_await read();
    const auto deadline = next_drain_deadline(*tables, clock_.now());
    if (!links_->needs_care) {
      const auto until = deadline ? async::deadline_in(*deadline - clock_.now()) : async::kNever;
      co_await links_->care.wait_until(until);
    }
    co_await async::sleep_for(kPause);
    links_->needs_care = false;
    std::vector<std::string> silent(links_->disconnected.begin(), links_->disconnected.end());
    co_await tend(std::move(silent));
  }
}

async::awaitable<void> Server::tend(std::vector<std::string> silent_nodes) {
  std::optional<std::string> failure;
  try {
    co_await apply(AdvanceDrains{});
    GiveNodesUp losses{silent_nodes};
    co_await apply(std::move(losses));
  } catch (const Error& error) {
    failure = error.one_line();
  }
  if (!failure) co_return;
  log::error("server: drains cannot go on, trying again in 1 s: {}", *failure);
  co_await async::sleep_for(std::chrono::seconds(1));
  links_->needs_care = true;
}

async::awaitable<void> Server::collection() {
  while (true) {
    co_await async::sleep_for(options_.collect_every);
    try {
      co_await apply(Collect{options_.retention});
    } catch (const Error& error) {
      log::error("server: nothing was collected, trying again in {}: {}", human_duration(options_.collect_every),
                 error.one_line());
    }
  }
}

/// A deadline is minutes away when it is set, so that a look every second is soon enough.
async::awaitable<void> Server::watch_deployments() {
  bool was_away = true;
  while (true) {
    co_await async::sleep_for(std::chrono::seconds(1));
    const auto due = next_deployment_deadline(*co_await read());
    if (!was_away && (!due || *due > unix_nanos(clock_.now()))) continue;
    try {
      if (was_away) {
        co_await apply(RenewDeploymentDeadlines{});
        was_away = false;
        continue;
      }
      for (const auto& id : co_await apply(EnforceDeploymentDeadlines{}))
        log::warn("server: deployment {} made no progress in time and has failed", id.substr(0, 8));
    } catch (const Error& error) {
      log::error("server: deployments are not looked after, trying again in 1 s: {}", error.one_line());
    }
  }
}

}  // namespace underway::server
