#pragma once
/// @file
/// What one node's templates need to know, as differences: compares the tables with what the node was sent before. A
/// task is told what its identity may read; of everything else, why not.

#include "protocol/messages.hpp"
#include "server/variable/variables.hpp"

namespace underway::server {

class DataFeed {
 public:
  /// `variables` must outlive it.
  DataFeed(std::string node_id, const Variables& variables) : node_id_(std::move(node_id)), variables_(variables) {}

  /// From now on these, and no others.
  void watch(std::vector<protocol::DataNeed> needs);
  /// What the node does not know yet; nothing when it is up to date. What is returned counts as sent.
  std::optional<protocol::DataMessage> next(const Tables& tables);
  /// What next() may depend on.
  std::vector<tables::Scope> scopes(const Tables& tables) const;
  bool outdated(const Tables& tables) const;

 private:
  struct Sent {
    model::Revision revision = -1;  ///< of the scope that the value comes from
    std::string digest;             ///< of the value: a secret is not kept to be compared with
  };
  protocol::DataValue value_of(const Tables& tables, const protocol::DataNeed& need) const;
  void find_variable(const Tables& tables, const model::Allocation& allocation, protocol::DataValue& value) const;
  void list_variables(const Tables& tables, const model::Allocation& allocation, protocol::DataValue& value) const;

  std::string node_id_;
  const Variables& variables_;
  std::map<protocol::DataNeed, Sent> sent_;
};

}  // namespace underway::server
