#pragma once
/// @file
/// What one node shall have, as differences: compares the tables with what the node was sent before.

#include <unordered_map>

#include "protocol/messages.hpp"
#include "server/job/dependencies.hpp"
#include "tables/tables.hpp"

namespace underway::server {

class Orders {
 public:
  /// `root_by_raw_exec`: every namespace gives every right (Context).
  explicit Orders(std::string node_id, bool root_by_raw_exec = false)
      : node_id_(std::move(node_id)), root_by_raw_exec_(root_by_raw_exec) {}

  /// What the node does not know yet; nothing when it is up to date. The first message is full. What is returned
  /// counts as sent: begin with fresh Orders when the link breaks.
  std::optional<protocol::AllocationsMessage> next(const tables::Tables& tables, Dependents& dependents);

 private:
  struct Sent {
    model::Revision alloc_modify_index = 0;
    std::int64_t job_version = 0;
    Gate gate;
    std::vector<std::string> host_rights;
  };
  void add_job(protocol::AllocationsMessage& message, const model::Allocation& allocation);

  std::vector<std::string> rights_in(const tables::Tables& tables, const std::string& ns) const;

  std::string node_id_;
  bool root_by_raw_exec_;
  bool first_ = true;
  std::unordered_map<std::string, Sent> sent_;
  /// By job_key: the job's create index, as a job that was purged and came back begins with version 0 again.
  std::unordered_map<std::string, model::Revision> jobs_sent_;
};

}  // namespace underway::server
