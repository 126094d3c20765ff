#include "api/api.hpp"

#include "api/routes.hpp"

namespace underway::api {

std::vector<GuardedRoute> register_routes(http::Router& router, Api& api) {
  Routes routes(router, api);
  add_job_routes(routes, api);
  add_plan_routes(routes, api);
  add_start_routes(routes, api);
  add_scaling_routes(routes, api);
  add_version_routes(routes, api);
  add_node_routes(routes, api);
  add_allocation_routes(routes, api);
  add_service_routes(routes, api);
  add_allocation_file_routes(routes, api);
  add_exec_routes(routes, api);
  add_deployment_routes(routes, api);
  add_evaluation_routes(routes, api);
  add_agent_routes(routes, api);
  add_metrics_routes(routes, api);
  add_cluster_routes(routes, api);
  add_host_routes(routes, api);
  add_recall_routes(routes, api);
  add_capsule_routes(routes, api);
  add_slurm_routes(routes, api);
  add_status_routes(routes, api);
  add_elastic_routes(routes, api);
  add_event_routes(routes, api);
  add_explain_routes(routes, api);
  add_trust_routes(routes, api);
  add_variable_routes(routes, api);
  add_keyring_routes(routes, api);
  add_acl_routes(routes, api);
  add_login_routes(routes, api);
  add_operator_routes(routes, api);
  add_audit_routes(routes, api);
  add_change_routes(routes, api);
  add_ticket_routes(routes, api);
  add_namespace_routes(routes, api);
  add_quota_routes(routes, api);
  add_node_pool_routes(routes, api);
  add_image_routes(routes, api);
  add_declared_file_routes(routes, api);
  add_capsule_state_routes(routes, api);
  add_saving_routes(routes, api);
  add_client_routes(routes, api);
  add_evaluation_backlog_routes(routes, api);
  add_job_status_routes(routes, api);
  add_monitor_routes(routes, api);
  add_refused_routes(routes, api);
  add_search_routes(routes, api);
  add_snapshot_routes(routes, api);
  add_volume_routes(routes, api);
  return routes.all();
}

void add_routes(http::Router& router, Api& api) { register_routes(router, api); }

}  // namespace underway::api
