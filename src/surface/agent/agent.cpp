#include "agent/agent.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "agent/config/nomad_compat.hpp"
#include "agent/data_directory.hpp"
#include "agent/early_signals.hpp"
#include "agent/metrics_listener.hpp"
#include "agent/node_parts.hpp"
#include "agent/server_names.hpp"
#include "agent/server_role.hpp"
#include "agent/systemd.hpp"
#include "async/group.hpp"
#include "async/watchdog.hpp"
#include "base/log.hpp"
#include "base/version.hpp"
#include "host/local.hpp"
#include "node/fingerprint/topology.hpp"
#include "node/node.hpp"
#include "node/task/task_api.hpp"
#include "os/file.hpp"
#include "os/ledger.hpp"
#include "os/process/descriptor_limit.hpp"
#include "slurm/installed.hpp"

namespace underway::agent {
namespace {

constexpr std::size_t kPoolThreads = 4;

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
  std::optional<ServerLoops> beside;
  std::optional<node::Node> node;
  std::optional<MetricsListener> metrics;
  async::TaskGroup chores(loop.executor(), "agent");
  if (config.server.enabled) server.emplace(config, loop, pool, clock, ids);
  if (config.hosts.enabled) provider.emplace(local_options(config.data_dir, config.link_directory()), ledger, clock);
  if (server) beside.emplace(*server, config, provider ? &*provider : nullptr, pool, loop.executor(), clock);
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
    if (beside) co_await beside->start_hosts();
    if (server) server->start(config);
    if (beside) beside->start();
    if (node) co_await node->start();
    if (metrics) metrics->start();
    if (!provider && !node) co_return;
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
    if (beside) co_await beside->stop();
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
