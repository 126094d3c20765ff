#pragma once
/// @file
/// Who a caller is. A token's secret has 122 random bits and is kept as its SHA-256 only: it is found by its hash, and
/// what the time of a look-up tells is about hashes, from which no secret can be made.

#include "acl/rights.hpp"
#include "tables/tables.hpp"

namespace underway::acl {

/// SHA-256 of a token's secret in hexadecimal. Unsalted, so that it can be looked up: there is nothing to guess.
std::string hash_secret(std::string_view secret);

/// The task that a workload identity is of.
struct Workload {
  std::string ns, job, group, task, allocation_id;
};

struct Identity {
  enum class Kind {
    unrestricted,  ///< ACL is off
    root_socket,   ///< root at the unix socket of the agent
    token,
    anonymous,  ///< no token
    workload,   ///< a task, by its own identity
  };
  Kind kind = Kind::anonymous;
  std::string accessor;  ///< of the token; else what the audit log calls it: "root@unix", "anonymous"
  std::string name;      ///< of the token
  TimePoint expires = TimePoint::max();
  std::shared_ptr<const Rights> rights = std::make_shared<const Rights>();
  tables::Row<model::AclToken> token;  ///< of kind token
  std::optional<Workload> workload;    ///< of kind workload

  /// Nothing can take it away while a request runs.
  bool is_permanent() const { return kind == Kind::unrestricted || kind == Kind::root_socket; }
};
using IdentityPtr = std::shared_ptr<const Identity>;

/// Nomad's texts, which its clients look for.
inline constexpr const char* kPermissionDenied = "Permission denied";
inline constexpr const char* kTokenNotFound = "ACL token not found";
inline constexpr const char* kTokenExpired = "ACL token expired";
inline constexpr const char* kWorkloadOver = "the allocation of this workload identity is over";

/// Finds identities; keeps the rights of those it found until a policy, a role or the token changes. Thread: loop only.
class Identities {
 public:
  /// Throws Error(denied): kTokenNotFound, kTokenExpired.
  IdentityPtr of_secret(const tables::Tables& tables, std::string_view secret, TimePoint now);
  /// A task, whose identity was verified. It may read the variables that are its own, and what the policies of its job
  /// say besides. Throws Error(denied): kTokenExpired, kWorkloadOver.
  IdentityPtr of_workload(const tables::Tables& tables, const Workload& workload, TimePoint expires, TimePoint now);
  /// Who shows no token has the rights of the policy "anonymous", or none.
  IdentityPtr anonymous(const tables::Tables& tables);
  static IdentityPtr unrestricted();
  static IdentityPtr root_socket();

  /// The same caller as of now, with the rights that it has now. Throws Error(denied) when its token is gone or has
  /// expired.
  IdentityPtr again(const tables::Tables& tables, const IdentityPtr& identity, TimePoint now);

  /// Several policies as one; those that do not exist grant nothing.
  std::shared_ptr<const Rights> rights_of(const tables::Tables& tables, const std::vector<std::string>& policies);

  /// What an identity may depend on: whoever acts for long waits for changes here, then asks `again`.
  static std::vector<tables::Scope> scopes(const Identity& identity);

 private:
  void forget_what_changed(const tables::Tables& tables);
  IdentityPtr of_token(const tables::Tables& tables, const tables::Row<model::AclToken>& token, TimePoint now);
  std::vector<std::shared_ptr<const Policy>> rules_of(const tables::Tables& tables,
                                                      const std::vector<std::string>& policies);
  std::shared_ptr<const Policy> parsed(const tables::Row<model::AclPolicy>& row);

  static constexpr std::size_t kMostKept = 4096;
  std::map<std::string, IdentityPtr> known_;  ///< by accessor id
  std::map<std::string, std::shared_ptr<const Policy>> policies_;
  IdentityPtr anonymous_;
  model::Revision policies_at_ = -1, roles_at_ = -1;
};

/// Names of the policies that a task has by itself, without a token: those whose JobAcl names it, its group or its job.
std::vector<std::string> policies_of_workload(const tables::Tables& tables, const std::string& ns,
                                              const std::string& job_id, const std::string& group,
                                              const std::string& task);

}  // namespace underway::acl
