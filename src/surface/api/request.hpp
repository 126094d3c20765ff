#pragma once
/// @file
/// A request that the authorizer has let in: with who sent it, and what it was found to need.

#include <unordered_map>

#include "acl/identity.hpp"
#include "api/access/audit_note.hpp"
#include "api/access/right.hpp"

namespace underway::api {

using http::Response;

/// Who sent a request, and what it was found to have a right to: first the route's, then what the handler required.
struct Standing {
  acl::IdentityPtr caller = acl::Identities::unrestricted();
  std::vector<Need> needs = {};
};

struct Request : http::Request {
  /// Shared by copies. While something runs for long (a stream, a blocking query) the authorizer keeps it up to date,
  /// and ends what runs once a need is gone.
  std::shared_ptr<Standing> standing = std::make_shared<Standing>();
  std::string id = {};  ///< names the request in the audit log and in the answer's X-Request-Id

  /// Of requests that change something, when there is an audit log.
  std::shared_ptr<AuditNote> audit = {};
  std::shared_ptr<void> slot = {};         ///< counts the request as under way
  std::string service_provider = "nomad";  ///< of services of its jobs that name none

  const acl::Identity& caller() const { return *standing->caller; }
  const acl::Rights& rights() const { return *caller().rights; }
  bool may(std::string_view ns, acl::Capability capability) const { return rights().in(ns, capability); }
  /// Throws Error(denied) unless the caller has the right, for this as long as the request runs.
  void require(const Right& right, std::string ns = {}, std::string path = {}) const;
  /// For the audit log: the row that will be changed; one that was just made; anything else worth telling.
  asio::awaitable<void> about(tables::Scope subject) const;
  void made(tables::Scope subject) const;
  void tell(std::string text) const;
};

/// Whether a list shows what is in a namespace: in the one that was asked for; with "*" in each in which the caller may
/// do what the route asks for. Lists are long: each namespace is decided on once. The request outlives it.
class NamespaceFilter {
 public:
  explicit NamespaceFilter(const Request& request) : request_(request), asked_(namespace_of(request)) {}
  bool operator()(const std::string& ns);

 private:
  const Request& request_;
  std::string asked_;
  std::unordered_map<std::string, bool> known_;
};

/// Its `prefix`, of lists whose ids are UUIDs: as they are written, in small letters and with their hyphens, which
/// clients leave away or put where they like.
std::string uuid_prefix_of(const http::Request& request);

/// The secret that it came with: `X-Nomad-Token`, or `Authorization: Bearer`; empty when there is none.
std::string_view token_of(const http::Request& request);

/// Nomad's "Permission denied", with what is missing.
Error permission_denied(const acl::Identity& caller, const Need& need);

}  // namespace underway::api
