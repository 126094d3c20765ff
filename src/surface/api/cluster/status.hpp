#pragma once
/// @file
/// Everything for one screen: clusters, hosts, nodes, services, and what needs somebody.

#include <functional>

#include "model/capsule/capsule.hpp"
#include "tables/tables.hpp"
#include "wire/cluster/status.hpp"

namespace underway::api {

/// What of it somebody may see.
struct Visibility {
  std::function<bool(const std::string& ns)> jobs = [](const std::string&) { return true; };
  bool nodes = true;  ///< and hosts, and clusters
  TimePoint now{};    ///< by which something is overdue; without: nothing is
  /// Puts in what is known of a capsule's copies beside the tables; ownership::Controller::complete().
  std::function<std::string(model::Capsule&)> copies = [](model::Capsule&) { return std::string(); };
};

/// `cluster` empty: everything.
/// `linked` tells whether a node's link stands.
wire::Status status_of(const tables::Tables& tables, const std::string& cluster,
                       const std::function<bool(const std::string& node_id)>& linked,
                       const Visibility& visibility = {});

/// What a task of it failed of, first of all; else what its node says of it.
std::string cause_in_words(const model::Allocation& allocation);

}  // namespace underway::api
