#include "agent/agent.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "agent/config/connection_limits.hpp"
#include "agent/config/nomad_compat.hpp"
#include "agent/data_directory.hpp"
#include "agent/early_signals.hpp"
#include "agent/metrics_listener.hpp"
#include "agent/node_parts.hpp"
#include "agent/server_names.hpp"
#include "agent/systemd.hpp"
#include "api/access/head_check.hpp"
#include "api/access/host_names.hpp"
#include "api/allocation/task_api.hpp"
#include "api/api.hpp"
#include "async/group.hpp"
#include "async/watchdog.hpp"
#include "async/workers.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/version.hpp"
#include "files/masters/service.hpp"
#include "host/controller.hpp"
#include "host/fence.hpp"
#include "host/local.hpp"
#include "http/server.hpp"
#include "imageshare/server_images.hpp"
#include "node/fingerprint/topology.hpp"
#include "node/node.hpp"
#include "node/task/task_api.hpp"
#include "os/file.hpp"
#include "os/ledger.hpp"
#include "os/process/descriptor_limit.hpp"
#include "ownership/controller.hpp"
#include "ownership/link_executor.hpp"
#include "saving/server_side.hpp"
#include "server/storage/store_mark.hpp"
#include "slurm/drain.hpp"
#include "slurm/installed.hpp"
#include "slurm/reconcile/reconciler.hpp"
#include "store/sqlite_store.hpp"
#include "trust/server_trust.hpp"

namespace underway::agent {
namespace {

constexpr std::size_t kPoolThreads = 4;
/// What a session's client types comes in pieces; only nodes, which show certificates, have more to say at once.
constexpr std::size_t kSessionMessage = 1 << 20;

/// The server role with its sockets.
class ServerRoleRunner {
 public:
  ServerRoleRunner(const Config& config, async::Loop& loop, async::Pool& pool, Clock& clock, IdSource& ids)
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

  void start(const Config& config) {
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

  /// Reads the site's certificates again, if it has any. Throws what keeps them from being used; then the old ones
  /// stay.
  void reload(const Config& config) {
    if (files_tls_ && !config.tls.cert_file.empty()) files_tls_->replace(context_of(config));
  }

  async::awaitable<void> stop() {
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

  server::Server& server() { return server_; }
  void set_capsules(ownership::Controller& capsules) { api_.capsules = &capsules; }
  /// For a node in this process, and for hosts of ours.
  async::awaitable<std::string> make_join_token(server::NewJoinToken request) {
    return api::make_join_token(api_, std::move(request));
  }

 private:
  static server::StorePlace store_place(const Config& config) {
    const std::string directory = config.data_dir + "/server";
    return {.state_file = directory + "/state.db",
            .mark_file = config.data_dir + "/store.id",
            .signs = {directory + "/keyring/active", directory + "/tls/authority.pem"}};
  }
  static std::string checked_state_file(const Config& config) {
    const auto place = store_place(config);
    server::refuse_lost_store(place, config.new_cluster);
    return place.state_file;
  }
  static void settle(store::Store& store, const Config& config, IdSource& ids) {
    server::settle_store(store, store_place(config), config.new_cluster, ids);
  }
  static trust::ServerTrustOptions trust_options(const Config& config) {
    trust::ServerTrustOptions options;
    options.directory = config.data_dir + "/server/tls";
    options.region = config.region;
    options.names = server_names(config);
    options.server_lifetime = config.tls.server_certificate_ttl;
    options.node_lifetime = config.tls.node_certificate_ttl;
    return options;
  }
  static http::TlsContext context_of(const Config& config) {
    const auto clients =
        config.tls.verify_https_client ? http::ClientCertificates::demanded : http::ClientCertificates::requested;
    const http::TlsFiles files{config.tls.cert_file, config.tls.key_file, config.tls.ca_file};
    return http::TlsContext::server(files, clients);
  }
  std::shared_ptr<http::TlsHolder> api_tls(const Config& config) {
    if (config.plain_http()) return nullptr;
    if (config.tls.cert_file.empty()) return config.tls.verify_https_client ? trust_.demanding_tls() : trust_.tls();
    files_tls_ = std::make_shared<http::TlsHolder>(context_of(config));
    return files_tls_;
  }
  async::LoopPlan certificates_loop(const Config& config) {
    const Duration look_every = std::min<Duration>(std::chrono::minutes(1), config.tls.server_certificate_ttl / 20);
    return {.area = "agent",
            .name = "certificates of the server",
            .trouble = "the server's certificates are not renewed",
            .wait = [look_every] { return async::sleep_for(look_every); },
            .reconcile = [this] { return keep_fresh(); },
            .retry = async::RetryPolicy::up_to(look_every)};
  }
  async::awaitable<void> keep_fresh() {
    if (const auto done = trust_.keep_fresh(); !done.empty()) log::info("agent: {}", done);
    const auto& authority = trust_.authority().info().fingerprint;
    if (std::exchange(told_authority_, authority) != authority) server_.ask_for_renewal();
    co_return;
  }

  /// Joins and links alone, from whom nothing is known yet.
  static http::ServerOptions of_strangers(http::ServerOptions options) {
    options.bodies_limit = options.strangers_limit;
    options.body_deadline = options.stranger_deadline;
    return options;
  }
  /// Without tokens, pages of the web could speak through the browsers of those who work here.
  static http::ServerOptions guarded_by_names(http::ServerOptions options, const Config& config) {
    if (config.acl_enabled()) return options;
    options.refuse = [names = api::HostNames(server_names(config))](const http::Request& head) {
      return names.refusal(head);
    };
    return options;
  }

  server::Options server_options(const Config& config) {
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
  static api::AccessOptions access_options(const Config& config) {
    api::AccessOptions access;
    access.acl = config.acl_enabled();
    access.trust_root_socket = config.acl.trust_root_socket;
    access.token_lifetimes = {config.acl.token_min_expiration_ttl, config.acl.token_max_expiration_ttl};
    access.network_bootstrap = config.network_bootstrap();
    access.readable_token_secrets = config.readable_token_secrets();
    access.limits = {config.limits.http_requests_per_second, config.limits.http_burst,
                     config.limits.http_max_concurrent};
    access.bootstrap_reset_file = config.data_dir + "/server/acl-bootstrap-reset";
    return access;
  }
  static async::WorkerLimits worker_limits(const LimitSettings& limits) {
    return {static_cast<std::size_t>(limits.work_threads), limits.work_cpu,
            static_cast<std::uint64_t>(limits.work_memory_mb) << 20,
            static_cast<std::size_t>(limits.work_waiting_of_one), static_cast<std::size_t>(limits.work_waiting)};
  }
  static server::AuditOptions audit_options(const Config& config) {
    server::AuditOptions options;
    options.path = config.data_dir + "/server/audit.log";
    options.rotate_bytes = static_cast<std::uint64_t>(config.audit.rotate_bytes);
    options.keep = config.audit.rotate_max_files;
    options.refuse_unlogged = config.audit.on_failure == "refuse";
    return options;
  }
  static api::AgentInfo agent_info(const Config& config) {
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

  store::SqliteStore store_;  ///< first: what others make says that there is one
  trust::ServerTrust trust_;
  std::string told_authority_;                  ///< fingerprint of the one that nodes were asked to renew for
  std::shared_ptr<http::TlsHolder> files_tls_;  ///< of the site's own certificate
  server::Server server_;
  files::FileService files_;
  std::optional<server::AuditLog> audit_;
  async::Workers workers_;
  api::Api api_;
  imageshare::ServerImages images_;
  async::TaskGroup tasks_;
  http::Router router_, link_router_;
  std::optional<api::HeadCheck> head_check_;
  std::optional<http::Server> http_, link_http_;
  std::optional<api::TaskApi> task_api_;
};

/// Bound to no name and no pool: whoever configures this node configures the server.
async::awaitable<crypto::Secret> own_token(ServerRoleRunner& server) {
  server::NewJoinToken unbound;
  co_return crypto::Secret::take(co_await server.make_join_token(std::move(unbound)));
}

TokenSource own_tokens(std::optional<ServerRoleRunner>& server) {
  if (!server) return nullptr;
  return [&server = *server] { return own_token(server); };
}

host::LocalOptions local_options(const std::string& data_dir, const std::string& link_directory) {
  host::LocalOptions options;
  options.state_dir = data_dir;
  options.visible = {link_directory};
  return options;
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

/// Who moves capsules, and how it reaches nodes and hosts.
struct Capsules {
  Capsules(ServerRoleRunner& server, const ServerRole& config, host::Provider* provider, async::Pool& pool,
           const async::Executor& executor)
      : node_executor(server.server(), executor),
        fence(server.server(), provider, pool),
        controller(server.server(), node_executor, fence, executor,
                   {.limits = {.lease = config.capsule_lease, .check = config.capsule_check_timeout}}) {
    server.set_capsules(controller);
  }
  ownership::LinkExecutor node_executor;
  host::HostFence fence;
  ownership::Controller controller;
};

void set_log_level(const Config& config) {
  log::Level level = log::Level::info;
  log::parse_level(config.log_level, level);
  log::set_level(level);
}

void tell(const std::vector<CompatLine>& lines) {
  for (const auto& line : lines) {
    if (line.loud)
      log::error("agent: nomad_compat: {}", line.text);
    else
      log::warn("agent: nomad_compat: {}", line.text);
  }
}

async::awaitable<void> wait_for_end(asio::signal_set& signals, const std::vector<std::string>& config_paths,
                                    ServerRoleRunner* server) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) signals.add(signal);
  while (true) {
    const int signal = co_await signals.async_wait(asio::use_awaitable);
    if (signal != SIGHUP) {
      log::info("agent: {} received, stopping", signal == SIGINT ? "SIGINT" : "SIGTERM");
      signals.clear();  // a second one ends it at once
      co_return;
    }
    try {
      const Config config = load(config_paths, {});
      set_log_level(config);
      if (server != nullptr) server->reload(config);
      log::info("agent: SIGHUP received, the log level and certificates were read again");
    } catch (const Error& error) {
      log::error("agent: the configuration cannot be read again, going on as before: {}", error.one_line());
    }
  }
}

}  // namespace

void run(Config config, const std::vector<std::string>& config_paths) {
  if (config.name.empty()) config.name = hostname();
  std::optional<BlockedSignals> held;
  std::optional<DevDirectory> directory;
  if (config.dev && config.data_dir.empty()) {
    held.emplace();
    config.data_dir = directory.emplace().path();
  }
  if (const auto wrong = problems(config); !wrong.empty())
    throw Error(Code::invalid, "the agent's configuration is not valid").because(wrong);
  tell(compat_report(config));  // before the level that a file may set: nobody overhears what was given up
  set_log_level(config);
  ::signal(SIGPIPE, SIG_IGN);
  os::raise_descriptor_limit();  // a shell's 1024 are used up by the nodes of a middling cluster
  make_directories(config);

  os::Ledger ledger(config.data_dir + "/ledger");  // its lock keeps a second agent out of the directory
  const auto self = os::process_identity(::getpid());
  if (self) os::write_file(config.data_dir + "/agent.pid", os::to_object(*self) + "\n");
  SystemClock clock;
  SystemIds ids;
  async::Loop loop;
  asio::signal_set signals(loop.executor());
  std::optional<UnblockedSignals> heard;
  if (held) heard.emplace(signals, *held);
  async::Pool pool(kPoolThreads);
  std::optional<ServerRoleRunner> server;
  std::optional<host::LocalProvider> provider;
  std::optional<host::Controller> controller;
  std::optional<slurm::DrainController> slurm_drains;
  std::optional<slurm::Reconciler> slurm_reconciler;
  std::optional<Capsules> capsules;
  std::optional<node::Node> node;
  std::optional<MetricsListener> metrics;
  async::TaskGroup chores(loop.executor(), "agent");
  if (config.server.enabled) server.emplace(config, loop, pool, clock, ids);
  if (server) slurm_drains.emplace(server->server(), loop.executor());
  if (server) slurm_reconciler.emplace(server->server(), loop.executor());
  if (config.hosts.enabled) {
    provider.emplace(local_options(config.data_dir, config.link_directory()), ledger, clock);
    controller.emplace(server->server(), *provider, pool, loop.executor(), clock, controller_options(config, *server));
  }
  if (server) capsules.emplace(*server, config.server, provider ? &*provider : nullptr, pool, loop.executor());
  if (config.client.enabled) {
    auto options = node_options(config, own_tokens(server));
    auto images = std::make_shared<imageshare::NodeImages>(config.data_dir + "/images", clock);
    add_capsule_extensions(options, config, ledger, pool, clock, images);
    options.more_attributes = [slurmd = std::make_shared<slurm::InstalledSlurmd>()] { return slurmd->attributes(); };
    auto drivers = make_drivers(options, config, ledger, clock, std::move(images));
    node.emplace(std::move(options), std::move(drivers), loop, pool, clock);
    if (!config.telemetry.listen.empty()) metrics.emplace(config, *node, loop, pool, clock);
  }

  const auto start = [&]() -> async::awaitable<void> {
    // Hosts first: whoever asks is told of what there is, not of what there was before a crash.
    if (controller) co_await controller->start();
    if (server) server->start(config);
    if (slurm_drains) slurm_drains->start();
    if (slurm_reconciler) slurm_reconciler->start();
    if (capsules) capsules->controller.start();
    if (node) co_await node->start();
    if (metrics) metrics->start();
    if (!controller && !node) co_return;
    auto& loops = server ? server->server().loops() : node->loops();
    loops.start(chores, trash_loop(config, pool, clock));
  };
  const auto life = [&]() -> async::awaitable<void> {
    Started started;
    if (heard)
      started = co_await start_until(signals, start());
    else
      co_await start();
    if (!started.done) co_return;
    log::info("agent: underway {} ({}) runs as {}", version(), build_id(), config.name);
    notify_systemd("READY=1");
    if (!started.told) co_await wait_for_end(signals, config_paths, server ? &*server : nullptr);
    notify_systemd("STOPPING=1");
    if (metrics) co_await metrics->stop();
    if (node) {
      if (config.dev) co_await node->stop_everything();
      co_await node->stop();
    }
    if (slurm_reconciler) co_await slurm_reconciler->stop();
    if (slurm_drains) co_await slurm_drains->stop();
    if (capsules) co_await capsules->controller.stop();
    if (controller) co_await controller->stop();
    co_await chores.stop();
    if (server) co_await server->stop();
  };
  async::run_watched(loop, life());
}

std::vector<std::string> clean_hosts(const std::string& data_dir) {
  os::Ledger ledger(data_dir + "/ledger");
  SystemClock clock;
  host::LocalProvider provider(local_options(data_dir, data_dir + "/run/link"), ledger, clock);
  std::vector<std::string> out;
  for (const auto& problem : provider.clean()) out.push_back(problem.one_line());
  return out;
}

}  // namespace underway::agent
