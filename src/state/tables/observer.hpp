#pragma once
/// @file
/// A follower that is told of more than nodes and allocations: of every row that people watch. For those who pass on
/// what happens; whoever keeps an index of nodes or allocations is a plain Follower and pays for nothing else.

#include "tables/tables.hpp"

namespace underway::tables {

/// Tables::follow() takes it as any follower. All are called at apply(): what they say is durable, and may be told
/// others, with the next publish(); after a commit that failed reset() comes instead.
struct Observer : Tables::Follower {
  /// After reset() and the rows that came anew: what is told from now on has happened.
  virtual void loaded() = 0;
  virtual void job_changed(const Row<model::Job>& before, const Row<model::Job>& after) = 0;
  virtual void evaluation_changed(const Row<model::Evaluation>& before, const Row<model::Evaluation>& after) = 0;
  virtual void deployment_changed(const Row<model::Deployment>& before, const Row<model::Deployment>& after) = 0;
  virtual void cluster_changed(const Row<model::Cluster>& before, const Row<model::Cluster>& after) = 0;
  virtual void host_changed(const Row<model::Host>& before, const Row<model::Host>& after) = 0;
  virtual void variable_changed(const Row<model::Variable>& before, const Row<model::Variable>& after) = 0;
  virtual void acl_policy_changed(const Row<model::AclPolicy>& before, const Row<model::AclPolicy>& after) = 0;
  virtual void acl_token_changed(const Row<model::AclToken>& before, const Row<model::AclToken>& after) = 0;
  virtual void acl_role_changed(const Row<model::AclRole>& before, const Row<model::AclRole>& after) = 0;
  /// Of whatever kind.
  virtual void record_changed(const Row<model::Record>& before, const Row<model::Record>& after) = 0;
};

}  // namespace underway::tables
