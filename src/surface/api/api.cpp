#include "api/api.hpp"

#include "api/routes.hpp"

namespace underway::api {

void add_routes(http::Router& router, Api& api) {
  add_job_routes(router, api);
  add_plan_routes(router, api);
  add_node_routes(router, api);
  add_allocation_routes(router, api);
  add_service_routes(router, api);
  add_file_routes(router, api);
  add_exec_routes(router, api);
  add_deployment_routes(router, api);
  add_evaluation_routes(router, api);
  add_agent_routes(router, api);
  add_cluster_routes(router, api);
  add_status_routes(router, api);
  add_event_routes(router, api);
  add_explain_routes(router, api);
  add_trust_routes(router, api);
  add_variable_routes(router, api);
  add_keyring_routes(router, api);
}

}  // namespace underway::api
