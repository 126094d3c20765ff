// The conversation with the server while a link lasts: present ourselves, stay alive, tell what became of allocations.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "node/detail/node_impl.hpp"
#include "node/fingerprint/loop_metrics.hpp"

namespace underway::node {

link::Handlers Node::Impl::handlers() {
  link::Handlers handlers;
  handlers.call = [this](std::string method, boost::json::value body) {
    return answer(std::move(method), std::move(body));
  };
  handlers.notify = [this](std::string method, boost::json::value body) {
    if (method == "renew") membership_->renew_now();
    try {
      if (method == "allocations") obey(json::decode<protocol::AllocationsMessage>(body, "allocations"));
      if (method == "template.data") server_data_.learn(json::decode<protocol::DataMessage>(body, "data"));
    } catch (const Error& error) {
      log::error("node: orders of the server cannot be read: {}; linking again", error.one_line());
      if (const auto connection = connection_.lock()) connection->abort();
    }
  };
  handlers.stream = [this](std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream) {
    return serve(std::move(method), std::move(header), std::move(stream));
  };
  return handlers;
}

void Node::Impl::open_membership() {
  trust::MembershipOptions options;
  options.directory = options_.data_dir + "/tls";
  options.region = options_.region;
  options.node_id = identity_.id;
  options.secret = identity_.secret;
  options.name = self_.name;
  options.pool = self_.node_pool;
  options.token = options_.join_token ? options_.join_token : trust::token_in({});
  options.authorities_file = options_.authorities_file;
  options.given = options_.tls_files;
  membership_ = std::make_unique<trust::Membership>(std::move(options), loop_.executor(), clock_);
}

namespace {

/// Shorter than the silence after which a node is down: it sends no heartbeats meanwhile.
constexpr Duration kRenewalPatience = std::chrono::seconds(3);
constexpr Duration kLookAgain = std::chrono::minutes(1);

trust::Membership::Ask asking(std::shared_ptr<link::Connection> link) {
  return [link](trust::CertificateRequest request) -> awaitable<trust::Certified> {
    const auto answer = co_await link->call("certificate", json::to_value(request), kRenewalPatience);
    co_return json::decode<trust::Certified>(answer, "certificate");
  };
}

}  // namespace

awaitable<void> Node::Impl::session(std::shared_ptr<link::Connection> connection) {
  struct Linked {
    Impl& node;
    bool told = false;  ///< the extensions
    ~Linked() {
      node.stats_.linked = false;
      if (!node.unlinked_since_) node.unlinked_since_ = std::chrono::steady_clock::now();
      node.link_changed_.notify_all();
      if (told)
        for (const auto& extension : node.options_.extensions) extension->unlinked();
    }
  } linked{*this};
  connection_ = connection;
  const auto reply = co_await present(*connection);
  stats_.linked = true;
  unlinked_since_.reset();
  stats_.last_heartbeat = runtime_.now();
  server_data_.linked(connection);
  linked.told = true;
  for (const auto& extension : options_.extensions) extension->linked();
  log::info("node: linked as {} ({})", self_.name, reply.node_id.substr(0, 8));

  // Half the time that the server waits, and no more often than every second whatever it says.
  const Duration beat = std::max<Duration>(reply.heartbeat_ttl / 2, std::chrono::seconds{1});
  auto next_beat = async::deadline_in(beat);
  while (true) {
    // First: a task waits for it.
    if (server_data_.has_untold()) {
      co_await server_data_.tell(*connection);
      continue;
    }
    if (has_news()) {
      // What happens together is told together, unless somebody waits to hear it.
      const auto together = async::deadline_in(std::chrono::milliseconds{40});
      while (!has_urgent_news() && std::chrono::steady_clock::now() < together) co_await news_.wait_until(together);
      co_await send_updates(*connection);
      continue;
    }
    if (unpresented_) {
      co_await present(*connection);
      continue;
    }
    if (membership_->renewal_due()) co_await membership_->renew(asking(connection));
    if (std::chrono::steady_clock::now() >= next_beat) {
      co_await connection->notify("heartbeat",
                                  json::to_value(protocol::Heartbeat{troubles_of(loops_)}, json::Encoding::compact));
      stats_.last_heartbeat = runtime_.now();
      next_beat = async::deadline_in(beat);
      continue;
    }
    co_await news_.wait_until(next_beat);
  }
}

awaitable<protocol::RegisterReply> Node::Impl::present(link::Connection& connection) {
  unpresented_ = false;
  protocol::RegisterRequest request{self_, identity_.secret, {}};
  for (const auto& [key, value] : more_attributes_) request.node.attributes[key] = value;
  for (const auto& [name, volume] : lent_) request.node.volumes[name] = volume;
  request.node.meta = metadata_.now().meta;
  request.node.computed_class = model::compute_class(request.node);
  for (const auto& [id, runner] : runners_)
    if (!runner->dead()) request.allocations.push_back(runner->update());
  request.ordered = ordered();
  auto body = json::to_value(request, json::Encoding::compact);
  const auto answer = co_await connection.call("register", std::move(body));
  co_return json::decode<protocol::RegisterReply>(answer, "register");
}

async::LoopPlan Node::Impl::attributes_loop() {
  return {.area = "node",
          .name = "attributes of the machine",
          .trouble = "what changes about the machine is not told to the server",
          .wait = [] { return async::sleep_for(kLookAgain); },
          .reconcile = [this] { return look_again(); },
          .retry = async::RetryPolicy::up_to(kLookAgain)};
}

awaitable<void> Node::Impl::look_again() {
  model::StringMap found;
  std::vector<model::NodeDeviceGroup> devices;
  const auto look = [this, &found, &devices] {
    if (options_.more_attributes) found = options_.more_attributes();
    devices = find_devices();
  };
  co_await blocking(runtime_, look);
  if (found == more_attributes_ && json::encode(devices) == json::encode(self_.resources.devices)) co_return;
  more_attributes_ = std::move(found);
  // Of self_ these alone change: they are read on the loop only.
  self_.resources.devices = std::move(devices);
  unpresented_ = true;
  news_.notify_all();
}

/// Blocks: yes.
std::vector<model::NodeDeviceGroup> Node::Impl::find_devices() {
  auto devices = find_configured(options_.devices);
  if (!nvidia_) return devices;
  for (auto& group : nvidia_->find()) devices.push_back(std::move(group));
  return devices;
}

bool Node::Impl::has_news() const {
  return !notices_.empty() || std::ranges::any_of(runners_, [](const auto& entry) { return entry.second->unreported; });
}

bool Node::Impl::has_urgent_news() const {
  return std::ranges::any_of(runners_, [](const auto& entry) {
    return entry.second->unreported && (entry.second->guarded() || entry.second->stands_still());
  });
}

awaitable<void> Node::Impl::send_updates(link::Connection& connection) {
  protocol::UpdateRequest request;
  std::vector<std::string> ids;
  for (const auto& [id, runner] : runners_) {
    if (!runner->unreported) continue;
    runner->unreported = false;
    ids.push_back(id);
    request.updates.push_back(runner->update());
  }
  std::vector<std::string> notices;
  for (const auto& [id, notice] : notices_) {
    notices.push_back(id);
    request.updates.push_back(notice);
  }
  if (request.updates.empty()) co_return;
  std::exception_ptr failure;
  try {
    auto body = json::to_value(request, json::Encoding::compact);
    co_await connection.call("update", std::move(body));
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    // Not known to have arrived: told again over the next link.
    for (const auto& id : ids)
      if (const auto it = runners_.find(id); it != runners_.end()) it->second->unreported = true;
    std::rethrow_exception(failure);
  }
  stats_.last_heartbeat = runtime_.now();
  for (const auto& id : notices) notices_.erase(id);
}

}  // namespace underway::node
