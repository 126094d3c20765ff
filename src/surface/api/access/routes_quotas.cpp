// Quotas: list, read, write, delete, and what is used of them.
#include "api/cluster/change_note.hpp"
#include "api/nomad/nomad_body.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "server/access/quota_decisions.hpp"

namespace underway::api {
namespace {

using acl::Level;
using model::Quota;
using server::Context;
using tables::Scope;
using tables::Tables;
using tables::Topic;

/// With the right to quotas, or to a namespace that the quota bounds. Of others nobody learns whether they are there.
bool sees(const Request& request, const Tables& tables, const std::string& quota) {
  if (request.rights().quota(Level::read)) return true;
  const auto bounded = tables::namespaces_of_quota(tables, quota);
  return std::any_of(bounded.begin(), bounded.end(), [&](const auto& ns) { return request.rights().sees(ns); });
}

Error unseen(const std::string& name) { return Error(Code::not_found, fmt::format("quota '{}' not found", name)); }

std::vector<Scope> usage_scopes() {
  return {tables::records_scope(), {Topic::namespaces, ""}, {Topic::allocations, ""}, {Topic::variables, ""}};
}

awaitable<Response> list_quotas(Api& api, Request request) {
  const std::string prefix = request.query.find("prefix").value_or("");
  std::vector<Scope> scopes{tables::records_scope(), {Topic::namespaces, ""}};
  co_return co_await answer_list(api, request, std::move(scopes), [&](const Tables& tables) {
    std::vector<Item> items;
    for (const auto& quota : tables::records<Quota>(tables, prefix)) {
      if (sees(request, tables, quota.name)) items.push_back(item_of(quota.name, std::make_shared<const Quota>(quota)));
    }
    return items;
  });
}

awaitable<Response> list_usages(Api& api, Request request) {
  const std::string prefix = request.query.find("prefix").value_or("");
  co_return co_await answer_list(api, request, usage_scopes(), [&](const Tables& tables) {
    std::vector<Item> items;
    for (const auto& quota : tables::records<Quota>(tables, prefix)) {
      if (!sees(request, tables, quota.name)) continue;
      auto usage = std::make_shared<const model::QuotaUsage>(server::quota_usage(tables, quota.name));
      items.push_back(item_of(quota.name, std::move(usage)));
    }
    return items;
  });
}

awaitable<Response> read_quota(Api& api, Request request) {
  const std::string name = request.param("name");
  std::vector<Scope> scopes{tables::record_scope<Quota>(name), {Topic::namespaces, ""}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const Tables& tables) {
    const auto quota = tables::find_record<Quota>(tables, name);
    if (!quota || !sees(request, tables, name)) throw unseen(name);
    return nomad_json(*quota);
  });
}

awaitable<Response> read_usage(Api& api, Request request) {
  const std::string name = request.param("name");
  co_return co_await answer_read(api, request, usage_scopes(), [&](const Tables& tables) {
    if (!sees(request, tables, name)) throw unseen(name);
    return json::encode(server::quota_usage(tables, name));
  });
}

awaitable<Response> put_quota(Api& api, Request request) {
  auto quota = json::decode<Quota>(boost::json::value(parse_body(request)));
  if (!request.params.empty()) {
    if (quota.name.empty()) quota.name = request.param("name");
    if (quota.name != request.param("name")) throw Error(Code::invalid, "quota name does not match request path");
  }
  const std::string name = quota.name;
  Scope subject = tables::record_scope<Quota>(name);
  co_await request.about(std::move(subject));
  server::PutQuota wanted{std::move(quota), api.agent.region};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  co_return written("", tables->revision_of(tables::record_scope<Quota>(name)));
}

awaitable<Response> delete_quota(Api& api, Request request) {
  const std::string name = request.param("name");
  server::DeleteQuota wanted{name};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  co_return written("", tables->revision_of(tables::record_scope<Quota>(name)));
}

}  // namespace

void add_quota_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  constexpr auto write = right::quota(Level::write);
  routes.add("GET", "/v1/quotas", "list quotas", right::something(), with(list_quotas));
  routes.add("GET", "/v1/quota-usages", "list quota usages", right::something(), with(list_usages));
  routes.add("GET", "/v1/quota/usage/:name", "read quota usage", right::something(), with(read_usage));
  routes.add("GET", "/v1/quota/:name", "read quota", right::something(), with(read_quota));
  routes.add("PUT|POST", "/v1/quota", "write quota", write, with(put_quota));
  routes.add("PUT|POST", "/v1/quota/:name", "change quota", write, with(put_quota));
  routes.add("DELETE", "/v1/quota/:name", "delete quota", write, with(delete_quota));
}

}  // namespace underway::api
