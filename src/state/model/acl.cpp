#include "model/acl.hpp"

#include "model/detail/words.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

using detail::check_description;
using detail::check_name;

std::vector<std::string> problems(const AclPolicy& policy) {
  std::vector<std::string> out;
  check_name("policy", policy.name, out);
  check_description("policy", policy.description, out);
  if (const auto& job = policy.job_acl) {
    // In Nomad's words. A namespace alone: all jobs in it.
    if (job->ns.empty() && !job->job_id.empty()) out.push_back("namespace must be set to set job ID");
    if (job->job_id.empty() && !job->group.empty()) out.push_back("job ID must be set to set group");
    if (job->group.empty() && !job->task.empty()) out.push_back("group must be set to set task");
  }
  return out;
}

std::vector<std::string> problems(const AclRole& role) {
  std::vector<std::string> out;
  check_name("role", role.name, out);
  check_description("role", role.description, out);
  if (role.policies.empty()) out.push_back(fmt::format("role '{}' has no policy", role.name));
  return out;
}

const Enumeration& description(Tag<AclTokenType>) {
  static const Enumeration e = describe::enumeration<AclTokenType>("token type");
  return e;
}

const Structure& description(Tag<JobAcl>) {
  static const Structure s = Builder<JobAcl>("job ACL", "The tasks that a policy is for.")
                                 .wire<&JobAcl::ns>("Namespace", "")
                                 .wire<&JobAcl::job_id>("JobID", "")
                                 .wire<&JobAcl::group>("Group", "")
                                 .wire<&JobAcl::task>("Task", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AclPolicy>) {
  static const Structure s = Builder<AclPolicy>("ACL policy", "A named set of rights.")
                                 .wire<&AclPolicy::name>("Name", "")
                                 .wire<&AclPolicy::description>("Description", "")
                                 .wire<&AclPolicy::rules>("Rules", "HCL or JSON.")
                                 .wire<&AclPolicy::job_acl>("JobACL", "Tasks that it is for.")
                                 .wire<&AclPolicy::create_index>("CreateIndex", "")
                                 .wire<&AclPolicy::modify_index>("ModifyIndex", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AclRoleLink>) {
  static const Structure s = Builder<AclRoleLink>("ACL role link", "A role that a token has.")
                                 .wire<&AclRoleLink::id>("ID", "")
                                 .wire<&AclRoleLink::name>("Name", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AclToken>) {
  // The secret's hash has a name in the store; the API shows tokens through stubs that do not hold it.
  static const Structure s = Builder<AclToken>("ACL token", "Who a caller is.")
                                 .wire<&AclToken::accessor_id>("AccessorID", "")
                                 .wire<&AclToken::secret_hash>("SecretHash", "")
                                 .wire<&AclToken::key_id>("SealedBy", "")
                                 .wire<&AclToken::sealed>("Sealed", "")
                                 .wire<&AclToken::name>("Name", "")
                                 .wire<&AclToken::type>("Type", "")
                                 .wire<&AclToken::policies>("Policies", "")
                                 .wire<&AclToken::roles>("Roles", "")
                                 .wire<&AclToken::global>("Global", "")
                                 .wire<&AclToken::create_time>("CreateTime", "")
                                 .time()
                                 .wire<&AclToken::expiration_time>("ExpirationTime", "")
                                 .time()
                                 .wire<&AclToken::expiration_ttl>("ExpirationTTL", "")
                                 .wire<&AclToken::create_index>("CreateIndex", "")
                                 .wire<&AclToken::modify_index>("ModifyIndex", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AclPolicyLink>) {
  static const Structure s = Builder<AclPolicyLink>("ACL policy link", "A policy that a role has.")
                                 .wire<&AclPolicyLink::name>("Name", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AclRole>) {
  static const Structure s = Builder<AclRole>("ACL role", "Policies under one name.")
                                 .wire<&AclRole::id>("ID", "")
                                 .wire<&AclRole::name>("Name", "")
                                 .wire<&AclRole::description>("Description", "")
                                 .wire<&AclRole::policies>("Policies", "")
                                 .wire<&AclRole::create_index>("CreateIndex", "")
                                 .wire<&AclRole::modify_index>("ModifyIndex", "")
                                 .done();
  return s;
}

}  // namespace underway::model
