#pragma once
/// @file
/// What the template functions of Consul and Vault ask for, and what they get: from a real server, or from what stands
/// in for one. The words are those of Consul's and Vault's HTTP APIs.

#include <boost/json/object.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace underway::gotemplate {

enum class ForeignKind : std::uint8_t { service, services, key, keys, secret, secrets };

/// One question. Two that are equal have the same answer.
struct ForeignQuery {
  ForeignKind kind = ForeignKind::service;
  std::string name{};        ///< a service, a key, the prefix of keys, the path of a secret; none for services
  std::string datacenter{};  ///< Consul's; empty: its agent's own
  std::string near{};        ///< of a service: the node to sort by
  bool passing = true;       ///< of a service: no others are asked for
  std::map<std::string, std::string> parameters{};  ///< of a secret: what is written to have it made
  auto operator<=>(const ForeignQuery&) const = default;
};

struct ForeignCheck {
  std::string node{}, id{}, name{}, status{}, notes{}, output{}, service_id{}, service_name{};
};

/// Consul's health entry of one instance.
struct ForeignInstance {
  std::string id{}, name{};
  std::string node{}, node_id{}, node_address{}, node_datacenter{};
  std::map<std::string, std::string> node_meta{};
  std::string address{};  ///< the node's, where the service has none
  std::int64_t port = 0;
  std::vector<std::string> tags{};
  std::map<std::string, std::string> meta{};
  std::string status{};  ///< the worst of its checks: passing, warning, critical, maintenance
  std::vector<ForeignCheck> checks{};
};

struct ServiceSummary {
  std::string name;
  std::vector<std::string> tags;
};

struct KeyPair {
  std::string path{};
  std::string value{};
  std::uint64_t create_index = 0, modify_index = 0, lock_index = 0, flags = 0;
  std::string session{};
};

struct Secret {
  std::string request_id{}, lease_id{};
  std::int64_t lease_duration = 0;  ///< seconds
  bool renewable = false;
  boost::json::object data{};
  std::vector<std::string> warnings{};
  /// `.Data.data` and `.Data.metadata` are there beside the data itself: for what stands in for either version of KV.
  std::optional<boost::json::object> metadata{};
};

/// By the kind of the query one of these is filled.
struct ForeignAnswer {
  std::vector<ForeignInstance> instances{};
  std::vector<ServiceSummary> services{};
  std::vector<KeyPair> pairs{};      ///< of a key: one, or none when there is no such key
  std::optional<Secret> secret{};    ///< absent: there is none
  std::vector<std::string> names{};  ///< of secrets; those that end in "/" hold others
};

/// No answer: not known yet; `why`, for people, may be empty.
struct ForeignReply {
  std::optional<ForeignAnswer> answer{};
  std::string why{};
};

/// As consul-template spells it: "health.service(web)", "kv.block(app/x)", "vault.read(secret/db)".
std::string to_string(const ForeignQuery& query);

}  // namespace underway::gotemplate
