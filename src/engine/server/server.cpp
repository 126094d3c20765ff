#include "server/server.hpp"

#include "base/json/json.hpp"
#include "base/log.hpp"
#include "server/detail/links.hpp"
#include "server/job/periodic.hpp"
#include "server/node/node_pool_decisions.hpp"
#include "trust/join_token.hpp"

namespace underway::server {

namespace {

scheduler::Options scheduling_of(std::shared_ptr<const Guard> guard) {
  scheduler::Options options;
  if (!guard) return options;
  options.home = [guard = std::move(guard)](const Tables& tables, const model::Job& job,
                                            const model::TaskGroup& group) { return guard->home(tables, job, group); };
  return options;
}

/// They are told of every row that the writer loads, so they follow before there is a writer.
Tables& followed_by(Tables& tables, std::initializer_list<Tables::Follower*> followers) {
  for (auto* follower : followers) tables.follow(follower);
  return tables;
}

}  // namespace

Server::Server(async::Executor executor, store::Store& store, Clock& clock, IdSource& ids, Options options)
    : options_(std::move(options)),
      clock_(clock),
      executor_(executor),
      fleet_(std::make_unique<scheduler::Fleet>()),
      links_(std::make_unique<Links>(tables_, options_.guard.get())),
      events_(tables_, clock, options_.event_buffer),
      writer_(executor, store, followed_by(tables_, {fleet_.get(), links_.get(), &events_, &measures_}), *fleet_, clock,
              ids, options_.root_by_raw_exec, scheduling_of(options_.guard)),
      keyring_(options_.keyring_directory, options_.wrapping_key, clock.now()),
      variables_(writer_, keyring_, clock, beside_),
      tasks_(executor, "server"),
      started_at_(clock.now()),
      snapshots_(std::make_shared<SnapshotPlace>(options_.snapshot_directory)) {
  keyring_.prefer(options_.identity_algorithm);
  writer_.on_durable([this] { events_.publish(); });
  writer_.on_durable([this] { send_differences(); });
  const auto grace = async::deadline_in(options_.start_grace);
  for (const auto& node : tables_.nodes()) {
    if (node->status == model::NodeStatus::ready) links_->silent_since[node->id] = grace;
  }
}

Server::~Server() = default;

void Server::start() {
  for (auto&& plan :
       {heartbeats_loop(), collection_loop(), drains_loop(), deployments_loop(), periodic_jobs_loop(writer_, clock_),
        host_volumes_.loop(), variables_.locks_loop(), variables_.root_keys_loop(options_.root_key_rotation)})
    loops_.start(tasks_, plan);
}

async::awaitable<void> Server::stop() {
  for (const auto& [id, session] : links_->sessions) session->connection->abort();
  co_await tasks_.stop();
  co_await writer_.stop();
}

async::awaitable<ApplyCluster> Server::completed(ApplyCluster request) {
  const auto* state = co_await read();
  if (model::problems(request.cluster).empty())
    request.secrets = variables_.generate_missing(*state, request.cluster.secrets);
  co_return request;
}

async::awaitable<KeepOrphans> Server::read_orphans(std::vector<std::string> node_ids) {
  const boost::json::value nothing = boost::json::object{};
  KeepOrphans keep;
  for (const auto& id : node_ids) {
    const auto answer = co_await call_node(id, "orphans.read", nothing);
    keep.found.emplace(id, json::decode<protocol::OrphanOrders>(answer));
  }
  co_return keep;
}

async::awaitable<void> Server::tell_to_stop_orphans(std::vector<std::string> node_ids) {
  const boost::json::value nothing = boost::json::object{};
  for (const auto& id : node_ids) co_await call_node(id, "orphans.stop", nothing);
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
  const auto identity = preview(attempt).result;
  const auto at_most = lifetime_in_pool(*tables, identity.pool);
  auto certified = options_.certify(identity, request.name, request.request, at_most);
  co_await apply(std::move(attempt));
  log::info("server: node {} ({}) joined", request.name, request.node_id.substr(0, 8));
  co_return certified;
}

async::awaitable<JobPlan> Server::plan_job(model::Job job, std::vector<model::Namespace> coming) {
  auto plan = [this, now = clock_.now(), job = std::move(job), coming = std::move(coming)]() mutable {
    SeededIds ids{1};  // what a preview makes is thrown away
    return preview_job(tables_, *fleet_, std::move(job), {now, ids, tables_.revision() + 1, options_.root_by_raw_exec},
                       std::move(coming));
  };
  co_return co_await writer_.apart("planning the job", std::move(plan));
}

}  // namespace underway::server
