// What operators set and ask for the whole cluster. Consensus is the store's, and here there is one server: Nomad's
// clients read the shapes that they know, and what there is no part for is refused by name.
#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/version.hpp"
#include "node/fingerprint/fingerprint.hpp"
#include "server/storage/operator_decisions.hpp"
#include "tables/scheduler_configuration.hpp"

namespace underway::api {
namespace {

using acl::Level;
using boost::json::object;
using server::Context;
using tables::Tables;

/// Durations are text: Nomad's clients read them in no other form.
object autopilot_body(const model::AutopilotConfiguration& configuration) {
  object body = json::to_value(configuration).as_object();
  body["LastContactThreshold"] = format_duration(configuration.last_contact_threshold);
  body["ServerStabilizationTime"] = format_duration(configuration.server_stabilization_time);
  return body;
}

awaitable<Response> read_scheduler_configuration(Api& api, Request request) {
  std::vector<tables::Scope> scopes{tables::scheduler_configuration_scope()};
  co_return co_await answer_read(api, request, std::move(scopes), [](const Tables& tables) {
    const auto configuration = tables::scheduler_configuration(tables);
    return boost::json::serialize(object{{"Index", configuration.modify_index},
                                         {"KnownLeader", true},
                                         {"LastContact", 0},
                                         {"NextToken", ""},
                                         {"SchedulerConfig", json::to_value(configuration)}});
  });
}

awaitable<Response> write_scheduler_configuration(Api& api, Request request) {
  const auto body = parse_body(request);
  server::PutSchedulerConfiguration put{json::decode<model::SchedulerConfiguration>(body), {}};
  if (request.query.has("cas")) put.cas = integer_parameter(request, "cas", 0);
  tables::Scope subject = tables::scheduler_configuration_scope();
  co_await request.about(std::move(subject));
  const bool updated = co_await apply(api, request, std::move(put));
  const auto* tables = co_await api.server.read();
  const auto index = tables::scheduler_configuration(*tables).modify_index;
  co_return written(boost::json::serialize(object{{"Updated", updated}, {"Index", index}}), index);
}

// --- one server

object raft_server(const Api& api) {
  return {{"ID", api.agent.name},
          {"Node", api.agent.name + "." + api.agent.region},
          {"Address", api.agent.http_address},
          {"Leader", true},
          {"Voter", true},
          {"RaftProtocol", "3"}};
}

awaitable<Response> read_raft_configuration(Api& api, Request request) {
  std::vector<tables::Scope> scopes;
  co_return co_await answer_read(api, request, std::move(scopes), [&](const Tables& tables) {
    return boost::json::serialize(object{{"Index", std::max<model::Revision>(tables.revision(), 1)},
                                         {"Servers", boost::json::array{raft_server(api)}}});
  });
}

Error one_server(std::string what) {
  return Error(Code::unsupported, std::move(what))
      .because("there is one server here: its state is in its own store, and no Raft is spoken");
}

awaitable<Response> remove_raft_peer(Api& api, Request request) {
  const auto self = raft_server(api);
  for (const auto& [parameter, member] : {std::pair("id", "ID"), std::pair("address", "Address")}) {
    const auto wanted = request.query.find(parameter);
    if (wanted && *wanted != std::string_view(self.at(member).as_string()))
      throw Error(Code::not_found,
                  fmt::format("{} \"{}\" was not found in the Raft configuration", parameter, *wanted));
  }
  throw one_server("cannot remove a Raft peer");
}
awaitable<Response> transfer_leadership(Api&, Request) { throw one_server("cannot transfer the leadership"); }

awaitable<Response> read_autopilot_configuration(Api& api, Request request) {
  std::vector<tables::Scope> scopes{tables::record_scope<model::AutopilotConfiguration>("cluster")};
  co_return co_await answer_read(api, request, std::move(scopes), [](const Tables& tables) {
    return boost::json::serialize(autopilot_body(server::autopilot_configuration(tables)));
  });
}

awaitable<Response> write_autopilot_configuration(Api& api, Request request) {
  server::PutAutopilotConfiguration put{json::decode<model::AutopilotConfiguration>(parse_body(request)), {}};
  if (request.query.has("cas")) put.cas = integer_parameter(request, "cas", 0);
  tables::Scope subject = tables::record_scope<model::AutopilotConfiguration>("cluster");
  co_await request.about(std::move(subject));
  const bool updated = co_await apply(api, request, std::move(put));
  const auto* tables = co_await api.server.read();
  co_return written(updated ? "true" : "false", server::autopilot_configuration(*tables).modify_index);
}

awaitable<Response> autopilot_health(Api& api, Request request) {
  const bool healthy = !api.server.writer().trouble();
  std::vector<tables::Scope> scopes;
  auto response = co_await answer_read(api, request, std::move(scopes), [&](const Tables& tables) {
    object server{{"ID", api.agent.name},
                  {"Name", api.agent.name + "." + api.agent.region},
                  {"Address", api.agent.http_address},
                  {"SerfStatus", "alive"},
                  {"Version", std::string(node::kNomadVersion)},
                  {"Leader", true},
                  {"LastContact", "0s"},
                  {"LastTerm", 1},
                  {"LastIndex", std::max<model::Revision>(tables.revision(), 1)},
                  {"Healthy", healthy},
                  {"Voter", true},
                  {"StableSince", format_time(api.server.started_at())}};
    return boost::json::serialize(object{{"Healthy", healthy},
                                         {"FailureTolerance", 0},
                                         {"Servers", boost::json::array{std::move(server)}},
                                         {"Leader", api.agent.name},
                                         {"Voters", boost::json::array{api.agent.name}}});
  });
  if (!healthy) response.status = 429;  // as Nomad answers it
  co_return response;
}

/// Terraform's provider asks for it, and takes this answer for the free edition.
awaitable<Response> refuse_license(Api&, Request) {
  co_return http::text(501,
                       "Nomad Enterprise only endpoint: there is no licence here, and everything is in the free build");
}

/// Summaries are counted from the allocations whenever they are asked for: they cannot be wrong.
awaitable<Response> reconcile_summaries(Api&, Request) { co_return http::json(""); }

}  // namespace

void add_operator_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/operator/scheduler/configuration", "read scheduler configuration",
             right::operators(Level::read), with(read_scheduler_configuration));
  routes.add("PUT|POST", "/v1/operator/scheduler/configuration", "write scheduler configuration",
             right::operators(Level::write), with(write_scheduler_configuration));
  const Right reads = right::operators(Level::read), writes = right::operators(Level::write);
  routes.add("GET", "/v1/operator/raft/configuration", "read raft configuration", reads, with(read_raft_configuration));
  routes.add("DELETE", "/v1/operator/raft/peer", "remove raft peer", writes, with(remove_raft_peer));
  routes.add("PUT|POST", "/v1/operator/raft/transfer-leadership", "transfer leadership", writes,
             with(transfer_leadership));
  routes.add("GET", "/v1/operator/autopilot/configuration", "read autopilot configuration", reads,
             with(read_autopilot_configuration));
  routes.add("PUT|POST", "/v1/operator/autopilot/configuration", "write autopilot configuration", writes,
             with(write_autopilot_configuration));
  routes.add("GET", "/v1/operator/autopilot/health", "autopilot health", reads, with(autopilot_health));
  routes.add("GET", "/v1/operator/license", "read license", reads, with(refuse_license));
  routes.add("PUT|POST", "/v1/system/reconcile/summaries", "reconcile summaries", right::management(),
             with(reconcile_summaries));
}

}  // namespace underway::api
