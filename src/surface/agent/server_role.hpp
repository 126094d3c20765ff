#pragma once
/// @file
/// The server role with its sockets, and the control loops that run beside it.

#include <set>

#include "agent/config/config.hpp"
#include "api/access/head_check.hpp"
#include "api/allocation/task_api.hpp"
#include "api/api.hpp"
#include "async/group.hpp"
#include "async/workers.hpp"
#include "files/masters/service.hpp"
#include "growth/forecast/trials.hpp"
#include "growth/growth.hpp"
#include "host/controller.hpp"
#include "host/fence.hpp"
#include "host/virtual/virtual_hosts.hpp"
#include "http/server.hpp"
#include "imageshare/server_images.hpp"
#include "machines/controller.hpp"
#include "ownership/controller.hpp"
#include "ownership/link_executor.hpp"
#include "slurm/drain.hpp"
#include "slurm/elastic/member_controller.hpp"
#include "slurm/reconcile/reconciler.hpp"
#include "store/sqlite_store.hpp"
#include "tracker/tracker.hpp"
#include "trust/server_trust.hpp"

namespace underway::agent {

class ServerRoleRunner {
 public:
  /// All outlive it. Errors: what keeps the state from being used.
  ServerRoleRunner(const Config& config, async::Loop& loop, async::Pool& pool, Clock& clock, IdSource& ids);

  /// Errors: what keeps it from listening.
  void start(const Config& config);
  /// Reads the site's certificates again, if it has any. Throws what keeps them from being used; then the old ones
  /// stay.
  void reload(const Config& config);
  async::awaitable<void> stop();

  server::Server& server() { return server_; }
  /// See machine_links. Errors: as there, and what keeps it from listening.
  std::string links_of_machines(const Config& config, const model::Cluster& cluster);
  void set_capsules(ownership::Controller& capsules) { api_.capsules = &capsules; }
  void set_growth(growth::Growth& growth) { api_.growth = &growth; }
  /// For a node in this process, and for hosts of ours.
  async::awaitable<std::string> make_join_token(server::NewJoinToken request) {
    return api::make_join_token(api_, std::move(request));
  }

 private:
  server::Options server_options(const Config& config);
  std::shared_ptr<http::TlsHolder> api_tls(const Config& config);
  async::LoopPlan certificates_loop(const Config& config);
  async::awaitable<void> keep_fresh();

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
  std::set<std::string> machine_links_;  ///< where links of machines are taken
  http::Router router_, link_router_;
  std::optional<api::HeadCheck> head_check_;
  std::optional<http::Server> http_, link_http_;
  std::optional<api::TaskApi> task_api_;
};

/// What goes on beside the server: hosts are made, Slurm is told, capsules are moved.
class ServerLoops {
 public:
  /// All outlive it. `provider`: null where this process makes no hosts.
  ServerLoops(ServerRoleRunner& server, const Config& config, host::Provider* provider, async::Pool& pool,
              async::Executor executor, Clock& clock);

  /// Hosts first: whoever asks is told of what there is, not of what there was before a crash.
  async::awaitable<void> start_hosts();
  /// When the server has started.
  void start();
  async::awaitable<void> stop();

 private:
  std::optional<host::Controller> hosts_;
  host::VirtualHosts virtual_hosts_;
  slurm::DrainController slurm_drains_;
  slurm::Reconciler slurm_reconciler_;
  slurm::MemberController slurm_members_;
  growth::Growth growth_;
  growth::ForecastTrials forecast_trials_;
  machines::Controller machines_;
  ownership::LinkExecutor node_executor_;
  host::HostFence fence_;
  ownership::Controller capsules_;
  std::optional<tracker::Tracker> tracker_;
};

}  // namespace underway::agent
