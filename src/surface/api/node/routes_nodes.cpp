// Nodes: list, read, allocations, drain, eligibility, purge, orphans.
#include "api/allocation/allocation_body.hpp"
#include "api/cluster/change_note.hpp"
#include "api/node/node_body.hpp"
#include "api/nomad/stubs.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "tables/orphans.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using acl::Level;
using tables::Scope;
using tables::Topic;

awaitable<Response> list_nodes(Api& api, Request request) {
  const std::string prefix = uuid_prefix_of(request);
  const bool os = request.query.flag("os"), resources = request.query.flag("resources");
  std::vector<Scope> scopes{{Topic::nodes, ""}};
  co_return co_await answer_list(
      api, request, std::move(scopes), [prefix, os, resources](const tables::Tables& tables) {
        std::vector<Item> items;
        for (const auto& node : tables.nodes(prefix)) {
          items.push_back({node->id, [node, os, resources] { return node_stub_json(*node, os, resources); },
                           filter::datum_of(*node)});
        }
        return items;
      });
}

awaitable<Response> read_node(Api& api, Request request) {
  const std::string id = request.param("id");
  std::vector<Scope> scopes{{Topic::nodes, id}};
  co_return co_await answer_read(api, request, std::move(scopes),
                                 [&](const tables::Tables& tables) { return node_json(*get_node(tables, id)); });
}

awaitable<Response> node_allocations(Api& api, Request request) {
  const std::string id = request.param("id");
  std::vector<Scope> scopes{{Topic::allocations, "node:" + id}};
  const Gathering gather = [&](const tables::Tables& tables) {
    // None of a node that is not known, as Nomad has it.
    auto allocations = tables.allocations_on_node(id);
    std::erase_if(allocations, [&](const auto& row) { return !request.may(row->ns, Capability::read_job); });
    return [allocations = std::move(allocations)] {
      return json_list(allocations, [](const auto& allocation) { return allocation_json(*allocation); });
    };
  };
  co_return co_await answer_made(api, request, std::move(scopes), gather);
}

awaitable<Response> set_eligibility(Api& api, Request request) {
  const auto body = parse_body(request);
  const auto* text = json::find_member(body, "Eligibility");
  const auto eligibility =
      text != nullptr && text->is_string()
          ? description(describe::Tag<model::Eligibility>{}).parse(std::string_view(text->get_string()))
          : std::nullopt;
  if (!eligibility) throw Error(Code::invalid, "Eligibility must be \"eligible\" or \"ineligible\"");
  server::SetEligibility wanted{request.param("id"), static_cast<model::Eligibility>(*eligibility)};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  const model::Revision index = tables->revision_of({Topic::nodes, request.param("id")});
  co_return written(boost::json::serialize(boost::json::object{
                        {"NodeModifyIndex", index}, {"EvalIDs", nullptr}, {"EvalCreateIndex", 0}, {"Index", index}}),
                    index);
}

/// A field of the drain's specification; `otherwise` when it is not given.
bool flag_of(const boost::json::object& object, const char* name, bool otherwise) {
  const auto* value = json::find_member(object, name);
  if (value == nullptr || value->is_null()) return otherwise;
  if (!value->is_bool()) throw Error(Code::invalid, fmt::format("{} must be true or false", name));
  return value->get_bool();
}

/// {DrainSpec: {Deadline, IgnoreSystemJobs, AskSlurm} or null, MarkEligible, Meta}.
server::DrainNode drain_request(const Request& request) {
  const auto body = parse_body(request);
  server::DrainNode drain;
  drain.node_id = request.param("id");
  drain.mark_eligible = flag_of(body, "MarkEligible", false);
  if (const auto* meta = json::find_member(body, "Meta"); meta != nullptr && !meta->is_null())
    drain.meta = json::decode<model::StringMap>(*meta, "Meta");
  const auto* spec = json::find_member(body, "DrainSpec");
  if (spec == nullptr || spec->is_null()) return drain;
  if (!spec->is_object()) throw Error(Code::invalid, "DrainSpec must be an object, or null to end a drain");
  const auto& object = spec->get_object();
  auto& strategy = drain.drain.emplace();
  strategy.deadline = Duration{0};
  if (const auto* deadline = json::find_member(object, "Deadline"); deadline != nullptr && !deadline->is_null())
    strategy.deadline = json::decode<Duration>(*deadline, "Deadline");
  strategy.ignore_system_jobs = flag_of(object, "IgnoreSystemJobs", false);
  strategy.ask_slurm = flag_of(object, "AskSlurm", false);
  return drain;
}

/// By the decision that would begin it. Throws what that throws.
awaitable<Response> plan_drain(Api& api, Request request) {
  const auto drain = drain_request(request);
  const auto* tables = co_await api.server.read();
  const auto decision = api.server.preview(drain);
  co_return http::json(json::encode(judged(api, *tables, decision.changes)));
}

awaitable<Response> drain_node(Api& api, Request request) {
  auto drain = drain_request(request);
  co_await apply(api, request, std::move(drain));
  const auto* tables = co_await api.server.read();
  const model::Revision index = tables->revision_of({Topic::nodes, request.param("id")});
  co_return written(boost::json::serialize(boost::json::object{
                        {"NodeModifyIndex", index}, {"EvalIDs", nullptr}, {"EvalCreateIndex", 0}, {"Index", index}}),
                    index);
}

awaitable<Response> evaluate_node(Api& api, Request request) {
  server::EvaluateNode wanted{request.param("id")};
  const auto evaluations = co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  const model::Revision index = tables->revision();
  co_return written(boost::json::serialize(boost::json::object{
                        {"EvalIDs", json::to_value(evaluations)},
                        {"EvalCreateIndex", index},
                        {"NodeModifyIndex", tables->revision_of({Topic::nodes, request.param("id")})},
                        {"Index", index}}),
                    index);
}

awaitable<Response> purge_node(Api& api, Request request) {
  server::PurgeNode wanted{request.param("id")};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  const model::Revision index = tables->revision_of({Topic::nodes, request.param("id")});
  co_return written(boost::json::serialize(
                        boost::json::object{{"NodeModifyIndex", index}, {"EvalIDs", nullptr}, {"EvalCreateIndex", 0}}),
                    index);
}

awaitable<Response> list_orphans(Api& api, Request request) {
  std::vector<Scope> scopes{tables::records_scope()};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    auto all = tables::records<model::Orphans>(tables);
    for (auto& node : all)
      std::erase_if(node.allocations,
                    [&](const auto& allocation) { return !request.may(allocation.ns, Capability::read_job); });
    return json::encode(all);
  });
}

awaitable<Response> decide_about_orphans(Api& api, Request request) {
  const auto body = parse_body(request);
  const bool keep = flag_of(body, "Keep", false);
  const auto* nodes = json::find_member(body, "Nodes");
  auto ids = nodes == nullptr ? std::vector<std::string>() : json::decode<std::vector<std::string>>(*nodes, "Nodes");
  if (ids.empty()) throw Error(Code::invalid, "Nodes must name the nodes whose orphans are meant");
  const auto* tables = co_await api.server.read();
  for (const auto& id : ids) get_node(*tables, id);
  std::int64_t count = 0;
  if (keep) {
    auto found = co_await api.server.read_orphans(std::move(ids));
    count = co_await apply(api, request, std::move(found));
  } else {
    server::StopOrphans stop{ids};
    count = co_await apply(api, request, std::move(stop));
    co_await api.server.tell_to_stop_orphans(std::move(ids));
  }
  tables = co_await api.server.read();
  co_return written(boost::json::serialize(boost::json::object{{"Count", count}}), tables->revision());
}

}  // namespace

void add_node_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/nodes", "list nodes", right::node(Level::read), with(list_nodes));
  routes.add("GET", "/v1/node/:id", "read node", right::node(Level::read), with(read_node));
  routes.add("GET", "/v1/node/:id/allocations", "node allocations", right::node(Level::read), with(node_allocations));
  routes.add("PUT|POST", "/v1/node/:id/drain", "drain node", right::node(Level::write), with(drain_node));
  routes.add("PUT|POST", "/v1/underway/node/:id/drain/plan", "plan drain of node", right::node(Level::write),
             with(plan_drain), {.effect = Effect::reads});
  routes.add("PUT|POST", "/v1/node/:id/eligibility", "node eligibility", right::node(Level::write),
             with(set_eligibility));
  routes.add("PUT|POST", "/v1/node/:id/evaluate", "evaluate node", right::node(Level::write), with(evaluate_node));
  routes.add("GET", "/v1/underway/orphans", "list orphans", right::node(Level::read), with(list_orphans));
  routes.add("PUT|POST", "/v1/underway/orphans", "decide about orphans", right::node(Level::write),
             with(decide_about_orphans));
  routes.add("PUT|POST", "/v1/node/:id/purge", "purge node", right::node(Level::write), with(purge_node));
}

}  // namespace underway::api
