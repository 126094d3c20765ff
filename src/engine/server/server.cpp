#include "server/server.hpp"

#include <list>
#include <set>
#include <unordered_map>

#include "base/json.hpp"
#include "base/log.hpp"
#include "server/data_feed.hpp"
#include "server/dependencies.hpp"
#include "server/deployment_decisions.hpp"
#include "server/identities.hpp"
#include "server/orders.hpp"
#include "trust/join_token.hpp"

namespace underway::server {

namespace {

async::awaitable<void> ask_to_renew(std::shared_ptr<link::Connection> connection) {
  try {
    co_await connection->notify("renew", boost::json::object{});
  } catch (const Error&) {  // the link ends: the node renews when it is linked again
  }
}

}  // namespace

/// One linked node.
struct Server::Session {
  std::string node_id;
  std::shared_ptr<link::Connection> connection;
  Orders orders;
  async::SteadyTime heard;         ///< last sign of life
  async::Event something_to_send;  ///< the sender waits for it
  bool dirty = true;
  std::optional<trust::LinkIdentity> papers;  ///< what its certificate says
  DataFeed data;            ///< of its templates
  async::Event data_needs;  ///< they have changed, or what they name has
  bool feeding = false;     ///< send_data goes on: nodes without needs cost nothing

  Session(std::string id, std::shared_ptr<link::Connection> link, const Variables& variables)
      : node_id(std::move(id)),
        connection(std::move(link)),
        orders(node_id),
        heard(std::chrono::steady_clock::now()),
        data(node_id, variables) {}
};

/// One connection of a node. The session is made by the node's first call; until then the connection has no name.
struct Server::Linked {
  std::weak_ptr<link::Connection> connection;
  std::optional<trust::LinkIdentity> papers;
  std::shared_ptr<Session> session;
};

/// Which nodes are linked, when the others were heard of, and whose allocations changed since the last commit.
struct Server::Links final : tables::Tables::Follower {
  explicit Links(Tables& t) : tables(t) {}

  void reset() override {
    draining.clear();
    disconnected.clear();
  }
  void node_changed(const tables::Row<model::Node>& before, const tables::Row<model::Node>& after) override {
    const auto& id = (after ? after : before)->id;
    keep(draining, id, after && after->drain);
    keep(disconnected, id, after && after->status == model::NodeStatus::disconnected);
  }
  void keep(std::set<std::string>& set, const std::string& id, bool is_in) {
    if (is_in) set.insert(id);
    needs_care |= is_in;
    if (!is_in) set.erase(id);
  }
  void allocation_changed(const tables::Row<model::Allocation>& before,
                          const tables::Row<model::Allocation>& after) override {
    const auto& row = after ? after : before;
    dirty.insert(row->node_id);
    needs_care |= !draining.empty() || disconnected.contains(row->node_id);
    const bool health = (before && before->is_ready()) != (after && after->is_ready());
    const bool status = !before || !after || before->client_status != after->client_status;
    const bool ended = after && after->client_terminal() && !(before && before->client_terminal());
    if (health || status) changes.insert({row->ns, row->job_id, row->node_id, ended || !after});
    // Its replacement may wait for it to have ended.
    if (ended && !row->next_allocation.empty()) ended_with_successor.push_back(row->next_allocation);
  }

  Tables& tables;
  std::unordered_map<std::string, std::shared_ptr<Session>> sessions;  ///< by node id
  async::Event linked;                                                 ///< a session began
  std::unordered_map<std::string, async::SteadyTime> silent_since;     ///< ready nodes without a session
  std::set<std::string> dirty;
  std::set<Dependents::Event> changes;
  Dependents dependents;
  std::vector<std::string> ended_with_successor;
  std::set<std::string> draining, disconnected;  ///< ids of nodes
  bool needs_care = false;                       ///< one of them may be ready for its next step
  async::Event care;
};

Server::Server(async::Executor executor, store::Store& store, Clock& clock, IdSource& ids, Options options)
    : options_(std::move(options)),
      clock_(clock),
      executor_(executor),
      fleet_(std::make_unique<scheduler::Fleet>()),
      links_(std::make_unique<Links>(tables_)),
      writer_((tables_.follow(fleet_.get()), tables_.follow(links_.get()), executor), store, tables_, *fleet_, clock,
              ids),
      keyring_(options_.keyring_directory, options_.wrapping_key, clock.now()),
      variables_(writer_, keyring_, clock),
      tasks_(executor, "server"),
      started_at_(clock.now()) {
  writer_.on_durable([this] { send_differences(); });
  const auto grace = async::deadline_in(options_.start_grace);
  for (const auto& node : tables_.nodes()) {
    if (node->status == model::NodeStatus::ready) links_->silent_since[node->id] = grace;
  }
}

Server::~Server() = default;

void Server::start() {
  tasks_.spawn("heartbeats", heartbeats());
  tasks_.spawn("collection", collection());
  tasks_.spawn("drains", tending());
  tasks_.spawn("deployments", watch_deployments());
  tasks_.spawn("locks of variables", variables_.expire_locks());
}

async::awaitable<void> Server::stop() {
  for (const auto& [id, session] : links_->sessions) session->connection->abort();
  co_await tasks_.stop();
  co_await writer_.stop();
}

// --- requests
// A decision may run after its caller was cancelled, so it owns what it decides about.

async::awaitable<Registered> Server::register_job(RegisterJob request) {
  auto decide = [request = std::move(request)](const Tables& tables, const Context& context) {
    return decide_register(tables, request, context);
  };
  co_return co_await writer_.submit(std::move(decide));
}

async::awaitable<Registered> Server::deregister_job(DeregisterJob request) {
  auto decide = [request = std::move(request)](const Tables& tables, const Context& context) {
    return decide_deregister(tables, request, context);
  };
  co_return co_await writer_.submit(std::move(decide));
}

async::awaitable<Registered> Server::evaluate_job(std::string ns, std::string id) {
  auto decide = [ns = std::move(ns), id = std::move(id)](const Tables& tables, const Context& context) {
    return decide_evaluate(tables, ns, id, context);
  };
  co_return co_await writer_.submit(std::move(decide));
}

async::awaitable<AppliedCluster> Server::apply_cluster(ApplyCluster request) {
  const auto* state = co_await read();
  if (model::problems(request.cluster).empty())
    request.secrets = variables_.generate_missing(*state, request.cluster.secrets);
  auto decide = [request = std::move(request)](const Tables& tables, const Context& context) {
    return decide_apply_cluster(tables, request, context);
  };
  co_return co_await writer_.submit(std::move(decide));
}

async::awaitable<void> Server::stop_cluster(std::string name) {
  auto decide = [name = std::move(name)](const Tables& tables, const Context& context) {
    return decide_stop_cluster(tables, name, context);
  };
  co_await writer_.submit(std::move(decide));
}

async::awaitable<void> Server::set_eligibility(std::string node_id, model::Eligibility eligibility) {
  auto decide = [node_id = std::move(node_id), eligibility](const Tables& tables, const Context& context) {
    return decide_eligibility(tables, node_id, eligibility, context);
  };
  co_await writer_.submit(std::move(decide));
}

async::awaitable<void> Server::drain_node(DrainNode request) {
  auto decide = [request = std::move(request)](const Tables& tables, const Context& context) {
    return decide_drain(tables, request, context);
  };
  co_await writer_.submit(std::move(decide));
}

async::awaitable<void> Server::purge_node(std::string node_id) {
  auto decide = [node_id = std::move(node_id)](const Tables& tables, const Context& context) {
    return decide_purge_node(tables, node_id, context);
  };
  co_await writer_.submit(std::move(decide));
}

async::awaitable<std::string> Server::stop_allocation(std::string id) {
  auto decide = [id = std::move(id)](const Tables& tables, const Context& context) {
    return decide_stop_allocation(tables, id, context);
  };
  co_return co_await writer_.submit(std::move(decide));
}

async::awaitable<std::string> Server::create_join_token(NewJoinToken request) {
  auto decide = [request = std::move(request)](const Tables& tables, const Context& context) {
    return decide_create_join_token(tables, request, context);
  };
  co_return co_await writer_.submit(std::move(decide));
}

async::awaitable<void> Server::revoke_join_token(std::string id) {
  auto decide = [id = std::move(id)](const Tables& tables, const Context&) {
    return decide_revoke_join_token(tables, id);
  };
  co_await writer_.submit(std::move(decide));
}

async::awaitable<trust::Certified> Server::join(trust::JoinRequest request, std::string address) {
  if (!options_.certify) throw Error(Code::unsupported, "this server gives no certificates to nodes");
  const auto token = trust::parse_join_token(request.token);
  JoinAttempt attempt{.token_id = token.id,
                      .token_secret = std::string(token.secret.bytes()),
                      .node_id = request.node_id,
                      .node_secret = request.secret,
                      .name = request.name,
                      .pool = request.pool,
                      .key = crypto::request_key_digest(request.request),
                      .address = std::move(address)};
  // Signed before the token is used up, so that a request that cannot be signed costs nobody a token.
  const auto* tables = co_await read();
  const auto identity = decide_join(*tables, attempt, Context{clock_.now(), preview_ids_}).result;
  auto certified = options_.certify(identity, request.name, request.request);
  auto decide = [attempt = std::move(attempt)](const Tables& current, const Context& context) {
    return decide_join(current, attempt, context);
  };
  co_await writer_.submit(std::move(decide));
  log::info("server: node {} ({}) joined", request.name, request.node_id.substr(0, 8));
  co_return certified;
}

async::awaitable<Collected> Server::collect(Retention retention) {
  auto decide = [retention](const Tables& tables, const Context& context) {
    return decide_collect(tables, retention, context);
  };
  co_return co_await writer_.submit(std::move(decide));
}

async::awaitable<JobPlan> Server::plan_job(model::Job job) {
  const auto* tables = co_await read();
  co_return preview_job(*tables, *fleet_, std::move(job), Context{clock_.now(), preview_ids_, tables->revision() + 1});
}

// --- links

async::awaitable<void> Server::serve_link(std::shared_ptr<http::WebSocket> socket,
                                          std::optional<trust::LinkIdentity> papers) {
  const auto linked = std::make_shared<Linked>();
  linked->papers = std::move(papers);
  link::Handlers handlers;
  handlers.call = [this, linked](std::string method, boost::json::value body) -> async::awaitable<boost::json::value> {
    co_return co_await answer_node(*linked, std::move(method), std::move(body));
  };
  handlers.notify = [linked](std::string method, boost::json::value) {
    if (method == "heartbeat" && linked->session) linked->session->heard = std::chrono::steady_clock::now();
  };
  const auto connection =
      link::Connection::make(executor_, std::move(socket), link::Side::acceptor, std::move(handlers));
  linked->connection = connection;
  std::exception_ptr failure;
  try {
    co_await connection->run();
  } catch (...) {
    failure = std::current_exception();
  }
  const auto session = linked->session;
  if (session) end_session(*session);
  if (failure && !async::is_cancellation(failure)) {
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      log::info("server: the link of node {} ended: {}", session ? session->node_id.substr(0, 8) : "(unregistered)",
                error.one_line());
    }
  } else if (failure) {
    std::rethrow_exception(failure);
  }
}

void Server::end_session(Session& session) {
  const auto it = links_->sessions.find(session.node_id);
  if (it == links_->sessions.end() || it->second.get() != &session) return;  // a newer link took its place
  links_->silent_since[session.node_id] = session.heard + options_.heartbeat_ttl + options_.heartbeat_grace;
  it->second->something_to_send.notify_all();
  it->second->data_needs.notify_all();
  links_->sessions.erase(it);
}

async::awaitable<boost::json::value> Server::answer_node(Linked& linked, std::string method, boost::json::value body) {
  if (linked.session) linked.session->heard = std::chrono::steady_clock::now();
  if (method == "register") co_return co_await register_node(linked, std::move(body));
  const auto session = linked.session;
  if (!session) throw Error(Code::denied, "the node has to register first");
  if (method == "certificate") co_return renew_certificate(*session, body);
  if (method == "update") {
    auto request = json::decode<node::UpdateRequest>(body);
    auto decide = [node_id = session->node_id, request = std::move(request)](const Tables& tables,
                                                                             const Context& context) {
      return decide_allocation_updates(tables, node_id, request.updates, context);
    };
    co_await writer_.submit(std::move(decide));
    co_return boost::json::object{};
  }
  if (method == "template.watch") {
    session->data.watch(json::decode<node::WatchRequest>(body).needs);
    session->data_needs.notify_all();
    if (!std::exchange(session->feeding, true)) tasks_.spawn("data for templates", send_data(session));
    co_return boost::json::object{};
  }
  if (method == "identity.sign")
    co_return co_await sign_identity(session->node_id, json::decode<node::IdentityRequest>(body));
  throw Error(Code::unsupported, fmt::format("the server does not answer '{}'", method));
}

async::awaitable<boost::json::value> Server::register_node(Linked& linked, boost::json::value body) {
  auto& session = linked.session;
  const auto connection = linked.connection.lock();
  auto request = json::decode<node::RegisterRequest>(body);
  if (session && session->node_id != request.node.id)
    throw Error(Code::denied, "a link belongs to one node").because("it registered as another one before");
  if (linked.papers) check_identity(linked.papers->identity, request.node);
  const std::string name = request.node.name;
  auto decide = [request = std::move(request)](const Tables& tables, const Context& context) {
    return decide_register_node(tables, request.node, request.secret, context, request.allocations);
  };
  const auto registered = co_await writer_.submit(std::move(decide));
  // The link may have ended meanwhile, and the node may have a new one.
  if (!connection || !connection->is_open()) throw Error(Code::unavailable, "the link has ended");
  if (!session) {
    session = std::make_shared<Session>(registered.id, connection, variables_);
    session->papers = linked.papers;
    auto& slot = links_->sessions[registered.id];
    if (slot) {  // the node came back before its old link was known to be dead
      slot->connection->abort();
      slot->something_to_send.notify_all();
      slot->data_needs.notify_all();
    }
    slot = session;
    links_->silent_since.erase(registered.id);
    links_->linked.notify_all();
    tasks_.spawn("sending to node " + name, send_orders(session));
    log::info("server: node {} ({}) is linked", name, registered.id.substr(0, 8));
  }
  node::RegisterReply reply;
  reply.node_id = registered.id;
  reply.heartbeat_ttl = options_.heartbeat_ttl;
  co_return json::to_value(reply);
}

/// What the new certificate says is what the old one said: a node cannot become another one by renewing.
boost::json::value Server::renew_certificate(Session& session, const boost::json::value& body) {
  if (!session.papers || session.papers->identity.node_id.empty() || !options_.certify)
    throw Error(Code::unsupported, "this link has no certificate of this server");
  const auto request = json::decode<trust::CertificateRequest>(body);
  const auto node = tables_.find_node(session.node_id);
  const auto made = options_.certify(session.papers->identity, node ? node->name : session.node_id, request.request);
  session.papers->until = crypto::describe_certificate(made.certificate).not_after;
  return json::to_value(made);
}

void Server::ask_for_renewal() {
  for (const auto& [id, session] : links_->sessions) {
    if (session->papers) tasks_.spawn("asking for renewal", ask_to_renew(session->connection));
  }
}

async::awaitable<void> Server::send_orders(std::shared_ptr<Session> session) {
  const auto current = [&] {
    const auto it = links_->sessions.find(session->node_id);
    return it != links_->sessions.end() && it->second == session;
  };
  try {
    while (current()) {
      const auto* tables = co_await writer_.settled();
      session->dirty = false;
      if (const auto message = session->orders.next(*tables, links_->dependents)) {
        co_await session->connection->notify("allocations", json::to_value(*message, json::Encoding::compact));
      }
      while (current() && !session->dirty) co_await session->something_to_send.wait();
    }
  } catch (const Error& error) {
    session->connection->abort();  // what was sent is uncertain: the node links again and is told everything
    log::debug("server: sending to node {}: {}", session->node_id, error.one_line());
  }
}

async::awaitable<void> Server::send_data(std::shared_ptr<Session> session) {
  const auto current = [&] {
    const auto it = links_->sessions.find(session->node_id);
    return it != links_->sessions.end() && it->second == session;
  };
  try {
    while (current()) {
      const auto* tables = co_await writer_.settled();
      if (const auto message = session->data.next(*tables)) {
        const auto body = json::to_value(*message, json::Encoding::compact);
        co_await session->connection->notify("template.data", body);
      }
      if (session->data.outdated(tables_)) continue;
      const auto waiter = tables_.wait(session->data.scopes(tables_), [&] { session->data_needs.notify_all(); });
      if (current()) co_await session->data_needs.wait();
    }
  } catch (const Error& error) {
    session->connection->abort();  // as in send_orders
    log::debug("server: sending data to node {}: {}", session->node_id, error.one_line());
  }
}

async::awaitable<boost::json::value> Server::sign_identity(std::string node_id, node::IdentityRequest request) {
  const auto* tables = co_await writer_.settled();
  const auto allocation = tables->find_allocation(request.alloc);
  if (!allocation || allocation->node_id != node_id || allocation->client_terminal())
    throw Error(Code::denied, fmt::format("allocation {} does not run on this node", request.alloc.substr(0, 8)));
  const Context context{clock_.now(), identity_ids_};
  const auto token =
      issue_identity(keyring_, *allocation, request.task, request.identity, options_.oidc_issuer, context);
  node::IdentityReply reply{token.token, unix_nanos(token.issued), unix_nanos(token.expires)};
  co_return json::to_value(reply);
}

void Server::send_differences() {
  if (links_->needs_care) links_->care.notify_all();
  for (const auto& event : std::exchange(links_->changes, {}))
    links_->dependents.collect(tables_, event, links_->dirty);
  for (const auto& id : std::exchange(links_->ended_with_successor, {})) {
    if (const auto successor = tables_.find_allocation(id)) links_->dirty.insert(successor->node_id);
  }
  for (const auto& id : std::exchange(links_->dirty, {})) {
    const auto it = links_->sessions.find(id);
    if (it == links_->sessions.end()) continue;
    it->second->dirty = true;
    it->second->something_to_send.notify_all();
  }
}

bool Server::linked(const std::string& node_id) const { return links_->sessions.contains(node_id); }

/// After a start of ours, nodes that are ready in the tables need a moment to dial again.
async::awaitable<std::shared_ptr<link::Connection>> Server::connection_of(std::string node_id) {
  const auto deadline = async::deadline_in(options_.link_patience);
  tables::Row<model::Node> node;
  do {
    const auto it = links_->sessions.find(node_id);
    if (it != links_->sessions.end()) co_return it->second->connection;
    node = tables_.find_node(node_id);
    if (!node) throw Error(Code::not_found, "node not found");
    if (node->status != model::NodeStatus::ready) break;
  } while (co_await links_->linked.wait_until(deadline));
  throw Error(Code::unavailable, fmt::format("node '{}' is not linked", node->name))
      .because(fmt::format("its status is {}", describe::spell(node->status)))
      .advise("look at its agent: `journalctl -u underway` there, or the host's console log");
}

async::awaitable<boost::json::value> Server::call_node(std::string node_id, std::string method,
                                                       boost::json::value body) {
  const auto connection = co_await connection_of(std::move(node_id));
  co_return co_await connection->call(std::move(method), std::move(body));
}

async::awaitable<std::shared_ptr<link::Stream>> Server::open_stream(std::string node_id, std::string method,
                                                                    boost::json::value header) {
  const auto connection = co_await connection_of(std::move(node_id));
  co_return co_await connection->open(std::move(method), std::move(header));
}

// --- loops

async::awaitable<void> Server::heartbeats() {
  const Duration patience = options_.heartbeat_ttl + options_.heartbeat_grace;
  const Duration pause = std::clamp<Duration>(patience / 8, std::chrono::milliseconds(5), std::chrono::seconds(1));
  while (true) {
    const auto before = std::chrono::steady_clock::now();
    co_await async::sleep_for(pause);
    const auto now = std::chrono::steady_clock::now();
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
    auto decide = [this, node_ids](const Tables& tables, const Context& context) {
      // Some may have come back while this waited for its turn.
      std::vector<std::string> silent;
      std::copy_if(node_ids.begin(), node_ids.end(), std::back_inserter(silent),
                   [this](const auto& id) { return !links_->sessions.contains(id); });
      return decide_nodes_down(tables, silent, "no heartbeat was heard in time", context);
    };
    const auto lost = co_await writer_.submit(std::move(decide));
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
    auto drains = [](const Tables& tables, const Context& context) { return decide_drains(tables, context); };
    auto losses = [silent_nodes](const Tables& tables, const Context& context) {
      return decide_nodes_given_up(tables, silent_nodes, context);
    };
    co_await writer_.submit(std::move(drains));
    co_await writer_.submit(std::move(losses));
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
      co_await collect(options_.retention);
    } catch (const Error& error) {
      log::error("server: nothing was collected, trying again in {}: {}", human_duration(options_.collect_every),
                 error.one_line());
    }
  }
}

/// A deadline is minutes away when it is set, so that a look every second is soon enough.
async::awaitable<void> Server::watch_deployments() {
  while (true) {
    co_await async::sleep_for(std::chrono::seconds(1));
    const auto due = next_deployment_deadline(*co_await read());
    if (!due || *due > unix_nanos(clock_.now())) continue;
    try {
      auto decide = [](const Tables& tables, const Context& context) {
        return decide_deployment_deadlines(tables, context);
      };
      for (const auto& id : co_await writer_.submit(std::move(decide)))
        log::warn("server: deployment {} made no progress in time and has failed", id.substr(0, 8));
    } catch (const Error& error) {
      log::error("server: deployments are not looked after, trying again in 1 s: {}", error.one_line());
    }
  }
}

}  // namespace underway::server
