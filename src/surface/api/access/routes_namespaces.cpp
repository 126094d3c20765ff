// Namespaces: list, read, write, delete.
#include "api/cluster/change_note.hpp"
#include "api/nomad/nomad_body.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "server/access/namespace_decisions.hpp"

namespace underway::api {
namespace {

using model::Namespace;
using server::Context;
using tables::Scope;
using tables::Tables;
using tables::Topic;

awaitable<Response> list_namespaces(Api& api, Request request) {
  const std::string prefix = request.query.find("prefix").value_or("");
  std::vector<Scope> scopes{{Topic::namespaces, ""}};
  co_return co_await answer_list(api, request, std::move(scopes), [&](const Tables& tables) {
    std::vector<Item> items;
    for (const auto& ns : server::namespaces(tables)) {
      if (ns.name.starts_with(prefix) && request.rights().sees(ns.name))
        items.push_back(item_of(ns.name, std::make_shared<const Namespace>(ns)));
    }
    return items;
  });
}

awaitable<Response> read_namespace(Api& api, Request request) {
  const std::string name = request.param("name");
  if (!request.rights().sees(name)) throw Error(Code::denied, acl::kPermissionDenied);
  std::vector<Scope> scopes{{Topic::namespaces, name}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const Tables& tables) {
    const auto ns = server::find_namespace(tables, name);
    if (!ns) throw Error(Code::not_found, "Namespace not found");
    return nomad_json(*ns);
  });
}

awaitable<Response> put_namespace(Api& api, Request request) {
  auto body = parse_body(request);
  refuse_field(body, "NodePoolConfiguration", "it is part of Nomad Enterprise",
               "say who may use a node pool by ACL policies (`node_pool \"gpu\" { … }`), and how much by a quota");
  auto ns = json::decode<Namespace>(boost::json::value(std::move(body)));
  if (const auto& params = request.params; !params.empty()) {
    if (ns.name.empty()) ns.name = request.param("name");
    if (ns.name != request.param("name")) throw Error(Code::invalid, "namespace name does not match request path");
  }
  const std::string name = ns.name;
  Scope subject{Topic::namespaces, name};
  co_await request.about(std::move(subject));
  server::PutNamespace wanted{std::move(ns)};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  co_return written("", tables->revision_of({Topic::namespaces, name}));
}

awaitable<Response> delete_namespace(Api& api, Request request) {
  const std::string name = request.param("name");
  server::DeleteNamespace wanted{name};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  co_return written("", tables->revision_of({Topic::namespaces, name}));
}

}  // namespace

void add_namespace_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/namespaces", "list namespaces", right::something(), with(list_namespaces));
  routes.add("GET", "/v1/namespace/:name", "read namespace", right::something(), with(read_namespace));
  routes.add("PUT|POST", "/v1/namespace", "write namespace", right::management(), with(put_namespace));
  routes.add("PUT|POST", "/v1/namespace/:name", "change namespace", right::management(), with(put_namespace));
  routes.add("DELETE", "/v1/namespace/:name", "delete namespace", right::management(), with(delete_namespace));
}

}  // namespace underway::api
