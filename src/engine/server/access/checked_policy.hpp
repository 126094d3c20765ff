#pragma once
/// @file
/// A policy whose rules were read. A client may send a megabyte of rules, and reading those takes longer than the loop
/// may stand still: they are read once, on the pool, and the decision gets the result.

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
