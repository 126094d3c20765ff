#include "api/access/right.hpp"

#include <fmt/format.h>

namespace underway::api {

namespace {

std::string parameter(const http::Request& request, std::string_view name) {
  for (const auto& [key, value] : request.params) {
    if (key == name) return value;
  }
  return {};
}

template <class Row>
std::string namespace_or_any(const Row& row) {
  return row ? row->ns : "*";
}

}  // namespace

std::string namespace_of(const http::Request& request) {
  auto ns = request.query.find("namespace");
  return ns && !ns->empty() ? *ns : "default";
}
std::string in_query(const tables::Tables&, const http::Request& request) { return namespace_of(request); }
std::string of_allocation(const tables::Tables& tables, const http::Request& request) {
  return namespace_or_any(tables.find_allocation(parameter(request, "id")));
}
std::string of_evaluation(const tables::Tables& tables, const http::Request& request) {
  return namespace_or_any(tables.find_evaluation(parameter(request, "id")));
}
std::string of_deployment(const tables::Tables& tables, const http::Request& request) {
  return namespace_or_any(tables.find<model::Deployment>(parameter(request, "id")));
}
std::string in_body(const tables::Tables&, const http::Request&) { return "*"; }

Need need_of(const Right& right, const tables::Tables& tables, const http::Request& request) {
  Need need{right, {}, {}};
  const bool about_namespace = right.kind == Right::Kind::in_namespace || right.kind == Right::Kind::variable ||
                               right.kind == Right::Kind::variables;
  if (about_namespace) need.ns = right.where(tables, request);
  if (right.kind == Right::Kind::variable) need.path = parameter(request, "path");
  if (right.kind == Right::Kind::node_pool) need.path = parameter(request, "name");
  return need;
}

bool allows(const acl::Rights& rights, const Need& need) {
  const Right& right = need.right;
  switch (right.kind) {
    case Right::Kind::open:
    case Right::Kind::token:  // whoever is known by a token has shown it
      return true;
    case Right::Kind::something:
      return rights.any();
    case Right::Kind::management:
      return rights.is_management();
    case Right::Kind::in_namespace:
      return rights.in(need.ns, right.capability);
    case Right::Kind::variable:
      return rights.variable(need.path, need.ns, right.access);
    case Right::Kind::variables:
      return rights.some_variable(need.ns, right.access);
    case Right::Kind::node:
      return rights.node(right.level);
    case Right::Kind::agent:
      return rights.agent(right.level);
    case Right::Kind::operators:
      return rights.operators(right.level);
    case Right::Kind::plugin:
      return rights.plugin(right.level);
    case Right::Kind::quota:
      return rights.quota(right.level);
    case Right::Kind::node_pool:
      return need.path.empty() ? rights.some_node_pool(right.level) : rights.node_pool(need.path, right.level);
  }
  return false;
}

std::string spell(const Right& right) {
  switch (right.kind) {
    case Right::Kind::open:
      return "none";
    case Right::Kind::token:
      return "any token";
    case Right::Kind::something:
      return "any right";
    case Right::Kind::management:
      return "management";
    case Right::Kind::in_namespace:
      return fmt::format("namespace:{}{}", acl::spell(right.capability),
                         right.workloads ? ", or a task's identity" : "");
    case Right::Kind::variable:
    case Right::Kind::variables:
      return fmt::format("variables:{}", acl::spell(right.access));
    case Right::Kind::node:
      return fmt::format("node:{}", acl::spell(right.level));
    case Right::Kind::agent:
      return fmt::format("agent:{}", acl::spell(right.level));
    case Right::Kind::operators:
      return fmt::format("operator:{}{}", acl::spell(right.level),
                         right.workloads ? ", or the identity of a task beside slurmctld" : "");
    case Right::Kind::plugin:
      return fmt::format("plugin:{}", acl::spell(right.level));
    case Right::Kind::quota:
      return fmt::format("quota:{}", acl::spell(right.level));
    case Right::Kind::node_pool:
      return fmt::format("node_pool:{}", acl::spell(right.level));
  }
  return {};
}

}  // namespace underway::api
