#pragma once
/// @file
/// How routes are registered. One function per group of paths; only add_routes calls them. Each route says what it asks
/// of its caller (api/access/right.hpp), how much it reads at most, and whether it changes anything.

#include "api/access/authorizer.hpp"
#include "api/search/query.hpp"
#include "api/work.hpp"
#include "wire/access/join_token.hpp"

namespace underway::api {

/// Bodies of routes that say nothing: enough for any single thing, and little to hold for many clients at once.
inline constexpr std::size_t kBodyLimit = 1U << 20;
/// Job files have templates and submissions in them.
inline constexpr std::size_t kJobBodyLimit = 16U << 20;
/// A directory of job files.
inline constexpr std::size_t kClusterBodyLimit = 64U << 20;

/// Whether the audit log tells of a request.
enum class Effect {
  by_method,  ///< GET reads, everything else changes something
  reads,      ///< a PUT that changes nothing: parse, plan, search
  changes,    ///< a GET that does: a session in a task
};

/// Throws invalid, in Nomad's words, while the ACL system is off.
void refuse_without_acl(const Api& api);

struct RouteTraits {
  std::size_t body_limit = kBodyLimit;
  Effect effect = Effect::by_method;
};

/// What is known of a registered route: for the reference and for tests.
struct GuardedRoute {
  std::string methods;
  std::string pattern;
  std::string name;
  Right right;
  RouteTraits traits;
};

/// Puts routes on a router, each behind the authorizer.
class Routes {
 public:
  using Handler = std::function<awaitable<Response>(Request)>;

  Routes(http::Router& router, Api& api);
  /// As http::Router::add.
  void add(std::string_view methods, std::string_view pattern, std::string name, Right right, Handler handler,
           RouteTraits traits = {});
  /// A route that takes its body piece by piece (http::RouteOptions::streamed): it is behind the authorizer before any
  /// of it has come.
  using StreamedHandler = std::function<awaitable<Response>(Request, http::BodyReader&)>;
  void add_streamed(std::string_view methods, std::string_view pattern, std::string name, Right right,
                    StreamedHandler handler, RouteTraits traits = {});
  const std::vector<GuardedRoute>& all() const { return all_; }

 private:
  http::Router& router_;
  Api& api_;
  std::shared_ptr<Authorizer> authorizer_;
  std::vector<GuardedRoute> all_;
};

/// All of them: what add_routes (api/api.hpp) does, and what was registered.
std::vector<GuardedRoute> register_routes(http::Router& router, Api& api);

/// The body's "Job", in the namespace that it or the query names. Throws invalid, naming what is not supported.
model::Job job_of(const Request& request, const boost::json::object& body);

void add_job_routes(Routes& routes, Api& api);
void add_plan_routes(Routes& routes, Api& api);
void add_start_routes(Routes& routes, Api& api);
void add_scaling_routes(Routes& routes, Api& api);
void add_version_routes(Routes& routes, Api& api);
void add_node_routes(Routes& routes, Api& api);
void add_node_pool_routes(Routes& routes, Api& api);
void add_allocation_routes(Routes& routes, Api& api);
void add_service_routes(Routes& routes, Api& api);
void add_allocation_file_routes(Routes& routes, Api& api);
void add_exec_routes(Routes& routes, Api& api);
void add_deployment_routes(Routes& routes, Api& api);
void add_evaluation_routes(Routes& routes, Api& api);
void add_agent_routes(Routes& routes, Api& api);
void add_metrics_routes(Routes& routes, Api& api);
void add_cluster_routes(Routes& routes, Api& api);
void add_host_routes(Routes& routes, Api& api);
void add_recall_routes(Routes& routes, Api& api);
void add_capsule_routes(Routes& routes, Api& api);
void add_status_routes(Routes& routes, Api& api);
void add_elastic_routes(Routes& routes, Api& api);
void add_event_routes(Routes& routes, Api& api);
void add_explain_routes(Routes& routes, Api& api);
void add_trust_routes(Routes& routes, Api& api);
void add_variable_routes(Routes& routes, Api& api);
void add_keyring_routes(Routes& routes, Api& api);
void add_acl_routes(Routes& routes, Api& api);
void add_login_routes(Routes& routes, Api& api);
void add_operator_routes(Routes& routes, Api& api);
void add_audit_routes(Routes& routes, Api& api);
void add_change_routes(Routes& routes, Api& api);
void add_ticket_routes(Routes& routes, Api& api);
void add_namespace_routes(Routes& routes, Api& api);
void add_quota_routes(Routes& routes, Api& api);
void add_image_routes(Routes& routes, Api& api);
void add_declared_file_routes(Routes& routes, Api& api);
void add_capsule_state_routes(Routes& routes, Api& api);
void add_saving_routes(Routes& routes, Api& api);
void add_slurm_routes(Routes& routes, Api& api);
void add_client_routes(Routes& routes, Api& api);
void add_evaluation_backlog_routes(Routes& routes, Api& api);
void add_job_status_routes(Routes& routes, Api& api);
void add_monitor_routes(Routes& routes, Api& api);
void add_refused_routes(Routes& routes, Api& api);
void add_search_routes(Routes& routes, Api& api);
void add_snapshot_routes(Routes& routes, Api& api);
void add_volume_routes(Routes& routes, Api& api);

}  // namespace underway::api
