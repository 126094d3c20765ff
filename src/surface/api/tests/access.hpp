#pragma once
/// @file
/// A world with ACL, and tokens in it.

#include "api/testing/world.hpp"

#include <gtest/gtest.h>

namespace underway::api::testing {

/// ACL is on; requests come from a stranger over TCP unless `token` or `peer` say something else.
class AccessTest : public ::testing::Test {
 protected:
  explicit AccessTest(AccessOptions access = {.acl = true}) : world(std::move(access)) {
    world.peer.address = "192.0.2.7:4000";
  }

  template <class Change>
  void put(Change change) {
    world.apply([change](const tables::Tables&, const server::Context&) {
      server::Decision<server::Nothing> decision;
      decision.changes.push_back(change);
      return decision;
    });
  }
  /// A token whose policy has these rules; its secret is its name. Empty rules: a management token.
  void make_token(const std::string& name, const std::string& rules, TimePoint expires = {}) {
    model::AclToken token;
    token.accessor_id = "accessor-of-" + name;
    token.name = name;
    token.secret_hash = acl::hash_secret(name);
    if (expires != TimePoint{}) token.expiration_time = unix_nanos(expires);
    if (rules.empty()) {
      token.type = model::AclTokenType::management;
    } else {
      set_rules(name, rules);
      token.policies = {name};
    }
    put(tables::PutAclToken{token});
  }
  void set_rules(const std::string& policy, const std::string& rules) {
    acl::parse_policy(rules, policy);  // a rule that grants nothing by mistake would make a test that proves nothing
    put(tables::PutAclPolicy{{policy, "", rules, std::nullopt, 0, 0}});
  }
  void revoke(const std::string& name) { put(tables::DeleteAclToken{"accessor-of-" + name}); }

  int status(const std::string& method, const std::string& target, std::string body = {}) {
    return world.send(method, target, std::move(body)).status;
  }

  World world;
};

}  // namespace underway::api::testing
