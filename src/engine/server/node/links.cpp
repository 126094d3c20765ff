// Nodes that are linked: what they ask, and what they are told.
#include "server/detail/links.hpp"

#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "server/access/identities.hpp"
#include "server/node/node_pool_decisions.hpp"
#include "server/node/orphan_decisions.hpp"

namespace underway::server {
namespace {

/// What a node may have kept here for as long as it is linked, whatever it sends.
constexpr std::size_t kMostTroubles = 16;
constexpr std::size_t kLongestText = 500;

void cut(std::string& text) {
  if (text.size() > kLongestText) text.resize(kLongestText);
  while (!is_utf8(text)) text.pop_back();
}

/// None when it cannot be read: the node lives all the same.
std::vector<protocol::LoopTrouble> read_troubles(const boost::json::value& heartbeat) try {
  auto troubles = json::decode<protocol::Heartbeat>(heartbeat, "heartbeat").troubles;
  if (troubles.size() > kMostTroubles) troubles.resize(kMostTroubles);
  for (auto& trouble : troubles)
    for (auto* text : {&trouble.name, &trouble.trouble, &trouble.why}) cut(*text);
  return troubles;
} catch (const Error&) {
  return {};
}

async::awaitable<void> ask_to_renew(std::shared_ptr<link::Connection> connection) {
  try {
    co_await connection->notify("renew", boost::json::object{});
  } catch (const Error&) {  // the link ends: the node renews when it is linked again
  }
}

}  // namespace

async::awaitable<void> Server::serve_link(std::shared_ptr<http::WebSocket> socket,
                                          std::optional<trust::PeerIdentity> peer) {
  const auto linked = std::make_shared<Linked>();
  linked->peer = std::move(peer);
  link::Handlers handlers;
  handlers.call = [this, linked](std::string method, boost::json::value body) -> async::awaitable<boost::json::value> {
    co_return co_await answer_node(*linked, std::move(method), std::move(body));
  };
  handlers.stream = [this, linked](std::string method, boost::json::value header,
                                   std::shared_ptr<link::Stream> stream) -> async::awaitable<void> {
    co_await serve_node(*linked, std::move(method), std::move(header), std::move(stream));
  };
  handlers.notify = [linked](std::string method, boost::json::value body) {
    if (method != "heartbeat" || !linked->session) return;
    linked->session->heard = async::LoopClock::now();
    linked->session->troubles = read_troubles(body);
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

namespace {

/// A link is there before its node has registered, and a node that was started anew goes on at once with what it was
/// at: it is to ask again. Told that it may not, it took a machine that was on its way to it for lost.
Error not_registered() { return {Code::unavailable, "the node has to register first"}; }

}  // namespace

const Extension* Server::extension_for(std::string_view method) const {
  for (const auto& [prefix, extension] : extensions_)
    if (method.starts_with(prefix)) return &extension;
  return nullptr;
}

async::awaitable<void> Server::serve_node(Linked& linked, std::string method, boost::json::value header,
                                          std::shared_ptr<link::Stream> stream) {
  const auto session = linked.session;
  if (!session) throw not_registered();
  if (method == "disk.read") {
    auto allocation = json::decode<protocol::FileRequest>(header).alloc;
    co_await serve_disk(session->node_id, std::move(allocation), std::move(stream));
    co_return;
  }
  if (method == "machines.read") {
    auto request = json::decode<protocol::FileRequest>(header);
    co_await serve_machines(session->node_id, std::move(request), std::move(stream));
    co_return;
  }
  if (method == "machines.send") {
    auto request = json::decode<protocol::FileRequest>(header);
    co_await send_machine(session->node_id, std::move(request), std::move(stream));
    co_return;
  }
  if (method == "machines.carry") {
    auto request = json::decode<protocol::MachineStream>(header);
    co_await carry_machine(session->node_id, std::move(request), std::move(stream));
    co_return;
  }
  const auto* extension = extension_for(method);
  if (extension == nullptr || !extension->stream)
    throw Error(Code::unsupported, fmt::format("the server has no stream '{}'", method));
  co_await extension->stream(session->node_id, std::move(method), std::move(header), std::move(stream));
}

async::awaitable<boost::json::value> Server::answer_node(Linked& linked, std::string method, boost::json::value body) {
  if (linked.session) linked.session->heard = async::LoopClock::now();
  if (method == "register") co_return co_await register_node(linked, std::move(body));
  const auto session = linked.session;
  if (!session) throw not_registered();
  if (const auto* extension = extension_for(method))
    co_return co_await extension->call(session->node_id, std::move(method), std::move(body));
  if (method == "certificate") co_return renew_certificate(*session, body);
  if (method == "update") {
    auto request = json::decode<protocol::UpdateRequest>(body);
    UpdateAllocations updates{session->node_id, std::move(request.updates)};
    co_await apply(std::move(updates));
    co_return boost::json::object{};
  }
  if (method == "template.watch") {
    session->data.watch(json::decode<protocol::WatchRequest>(body).needs);
    session->data_needs.notify_all();
    if (!std::exchange(session->feeding, true)) tasks_.spawn("data for templates", send_data(session));
    co_return boost::json::object{};
  }
  if (method == "machines.describe") {
    auto allocation = json::decode<protocol::TaskRequest>(body).id;
    co_return co_await describe_machines(session->node_id, std::move(allocation));
  }
  if (method == "machines.verdict") {
    auto request = json::decode<protocol::MachineStream>(body);
    co_return co_await tell_fate(session->node_id, std::move(request));
  }
  if (method == "identity.sign")
    co_return co_await sign_identity(session->node_id, json::decode<protocol::IdentityRequest>(body));
  throw Error(Code::unsupported, fmt::format("the server does not answer '{}'", method));
}

async::awaitable<boost::json::value> Server::register_node(Linked& linked, boost::json::value body) {
  auto& session = linked.session;
  const auto connection = linked.connection.lock();
  auto request = json::decode<protocol::RegisterRequest>(body);
  if (session && session->node_id != request.node.id)
    throw Error(Code::denied, "a link belongs to one node").because("it registered as another one before");
  if (linked.peer) {
    check_identity(linked.peer->identity, request.node);
    enter_cluster(linked.peer->identity, request.node);
  }
  const std::string name = request.node.name;
  EnrolNode enrol{std::move(request), epoch_};
  const auto enrolled = co_await apply(std::move(enrol));
  const auto& registered = enrolled.node;
  // The link may have ended meanwhile, and the node may have a new one.
  if (!connection || !connection->is_open()) throw Error(Code::unavailable, "the link has ended");
  if (!session) {
    session = std::make_shared<Session>(registered.id, connection, variables_, options_.root_by_raw_exec);
    session->peer = linked.peer;
    auto& slot = links_->sessions[registered.id];
    if (slot) {  // the node came back before its old link was known to be dead
      slot->connection->abort();
      slot->something_to_send.notify_all();
      slot->data_needs.notify_all();
    }
    slot = session;
    links_->silent_since.erase(registered.id);
    links_->linked.notify_all();
    session->epochs = enrolled.epochs;
    tasks_.spawn("sending to node " + name, send_orders(session));
    log::info("server: node {} ({}) is linked", name, registered.id.substr(0, 8));
  }
  protocol::RegisterReply reply;
  reply.node_id = registered.id;
  reply.heartbeat_ttl = options_.heartbeat_ttl;
  co_return json::to_value(reply);
}

/// What the new certificate says is what the old one said: a node cannot become another one by renewing.
boost::json::value Server::renew_certificate(Session& session, const boost::json::value& body) {
  if (!session.peer || session.peer->identity.node_id.empty() || !options_.certify)
    throw Error(Code::unsupported, "this link has no certificate of this server");
  const auto request = json::decode<trust::CertificateRequest>(body);
  const auto node = tables_.find_node(session.node_id);
  const auto& identity = session.peer->identity;
  const auto made = options_.certify(identity, node ? node->name : session.node_id, request.request,
                                     lifetime_in_pool(tables_, node ? node->node_pool : identity.pool));
  session.peer->until = crypto::describe_certificate(made.certificate).not_after;
  return json::to_value(made);
}

void Server::ask_for_renewal() {
  for (const auto& [id, session] : links_->sessions) {
    if (session->peer) tasks_.spawn("asking for renewal", ask_to_renew(session->connection));
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
      if (auto message = session->orders.next(*tables, links_->dependents)) {
        message->origin = {epoch_, tables->revision()};
        if (message->full) message->epochs = session->epochs;
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

async::awaitable<boost::json::value> Server::sign_identity(std::string node_id, protocol::IdentityRequest request) {
  const auto* tables = co_await writer_.settled();
  const auto allocation = tables->find_allocation(request.alloc);
  if (!allocation || allocation->node_id != node_id || allocation->client_terminal())
    throw Error(Code::denied, fmt::format("allocation {} does not run on this node", request.alloc.substr(0, 8)));
  const Context context{clock_.now(), identity_ids_};
  const auto made = identity_claims(*allocation, request.task, request.identity, options_.oidc_issuer, context);
  // A copy: the key may be rotated away meanwhile. Ten thousand tasks that start at once take seconds of RSA, and the
  // links of their nodes must not wait for it.
  auto sign = [key = keyring_.signing(), &made] { return key.sign(made.claims); };
  const bool slow = keyring_.signing().algorithm() == "RS256";
  std::string token = slow ? co_await async::on_pool(beside_, sign) : sign();
  protocol::IdentityReply reply{std::move(token), unix_nanos(made.issued), unix_nanos(made.expires)};
  co_return json::to_value(reply);
}

void Server::send_differences() {
  if (links_->needs_care) links_->care.notify_all();
  for (const auto& event : std::exchange(links_->changes, {}))
    links_->dependents.collect(tables_, event, links_->dirty);
  for (const auto& id : std::exchange(links_->ended_with_successor, {})) {
    if (const auto successor = tables_.find_allocation(id)) links_->dirty.insert(successor->node_id);
  }
  for (const auto& [job, names] : std::exchange(links_->names_free, {})) {
    for (const auto& row : tables_.allocations_of_job(job.first, job.second)) {
      if (!row->terminal() && names.contains(row->name)) links_->dirty.insert(row->node_id);
    }
  }
  for (const auto& id : std::exchange(links_->dirty, {})) {
    const auto it = links_->sessions.find(id);
    if (it == links_->sessions.end()) continue;
    it->second->dirty = true;
    it->second->something_to_send.notify_all();
  }
}

bool Server::linked(const std::string& node_id) const { return links_->sessions.contains(node_id); }
std::size_t Server::linked_nodes() const { return links_->sessions.size(); }

std::map<std::string, std::vector<protocol::LoopTrouble>> Server::node_troubles() const {
  std::map<std::string, std::vector<protocol::LoopTrouble>> out;
  for (const auto& [id, session] : links_->sessions)
    if (!session->troubles.empty()) out.emplace(id, session->troubles);
  return out;
}

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

async::awaitable<boost::json::value> Server::call_node(std::string node_id, std::string method, boost::json::value body,
                                                       std::optional<Duration> timeout) {
  const auto connection = co_await connection_of(std::move(node_id));
  co_return co_await connection->call(std::move(method), std::move(body), timeout);
}

async::awaitable<std::shared_ptr<link::Stream>> Server::open_stream(std::string node_id, std::string method,
                                                                    boost::json::value header) {
  const auto connection = co_await connection_of(std::move(node_id));
  co_return co_await connection->open(std::move(method), std::move(header));
}

}  // namespace underway::server
