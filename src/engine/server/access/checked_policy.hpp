#pragma once
/// @file
/// A policy whose rules were read: what that costs is its author's choice, so it is done beside the loop, once.

#include "server/access/acl_decisions.hpp"

namespace underway::server {

class CheckedPolicy {
 public:
  /// Throws invalid with every error of the rules, by line and column.
  explicit CheckedPolicy(model::AclPolicy policy);
  const model::AclPolicy& operator*() const { return policy_; }
  const model::AclPolicy* operator->() const { return &policy_; }

 private:
  model::AclPolicy policy_;
};

/// A new policy, or the one of this name changed.
struct PutPolicy {
  CheckedPolicy policy;
};
Decision<Nothing> decide(const Tables&, const PutPolicy&, const Context&);

}  // namespace underway::server
