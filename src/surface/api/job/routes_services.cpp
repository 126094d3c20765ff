// The catalogue of services, and what the checks of allocations say.
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/numbers.hpp"
#include "protocol/messages.hpp"
#include "tables/services.hpp"
#include "wire/job/service_stub.hpp"

namespace underway::api {
namespace {

using acl::Capability;
using tables::Scope;
using tables::Topic;

/// As Nomad's ServiceRegistrationListStub, grouped by namespace.
awaitable<Response> list_services(Api& api, Request request) {
  const std::string ns = namespace_of(request);
  std::vector<Scope> scopes{{Topic::services, ""}};
  co_return co_await answer_list(api, request, std::move(scopes), [&, ns](const tables::Tables& tables) {
    std::map<std::string, wire::ServiceListStub> by_namespace;
    NamespaceFilter shown(request);
    for (auto& service : tables::service_names(tables, ns)) {
      const bool workload = request.caller().kind == acl::Identity::Kind::workload;
      if (!workload && !shown(service.ns)) continue;
      auto& stub = by_namespace[service.ns];
      stub.ns = service.ns;
      stub.services.push_back({std::move(service.name), std::move(service.tags)});
    }
    std::vector<Item> items;
    for (auto& [name, stub] : by_namespace)
      items.push_back(item_of(name, std::make_shared<const wire::ServiceListStub>(std::move(stub))));
    return items;
  });
}

/// "3|key": how many, and for whom. Throws invalid.
std::pair<std::size_t, std::string> parse_choice(const std::string& text) {
  const std::size_t bar = text.find('|');
  const auto count = parse_number<std::size_t>(std::string_view(text).substr(0, bar)).value_or(0);
  if (bar == std::string::npos || count == 0 || bar + 1 == text.size())
    throw Error(Code::invalid, fmt::format("choose '{}' is not understood", text))
        .advise("ask for \"<number>|<key>\": choose=2|web-1");
  return {count, text.substr(bar + 1)};
}

awaitable<Response> read_service(Api& api, Request request) {
  const std::string ns = namespace_of(request), name = request.param("name");
  std::optional<std::pair<std::size_t, std::string>> choice;
  if (const auto text = request.query.find("choose")) choice = parse_choice(*text);
  std::vector<Scope> scopes{{Topic::services, ns + "/" + name}};
  co_return co_await answer_list(api, request, std::move(scopes), [=](const tables::Tables& tables) {
    auto instances = tables::service_instances(tables, ns, name);
    if (choice) instances = tables::choose(std::move(instances), choice->first, choice->second);
    std::vector<Item> items;
    for (std::size_t i = 0; i < instances.size(); ++i) {
      // Chosen ones keep the order of preference.
      std::string token = choice ? fmt::format("{:06}", i) : instances[i].id;
      items.push_back(item_of(std::move(token), std::make_shared<const model::ServiceInstance>(instances[i])));
    }
    return items;
  });
}

/// Entries are computed: what is listed is there, so there is nothing that could be removed.
awaitable<Response> delete_service(Api& api, Request request) {
  const std::string ns = namespace_of(request), id = request.param("id");
  const auto* tables = co_await api.server.read();
  for (const auto& instance : tables::service_instances(*tables, ns, request.param("name"))) {
    if (instance.id != id) continue;
    throw Error(Code::conflict, fmt::format("service '{}' of allocation {} cannot be removed by itself",
                                            instance.service_name, instance.alloc_id.substr(0, 8)))
        .because("entries of the catalogue are computed from the allocations that run")
        .advise(fmt::format("stop it with `underway alloc stop {}`", instance.alloc_id.substr(0, 8)));
  }
  throw Error(Code::not_found, fmt::format("there is no service registration '{}'", id));
}

std::string in_json(const std::vector<model::ServiceInstance>& instances) {
  return json_list(instances, [](const auto& instance) { return nomad_json(instance); });
}

awaitable<Response> services_of_allocation(Api& api, Request request) {
  const std::string id = request.param("id");
  std::vector<Scope> scopes{{Topic::allocations, id}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    return in_json(tables::services_of(tables, *get_allocation(tables, id)));
  });
}

awaitable<Response> services_of_job(Api& api, Request request) {
  const std::string id = request.param("id"), ns = namespace_of(request);
  std::vector<Scope> scopes{{Topic::allocations, "job:" + ns + "/" + id}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    get_job(tables, request, id);
    return in_json(tables::services_of_job(tables, ns, id));
  });
}

/// Only the node knows.
awaitable<Response> checks_of_allocation(Api& api, Request request) {
  const auto* tables = co_await api.server.read();
  const auto allocation = get_allocation(*tables, request.param("id"));
  protocol::TaskRequest ask;
  ask.id = allocation->id;
  const auto body = json::to_value(ask);
  const auto results = co_await api.server.call_node(allocation->node_id, "alloc.checks", body);
  co_return http::json(boost::json::serialize(results));
}

}  // namespace

void add_service_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  const auto read = right::ns(Capability::read_job), of_its_own = right::ns(Capability::read_job, of_allocation);
  routes.add("GET", "/v1/services", "list services", right::catalogue(), with(list_services));
  routes.add("GET", "/v1/service/:name", "read service", right::catalogue(), with(read_service));
  routes.add("DELETE", "/v1/service/:name/:id", "delete service", right::ns(Capability::delete_service_registration),
             with(delete_service));
  routes.add("GET", "/v1/allocation/:id/services", "services of allocation", of_its_own, with(services_of_allocation));
  routes.add("GET", "/v1/job/*id/services", "services of job", read, with(services_of_job));
  routes.add("GET", "/v1/client/allocation/:id/checks", "checks of allocation", of_its_own, with(checks_of_allocation));
  routes.add("GET", "/v1/allocation/:id/checks", "checks of allocation", of_its_own, with(checks_of_allocation));
}

}  // namespace underway::api
