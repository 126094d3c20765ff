#pragma once
/// @file
/// What a route asks of its caller, as data beside its registration: no route can be registered without. The authorizer
/// (api/access/authorizer.hpp) enforces it before the handler runs; the reference of rights and the test that calls
/// every route without a right are made from it.

#include "acl/rights.hpp"
#include "http/message.hpp"
#include "tables/tables.hpp"

namespace underway::api {

/// Finds the namespace that a request is about; "*" when it is about several, or about nothing that exists: then the
/// capability must be there in some namespace, and the handler looks closer.
using NamespaceFinder = std::string (*)(const tables::Tables& tables, const http::Request& request);

/// The namespace asked for: `default` when none; "*" is all.
std::string namespace_of(const http::Request& request);
/// That of the query.
std::string in_query(const tables::Tables& tables, const http::Request& request);
/// That of the allocation, evaluation or deployment `:id`.
std::string of_allocation(const tables::Tables& tables, const http::Request& request);
std::string of_evaluation(const tables::Tables& tables, const http::Request& request);
std::string of_deployment(const tables::Tables& tables, const http::Request& request);
/// The body names it: the handler calls Request::require once it has read it.
std::string in_body(const tables::Tables& tables, const http::Request& request);

struct Right {
  enum class Kind {
    open,          ///< anybody, without a token
    token,         ///< any valid token
    something,     ///< whoever has any right; what they may not see is left out of the answer
    management,    ///< management tokens
    in_namespace,  ///< a capability in a namespace
    variable,      ///< access to the variable `*path` in the namespace of the query
    variables,     ///< access to some variable; the handler filters
    node,
    agent,
    operators,
    plugin,
    quota,
    node_pool,  ///< the pool `:name`; without one in the path some pool, and the handler requires that of the body
  };
  Kind kind = Kind::management;
  acl::Capability capability = acl::Capability::deny;
  NamespaceFinder where = in_query;
  acl::Access access = acl::Access::deny;
  acl::Level level = acl::Level::write;
  std::string_view why = {};  ///< of an open route: why it needs no token
  bool greeting = false;      ///< of an open route: who shows a token is known by it, and may be told more
  bool workloads = false;     ///< whether any task that shows its identity may do it, too
};

/// How rights are written at a registration: `right::ns(Capability::read_job)`, `right::node(Level::read)`.
namespace right {

using acl::Access;
using acl::Capability;
using acl::Level;

constexpr Right open(std::string_view why) { return {.kind = Right::Kind::open, .why = why}; }
/// As open; with a token there is more to see. One that is not known is refused.
constexpr Right greeting(std::string_view why) {
  Right right = open(why);
  right.greeting = true;
  return right;
}
constexpr Right token() { return {.kind = Right::Kind::token}; }
constexpr Right something() { return {.kind = Right::Kind::something}; }
constexpr Right management() { return {.kind = Right::Kind::management}; }
constexpr Right ns(Capability capability, NamespaceFinder where = in_query) {
  return {.kind = Right::Kind::in_namespace, .capability = capability, .where = where};
}
/// Reading the catalogue: what runs here finds what it talks to, in any namespace. Source: Nomad's documentation,
/// "Workload Identity", on its implicit policy.
constexpr Right catalogue(NamespaceFinder where = in_query) {
  Right right = ns(Capability::read_job, where);
  right.workloads = true;
  return right;
}
constexpr Right variable(Access access) { return {.kind = Right::Kind::variable, .access = access}; }
constexpr Right variables(Access access) { return {.kind = Right::Kind::variables, .access = access}; }
constexpr Right node(Level level) { return {.kind = Right::Kind::node, .level = level}; }
constexpr Right agent(Level level) { return {.kind = Right::Kind::agent, .level = level}; }
constexpr Right operators(Level level) { return {.kind = Right::Kind::operators, .level = level}; }
/// Whoever applies clusters, and tasks that show their identity: the handler looks whether it is one of the job that
/// runs the cluster's slurmctld.
constexpr Right slurmctld() {
  Right right = operators(Level::write);
  right.workloads = true;
  return right;
}
constexpr Right plugin(Level level) { return {.kind = Right::Kind::plugin, .level = level}; }
constexpr Right node_pool(Level level) { return {.kind = Right::Kind::node_pool, .level = level}; }
constexpr Right quota(Level level) { return {.kind = Right::Kind::quota, .level = level}; }

}  // namespace right

/// A right with what it is about filled in: enough to ask again later.
struct Need {
  Right right;
  std::string ns;
  std::string path;  ///< of a variable, or the name of a node pool
};

Need need_of(const Right& right, const tables::Tables& tables, const http::Request& request);
bool allows(const acl::Rights& rights, const Need& need);
/// "namespace:read-job", "node:write", "management": for refusals and the reference.
std::string spell(const Right& right);

}  // namespace underway::api
