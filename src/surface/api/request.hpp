#pragma once
/// @file
/// A request that the gate has let in: with who sent it, and what it was found to need.

#include "acl/identity.hpp"
#include "api/audit_note.hpp"
#include "api/right.hpp"

namespace underway::api {

using http::Response;

struct Request : http::Request {
  acl::IdentityPtr caller = acl::Identities::unrestricted();
  std::string id = {};  ///< names the request in the audit log and in the answer's X-Request-Id
  /// What the caller was found to have a right to: first the route's, then what the handler required. What runs for
  /// long (a stream, a blocking query) ends once one of them is gone. Shared by copies.
  std::shared_ptr<std::vector<Need>> needs = std::make_shared<std::vector<Need>>();

  /// Of requests that change something, when there is an audit log.
  std::shared_ptr<AuditNote> audit = {};
  std::shared_ptr<void> slot = {};  ///< counts the request as under way

  const acl::Rights& rights() const { return *caller->rights; }
  bool may(std::string_view ns, acl::Capability capability) const { return rights().in(ns, capability); }
  /// Throws Error(denied) unless the caller has the right, for this as long as the request runs.
  void require(const Right& right, std::string ns = {}, std::string path = {}) const;
  /// For the audit log: the row that will be changed; one that was just made; anything else worth telling.
  void about(tables::Scope subject) const;
  void made(tables::Scope subject) const;
  void tell(std::string text) const;
  /// Whether a list shows what is in `ns`: the namespace that was asked for; with "*" each in which the caller may do
  /// what the route asks for.
  bool lists(std::string_view ns) const;
};

/// Nomad's "Permission denied", with what is missing.
Error permission_denied(const acl::Identity& caller, const Need& need);

}  // namespace underway::api
