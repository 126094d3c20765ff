#pragma once
/// @file
/// From flows and programs to services: who belongs together, and what was counted. Nothing is decided here.

#include <set>

#include "adoption/division/division.hpp"

namespace underway::adoption {

/// A service while it is looked at.
struct Gathered {
  Service service;
  const KnownService* known = nullptr;  ///< of the catalog
  const ServiceOverride* override_by = nullptr;

  std::vector<const traffic::ServiceFlow*> served;     ///< nodes open to the server
  std::vector<const traffic::ServiceFlow*> opened;     ///< the server opens to nodes
  std::vector<const traffic::ServiceFlow*> routed;     ///< through the server
  std::vector<const traffic::ServiceFlow*> to_groups;  ///< heard: sent to a group or to all
  std::vector<const traffic::ServiceFlow*> outside;    ///< opened by outsiders
  std::vector<const traffic::ServiceFlow*> outward;    ///< the server opens to the outside
  std::vector<const inspection::Program*> programs;

  bool named_by_more_than_a_port = false;
  bool listens_outside = false;  ///< a program of it waits at an address that others reach

  std::size_t flow_count() const {
    return served.size() + opened.size() + routed.size() + to_groups.size() + outside.size() + outward.size();
  }
};

struct Gathering {
  std::map<std::string, Gathered> services;                               ///< by name
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> left_out;  ///< flows and packets, by why
};

/// `traffic`, `host`, `overrides` outlive the result. `host` may be null.
Gathering gather(const traffic::Traffic& traffic, const inspection::HostSurvey* host, const Overrides& overrides,
                 const ServiceCatalog& catalog);

}  // namespace underway::adoption
