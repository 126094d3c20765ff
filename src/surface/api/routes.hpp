#pragma once
/// @file
/// One function per group of paths; each registers its routes. Only add_routes calls them.

#include "api/query.hpp"
#include "api/trust_body.hpp"

namespace underway::api {

/// The body's "Job", in the namespace that it or the query names. Throws invalid, naming what is not supported.
model::Job job_of(const Request& request, const boost::json::object& body);

void add_job_routes(http::Router& router, Api& api);
void add_plan_routes(http::Router& router, Api& api);
void add_node_routes(http::Router& router, Api& api);
void add_allocation_routes(http::Router& router, Api& api);
void add_service_routes(http::Router& router, Api& api);
void add_file_routes(http::Router& router, Api& api);
void add_exec_routes(http::Router& router, Api& api);
void add_deployment_routes(http::Router& router, Api& api);
void add_evaluation_routes(http::Router& router, Api& api);
void add_agent_routes(http::Router& router, Api& api);
void add_cluster_routes(http::Router& router, Api& api);
void add_event_routes(http::Router& router, Api& api);
void add_explain_routes(http::Router& router, Api& api);
void add_status_routes(http::Router& router, Api& api);
void add_trust_routes(http::Router& router, Api& api);
void add_variable_routes(http::Router& router, Api& api);
void add_keyring_routes(http::Router& router, Api& api);

}  // namespace underway::api
