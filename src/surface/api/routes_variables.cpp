// Variables: list, read, write with check-and-set, locks.
#include "api/routes.hpp"
#include "api/variable_body.hpp"

namespace underway::api {
namespace {

using model::Variable;
using server::VariableAnswer;
using server::VariableClaim;
using tables::Scope;
using tables::Topic;

std::string path_of(const Request& request) {
  std::string path = request.param("path");
  if (const auto wrong = model::path_problem(path); !wrong.empty())
    throw Error(Code::invalid, fmt::format("variable '{}' is not valid", path)).because(wrong);
  return path;
}

awaitable<Response> list_variables(Api& api, Request request) {
  const std::string ns = namespace_of(request), prefix = request.query.find("prefix").value_or("");
  std::vector<Scope> scopes{{Topic::variables, ""}};
  co_return co_await answer_list(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    std::vector<Item> items;
    for (const auto& row : tables.rows<Variable>(ns == "*" ? "" : ns + "/" + prefix)) {
      if (row->path.starts_with(prefix))
        items.push_back({model::variable_key(row->ns, row->path), [row] { return encode_metadata(*row); }});
    }
    return items;
  });
}

awaitable<Response> read_variable(Api& api, Request request) {
  const std::string key = model::variable_key(namespace_of(request), path_of(request));
  std::vector<Scope> scopes{{Topic::variables, key}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const tables::Tables& tables) {
    const auto row = tables.find<Variable>(key);
    if (!row) throw Error(Code::not_found, "variable not found");
    return encode_variable(api.server.variables().open(*row));
  });
}

/// Path and namespace of the request; the body may repeat them.
VariableClaim claim_of(const Request& request, const VariableBody& body) {
  VariableClaim claim;
  claim.path = path_of(request);
  claim.ns = body.ns.empty() || request.query.has("namespace") ? namespace_of(request) : body.ns;
  if (claim.ns == "*") throw Error(Code::invalid, "a variable is in one namespace").because("the request names '*'");
  if (!body.path.empty() && body.path != claim.path)
    throw Error(Code::invalid, "the variable's path does not match the request's");
  if (request.query.has("cas")) claim.cas = integer_parameter(request, "cas", 0);
  if (body.lock) claim.lock_id = body.lock->id;
  return claim;
}

/// 409 carries what stands in the way, as Nomad's clients expect it.
Response answer_write(const VariableAnswer& answer, bool with_lock_id) {
  Response response =
      written(encode_variable(answer.variable, with_lock_id && !answer.conflict), answer.variable.row.modify_index);
  if (answer.conflict) response.status = 409;
  return response;
}

awaitable<Response> write_variable(Api& api, Request request) {
  const VariableBody body = parse_variable(parse_body(request));
  const VariableClaim claim = claim_of(request, body);
  auto& variables = api.server.variables();
  const model::VariableLock lock = body.lock.value_or(model::VariableLock{});
  if (request.query.has("lock-acquire"))
    co_return answer_write(co_await variables.acquire(claim, lock, body.items), true);
  if (request.query.has("lock-renew")) co_return answer_write(co_await variables.renew(claim), true);
  if (request.query.has("lock-release")) co_return answer_write(co_await variables.release(claim), false);
  if (!body.items) throw Error(Code::invalid, "the variable has no Items");
  co_return answer_write(co_await variables.put(claim, *body.items), false);
}

awaitable<Response> delete_variable(Api& api, Request request) {
  const VariableClaim claim = claim_of(request, {});
  const auto answer = co_await api.server.variables().remove(claim);
  if (answer.conflict) co_return answer_write(answer, false);
  const auto* tables = co_await api.server.read();
  Response response = written("", tables->revision());
  response.status = 204;
  co_return response;
}

}  // namespace

void add_variable_routes(http::Router& router, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  router.add("GET", "/v1/vars", "list variables", with(list_variables));
  router.add("GET", "/v1/var/*path", "read variable", with(read_variable));
  router.add("PUT|POST", "/v1/var/*path", "write variable", with(write_variable), {.body_limit = 256U << 10});
  router.add("DELETE", "/v1/var/*path", "delete variable", with(delete_variable));
}

}  // namespace underway::api
