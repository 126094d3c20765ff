#include "agent/server_role.hpp"

#include <unistd.h>

#include <csignal>

#include "agent/config/connection_limits.hpp"
#include "agent/data_directory.hpp"
#include "agent/node_parts.hpp"
#include "agent/server_names.hpp"
#include "api/access/host_names.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "protocol/task_api.hpp"
#include "saving/server_side.hpp"
#include "server/storage/store_mark.hpp"

namespace underway::agent {
namespace {

/// What a session's client types comes in pieces; only nodes, which show certificates, have more to say at once.
constexpr std::size_t kSessionMessage = 1 << 20;

server::StorePlace store_place(const Config& config) {
  const std::string directory = config.data_dir + "/server";
  return {.state_file = directory + "/state.db",
          .mark_file = config.data_dir + "/store.id",
          .signs = {directory + "/keyring/active", directory + "/tls/authority.pem"}};
}

std::string checked_state_file(const Config& config) {
  const auto place = store_place(config);
  server::refuse_lost_store(place, config.new_cluster);
  return place.state_file;
}

void settle(store::Store& store, const Config& config, IdSource& ids) {
  server::settle_store(store, store_place(config), config.new_cluster, ids);
}

trust::ServerTrustOptions trust_options(const Config& config) {
  trust::ServerTrustOptions options;
  options.directory = config.data_dir + "/server/tls";
  options.region = config.region;
  options.names = server_names(config);
  options.server_lifetime = config.tls.server_certificate_ttl;
  options.node_lifetime = config.tls.node_certificate_ttl;
  return options;
}

http::TlsContext context_of(const Config& config) {
  const auto clients =
      config.tls.verify_https_client ? http::ClientCertificates::demanded : http::ClientCertificates::requested;
  const http::TlsFiles files{config.tls.cert_file, config.tls.key_file, config.tls.ca_file};
  return http::TlsContext::server(files, clients);
}

/// Joins and links alone, from whom nothing is known yet.
http::ServerOptions of_strangers(http::ServerOptions options) {
  options.bodies_limit = options.strangers_limit;
  options.body_deadline = options.stranger_deadline;
  return options;
}

/// Without tokens, pages of the web could speak through the browsers of those who work here.
http::ServerOptions guarded_by_names(http::ServerOptions options, const Config& config) {
  if (config.acl_enabled()) return options;
  options.refuse = [names = api::HostNames(server_names(config))](const http::Request& head) {
    return names.refusal(head);
  };
  return options;
}

api::AccessOptions access_options(const Config& config) {
  api::AccessOptions access;
  access.acl = config.acl_enabled();
  access.trust_root_socket = config.acl.trust_root_socket;
  access.token_lifetimes = {config.acl.token_min_expiration_ttl, config.acl.token_max_expiration_ttl};
  access.network_bootstrap = config.network_bootstrap();
  access.readable_token_secrets = config.readable_token_secrets();
  access.limits = {config.limits.http_requests_per_second, config.limits.http_burst, config.limits.http_max_concurrent};
  access.bootstrap_reset_file = config.data_dir + "/server/acl-bootstrap-reset";
  return access;
}

async::WorkerLimits worker_limits(const LimitSettings& limits) {
  return {static_cast<std::size_t>(limits.work_threads), limits.work_cpu,
          static_cast<std::uint64_t>(limits.work_memory_mb) << 20, static_cast<std::size_t>(limits.work_waiting_of_one),
          static_cast<std::size_t>(limits.work_waiting)};
}

server::AuditOptions audit_options(const Config& config) {
  server::AuditOptions options;
  options.path = config.data_dir + "/server/audit.log";
  options.rotate_bytes = static_cast<std::uint64_t>(config.audit.rotate_bytes);
  options.keep = config.audit.rotate_max_files;
  options.refuse_unlogged = config.audit.on_failure == "refuse";
  return options;
}

api::AgentInfo agent_info(const Config& config) {
  api::AgentInfo info;
  info.name = config.name;
  info.region = config.region;
  info.datacenter = config.datacenter;
  info.config = json::to_value(config);
  info.server = config.server.enabled;
  info.client = config.client.enabled;
  const auto tcp = config.http_endpoint();
  info.http_address = tcp ? http::to_string(*tcp) : "unix:" + config.api_socket();
  return info;
}

host::ControllerOptions controller_options(const Config& config, ServerRoleRunner& server) {
  host::ControllerOptions options;
  options.agent_program = own_program();
  options.server_address = "https+unix://" + config.link_socket();
  options.join_token = [&server](std::string cluster, std::string host, std::string pool) {
    server::NewJoinToken request;
    request.name = std::move(host);
    request.pool = std::move(pool);
    request.cluster = std::move(cluster);
    request.host = true;
    return server.make_join_token(std::move(request));
  };
  return options;
}

host::VirtualHostsOptions virtual_options(const Config& config, ServerRoleRunner& server) {
  host::VirtualHostsOptions options;
  options.join_token = controller_options(config, server).join_token;
  options.server_address = [&config, &server](const model::Cluster& cluster) {
    return server.links_of_machines(config, cluster);
  };
  return options;
}

}  // namespace

ServerRoleRunner::ServerRoleRunner(const Config& config, async::Loop& loop, async::Pool& pool, Clock& clock,
                                   IdSource& ids)
    : store_(checked_state_file(config)),
      trust_((settle(store_, config, ids), trust_options(config)), clock),
      server_(loop.executor(), store_, clock, ids, server_options(config)),
      files_(server_, loop.executor(), pool, ids),
      workers_(worker_limits(config.limits)),
      api_{.server = server_,
           .agent = agent_info(config),
           .clock = clock,
           .access = access_options(config),
           .metrics = {config.telemetry.publish_node_metrics, config.telemetry.publish_allocation_metrics,
                       !config.telemetry.disable_dispatched_job_summary_metrics},
           .service_provider = config.service_provider(),
           .trust = &trust_,
           .files = &files_,
           .workers = &workers_},
      images_(server_, clock, config.data_dir + "/server/images"),
      tasks_(loop.executor(), "agent") {
  api_.images = &images_;
  api_.reload = [] { ::kill(::getpid(), SIGHUP); };
  server_.add_extension("image.", images_.extension());
  server_.add_extension("saving.", saving::report_extension(server_));
  if (config.audit.enabled) {
    audit_.emplace(loop.executor(), pool, clock, audit_options(config));
    api_.audit = &*audit_;
  }
  head_check_.emplace(api::register_routes(router_, api_), api_);
  api::add_link_routes(link_router_, api_);
  const ConnectionLimits connections = connection_limits(descriptor_limit());
  http::ServerOptions options;
  options.pool = &pool;
  options.connection_limit = connections.api;
  link_http_.emplace(loop.executor(), link_router_, of_strangers(options));
  options.uncertified_message_limit = kSessionMessage;
  options.admit = [this](http::Request head) { return head_check_->admit(std::move(head)); };
  http_.emplace(loop.executor(), router_, guarded_by_names(options, config));
  options.connection_limit = connections.tasks;
  task_api_.emplace(loop.executor(), router_, api_, options);
  server_.add_extension(std::string(protocol::kTaskApiStream), task_api_->extension());
}

void ServerRoleRunner::start(const Config& config) {
  server_.start();
  files_.start();
  http::Endpoint socket, link;
  socket.socket_path = config.api_socket();
  link.socket_path = config.link_socket();
  http_->listen(socket);
  link_http_->listen(link, trust_.tls());
  told_authority_ = trust_.authority().info().fingerprint;
  server_.loops().start(tasks_, certificates_loop(config));
  const auto tcp = config.http_endpoint();
  if (!tcp) return;
  const auto tls = api_tls(config);
  log::info("agent: the HTTP API listens at {}://{}", tls ? "https" : "http",
            http::to_string(http_->listen(*tcp, tls)));
  if (config.tls.http == false) log::warn("agent: the HTTP API on TCP is plain, as tls.http = false asks for");
}

void ServerRoleRunner::reload(const Config& config) {
  if (files_tls_ && !config.tls.cert_file.empty()) files_tls_->replace(context_of(config));
}

async::awaitable<void> ServerRoleRunner::stop() {
  workers_.end();
  co_await tasks_.stop();
  // Blocking queries would hold a stop for minutes: they are cancelled after a moment.
  co_await http_->stop(std::chrono::milliseconds(200));
  co_await task_api_->stop(Duration{0});
  co_await link_http_->stop(Duration{0});
  co_await files_.stop();
  co_await server_.stop();
  if (audit_) co_await audit_->stop();
}

std::string ServerRoleRunner::links_of_machines(const Config& config, const model::Cluster& cluster) {
  auto links = machine_links(config, cluster);
  if (links.own && !machine_links_.contains(links.url)) {
    link_http_->listen(*links.own, trust_.tls());
    machine_links_.insert(links.url);
    log::info("agent: links of machines are taken at {}", links.url);
  }
  return std::move(links.url);
}

server::Options ServerRoleRunner::server_options(const Config& config) {
  server::Options options;
  options.name = config.name;
  options.region = config.region;
  options.datacenter = config.datacenter;
  options.heartbeat_ttl = config.server.heartbeat_ttl;
  options.heartbeat_grace = config.server.heartbeat_grace;
  options.start_grace = config.server.start_grace;
  options.follow_clock = true;
  options.keyring_directory = config.data_dir + "/server/keyring";
  options.snapshot_directory = config.data_dir + "/server/snapshots";
  options.about_to_become = [mark = store_place(config).mark_file](const std::string& cluster_id) {
    server::extend_mark(mark, cluster_id);
  };
  options.root_key_rotation = config.server.root_key_rotation;
  options.wrapping_key = config.server.wrapping_key;
  options.oidc_issuer = config.server.oidc_issuer;
  options.identity_algorithm = config.server.identity_algorithm;
  options.retention = {config.server.eval_gc_threshold, config.server.job_gc_threshold,
                       config.server.node_gc_threshold};
  options.certify = [this](const trust::Identity& identity, const std::string& name, const std::string& request,
                           std::optional<Duration> at_most) {
    return trust_.certify_node(identity, name, request, at_most);
  };
  options.root_by_raw_exec = config.raw_exec_as_root();
  options.guard = std::make_shared<const ownership::CapsuleGuard>();
  return options;
}

std::shared_ptr<http::TlsHolder> ServerRoleRunner::api_tls(const Config& config) {
  if (config.plain_http()) return nullptr;
  if (config.tls.cert_file.empty()) return config.tls.verify_https_client ? trust_.demanding_tls() : trust_.tls();
  files_tls_ = std::make_shared<http::TlsHolder>(context_of(config));
  return files_tls_;
}

async::LoopPlan ServerRoleRunner::certificates_loop(const Config& config) {
  const Duration look_every = std::min<Duration>(std::chrono::minutes(1), config.tls.server_certificate_ttl / 20);
  return {.area = "agent",
          .name = "certificates of the server",
          .trouble = "the server's certificates are not renewed",
          .wait = [look_every] { return async::sleep_for(look_every); },
          .reconcile = [this] { return keep_fresh(); },
          .retry = async::RetryPolicy::up_to(look_every)};
}

async::awaitable<void> ServerRoleRunner::keep_fresh() {
  if (const auto done = trust_.keep_fresh(); !done.empty()) log::info("agent: {}", done);
  const auto& authority = trust_.authority().info().fingerprint;
  if (std::exchange(told_authority_, authority) != authority) server_.ask_for_renewal();
  co_return;
}

ServerLoops::ServerLoops(ServerRoleRunner& server, const Config& config, host::Provider* provider, async::Pool& pool,
                         async::Executor executor, Clock& clock)
    : virtual_hosts_(server.server(), pool, executor, virtual_options(config, server)),
      slurm_drains_(server.server(), executor),
      slurm_reconciler_(server.server(), executor),
      slurm_members_(server.server(), pool, executor),
      growth_(server.server(), pool, executor),
      forecast_trials_(server.server(), pool, executor),
      machines_(server.server(), pool, executor),
      node_executor_(server.server(), executor),
      fence_(server.server(), provider, pool),
      capsules_(server.server(), node_executor_, fence_, executor,
                {.limits = {.lease = config.server.capsule_lease, .check = config.server.capsule_check_timeout}}) {
  if (provider != nullptr)
    hosts_.emplace(server.server(), *provider, pool, executor, clock, controller_options(config, server));
  if (config.server.ticket_tracker) tracker_.emplace(server.server(), pool, executor, *config.server.ticket_tracker);
  server.set_capsules(capsules_);
  server.set_growth(growth_);
}

async::awaitable<void> ServerLoops::start_hosts() {
  if (hosts_) co_await hosts_->start();
}

void ServerLoops::start() {
  virtual_hosts_.start();
  slurm_drains_.start();
  slurm_reconciler_.start();
  slurm_members_.start();
  growth_.start();
  forecast_trials_.start();
  machines_.start();
  capsules_.start();
  if (tracker_) tracker_->start();
}

async::awaitable<void> ServerLoops::stop() {
  if (tracker_) co_await tracker_->stop();
  co_await machines_.stop();
  co_await forecast_trials_.stop();
  co_await growth_.stop();
  co_await slurm_members_.stop();
  co_await slurm_reconciler_.stop();
  co_await slurm_drains_.stop();
  co_await capsules_.stop();
  co_await virtual_hosts_.stop();
  if (hosts_) co_await hosts_->stop();
}

}  // namespace underway::agent
