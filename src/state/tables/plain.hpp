#pragma once
/// @file
/// Tables whose rows are found by one key and listed in the order of keys. To add one: give its row create_index,
/// modify_index and a description, specialise PlainTable, add it to PlainRows and its changes to Change, and its topic
/// to Topic. Everything else (store, load, waiters) follows.

#include "base/json/enumerators.hpp"
#include "model/access/acl.hpp"
#include "model/access/join_token.hpp"
#include "model/access/namespace.hpp"
#include "model/access/variable.hpp"
#include "model/cluster.hpp"
#include "model/deployment.hpp"
#include "model/record.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

namespace underway::tables {

/// What a waiter waits for: a whole table, or one row or group of rows of it.
enum class Topic : std::uint8_t {
  jobs,
  nodes,
  evaluations,
  allocations,
  clusters,
  hosts,
  settings,
  deployments,
  join_tokens,
  variables,
  leases,
  services,  ///< derived from the allocations
  namespaces,
  acl_policies,
  acl_tokens,
  acl_roles,
  records
};
constexpr std::size_t kTopicCount = kEnumerators<Topic>;

/// topic: of its waiters. prefix: of its keys in the store. key(row): what the row is found by.
template <class T>
struct PlainTable;

template <>
struct PlainTable<model::Cluster> {
  static constexpr Topic topic = Topic::clusters;
  static constexpr std::string_view prefix = "c/";
  static std::string key(const model::Cluster& cluster) { return cluster.name; }
};
template <>
struct PlainTable<model::Host> {
  static constexpr Topic topic = Topic::hosts;
  static constexpr std::string_view prefix = "h/";
  static std::string key(const model::Host& host) { return host.cluster + "/" + host.name; }
};
template <>
struct PlainTable<model::Deployment> {
  static constexpr Topic topic = Topic::deployments;
  static constexpr std::string_view prefix = "d/";
  static std::string key(const model::Deployment& deployment) { return deployment.id; }
};

template <>
struct PlainTable<model::JoinToken> {
  static constexpr Topic topic = Topic::join_tokens;
  static constexpr std::string_view prefix = "jt/";
  static std::string key(const model::JoinToken& token) { return token.id; }
};
template <>
struct PlainTable<model::Variable> {
  static constexpr Topic topic = Topic::variables;
  static constexpr std::string_view prefix = "var/";
  static std::string key(const model::Variable& row) { return model::variable_key(row.ns, row.path); }
};
template <>
struct PlainTable<model::VariableLease> {
  static constexpr Topic topic = Topic::leases;
  static constexpr std::string_view prefix = "lease/";
  static std::string key(const model::VariableLease& row) { return model::variable_key(row.ns, row.path); }
};
template <>
struct PlainTable<model::Namespace> {
  static constexpr Topic topic = Topic::namespaces;
  static constexpr std::string_view prefix = "ns/";
  static std::string key(const model::Namespace& ns) { return ns.name; }
};
template <>
struct PlainTable<model::AclPolicy> {
  static constexpr Topic topic = Topic::acl_policies;
  static constexpr std::string_view prefix = "ap/";
  static std::string key(const model::AclPolicy& policy) { return policy.name; }
};
template <>
struct PlainTable<model::AclToken> {
  static constexpr Topic topic = Topic::acl_tokens;
  static constexpr std::string_view prefix = "at/";
  static std::string key(const model::AclToken& token) { return token.accessor_id; }
};
template <>
struct PlainTable<model::AclRole> {
  static constexpr Topic topic = Topic::acl_roles;
  static constexpr std::string_view prefix = "ar/";
  static std::string key(const model::AclRole& role) { return role.id; }
};
template <>
struct PlainTable<model::Record> {
  static constexpr Topic topic = Topic::records;
  static constexpr std::string_view prefix = "rec/";
  static std::string key(const model::Record& record) { return record.kind + "/" + record.name; }
};

using PlainRows =
    std::tuple<model::Cluster, model::Host, model::Deployment, model::JoinToken, model::Variable, model::VariableLease,
               model::Namespace, model::AclPolicy, model::AclToken, model::AclRole, model::Record>;

/// Adds or replaces a row of a plain table; removes the one of this key.
template <class T>
struct Put {
  T row;
};
template <class T>
struct Delete {
  std::string key;
};

namespace detail {

template <class Rows>
struct PlainMapsOf;
template <class... T>
struct PlainMapsOf<std::tuple<T...>> {
  using type = std::tuple<std::map<std::string, std::shared_ptr<const T>, std::less<>>...>;
};
/// One map for each of the plain tables.
using PlainMaps = PlainMapsOf<PlainRows>::type;

/// Calls `visit.template operator()<T>()` for each type of plain row.
template <class Visit>
void for_each_plain(Visit&& visit) {
  [&]<class... T>(const std::tuple<T...>*) {
    (visit.template operator()<T>(), ...);
  }(static_cast<const PlainRows*>(nullptr));
}

}  // namespace detail
}  // namespace underway::tables
