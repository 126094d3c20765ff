// Variables: list, read, write with check-and-set, locks.
#include "api/routes.hpp"
#include "wire/variable/variable.hpp"

namespace underway::api {
namespace {

using acl::Access;
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
      if (row->path.starts_with(prefix) && request.rights().variable(row->path, row->ns, Access::list))
        items.push_back({model::variable_key(row->ns, row->path), [row] { return wire::encode_metadata(*row); }});
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
    return wire::encode_variable(api.server.variables().open(*row));
  });
}

/// Path and namespace of the request; the body may repeat them.
VariableClaim claim_of(const Request& request, const wire::VariableBody& body) {
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

/// 409 carries what stands in the way, as Nomad's clients expect it. Who may write and not read sees no items.
Response answer_write(const Request& request, VariableAnswer answer, bool with_lock_id) {
  const auto& row = answer.variable.row;
  if (!request.rights().variable(row.path, row.ns, Access::read)) answer.variable.items.clear();
  Response response = written(wire::encode_variable(answer.variable, with_lock_id && !answer.conflict),
                              answer.variable.row.modify_index);
  if (answer.conflict) response.status = 409;
  return response;
}

awaitable<Response> write_variable(Api& api, Request request) {
  const wire::VariableBody body = wire::parse_variable(parse_body(request));
  const VariableClaim claim = claim_of(request, body);
  // The authorizer looked at the namespace of the query, and the body may name another.
  request.require(right::variable(Access::write), claim.ns, claim.path);
  Scope subject{Topic::variables, model::variable_key(claim.ns, claim.path)};
  co_await request.about(std::move(subject));
  auto& variables = api.server.variables();
  const model::VariableLock lock = body.lock.value_or(model::VariableLock{});
  if (request.query.has("lock-acquire"))
    co_return answer_write(request, co_await variables.acquire(claim, lock, body.items), true);
  if (request.query.has("lock-renew")) co_return answer_write(request, co_await variables.renew(claim), true);
  if (request.query.has("lock-release")) {
    auto released = co_await variables.release(claim);
    if (!released.conflict) released.variable.items.clear();  // as Nomad has it: the request said nothing of them
    co_return answer_write(request, std::move(released), false);
  }
  if (!body.items) throw Error(Code::invalid, "variable missing required Items object");
  co_return answer_write(request, co_await variables.put(claim, *body.items), false);
}

awaitable<Response> delete_variable(Api& api, Request request) {
  const VariableClaim claim = claim_of(request, {});
  const auto answer = co_await api.server.variables().remove(claim);
  if (answer.conflict) co_return answer_write(request, answer, false);
  const auto* tables = co_await api.server.read();
  Response response = written("", tables->revision());
  response.status = 204;
  co_return response;
}

}  // namespace

void add_variable_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/vars", "list variables", right::variables(Access::list), with(list_variables));
  routes.add("GET", "/v1/var/*path", "read variable", right::variable(Access::read), with(read_variable));
  routes.add("PUT|POST", "/v1/var/*path", "write variable", right::variable(Access::write), with(write_variable),
             {.body_limit = 256U << 10});
  routes.add("DELETE", "/v1/var/*path", "delete variable", right::variable(Access::destroy), with(delete_variable));
}

}  // namespace underway::api
