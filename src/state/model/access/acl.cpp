#include "model/access/acl.hpp"

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
                                 .wire<&JobAcl::ns>("Namespace", "Namespace of the jobs.")
                                 .wire<&JobAcl::job_id>("JobID", "The job; empty: all of the namespace.")
                                 .wire<&JobAcl::group>("Group", "The job's group; empty: all of the job.")
                                 .wire<&JobAcl::task>("Task", "The group's task; empty: all of the group.")
                                 .done();
  return s;
}

const Structure& description(Tag<AclPolicy>) {
  static const Structure s =
      Builder<AclPolicy>("ACL policy", "A named set of rights.")
          .wire<&AclPolicy::name>(
              "Name",
              "Letters, digits, `-` and `_`, at most 128; what `anonymous` holds is for callers without a token.")
          .wire<&AclPolicy::description>("Description", "For people.")
          .wire<&AclPolicy::rules>("Rules", "HCL or JSON.")
          .wire<&AclPolicy::job_acl>("JobACL", "Tasks that it is for.")
          .wire<&AclPolicy::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&AclPolicy::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

const Structure& description(Tag<AclRoleLink>) {
  static const Structure s = Builder<AclRoleLink>("ACL role link", "A role that a token has.")
                                 .wire<&AclRoleLink::id>("ID", "UUID of the role.")
                                 .wire<&AclRoleLink::name>("Name", "The role's name, for people.")
                                 .done();
  return s;
}

const Structure& description(Tag<AclToken>) {
  // The secret's hash has a name in the store; the API shows tokens through stubs that do not hold it.
  static const Structure s =
      Builder<AclToken>("ACL token", "Who a caller is.")
          .wire<&AclToken::accessor_id>("AccessorID",
                                        "UUID that names the token in lists and in the audit log; not secret.")
          .wire<&AclToken::secret_hash>("SecretHash", "Hash of its secret; kept by the server, never shown.")
          .wire<&AclToken::key_id>("SealedBy",
                                   "ID of the root key under which Sealed is; empty: the secret is not kept.")
          .wire<&AclToken::sealed>("Sealed",
                                   "Its secret, sealed, in base64, where it is to be read again; never shown.")
          .wire<&AclToken::name>("Name", "For people.")
          .wire<&AclToken::type>("Type", "`client`: what its policies and roles allow; `management`: everything.")
          .wire<&AclToken::policies>("Policies", "Names of its policies; none for management.")
          .wire<&AclToken::roles>("Roles", "Its roles, whose policies it has besides its own.")
          .wire<&AclToken::global>("Global", "Kept for Nomad's clients, which tell tokens of all regions by it.")
          .wire<&AclToken::create_time>("CreateTime", "When it was made.")
          .time()
          .wire<&AclToken::expiration_time>("ExpirationTime", "When it ends; none: never.")
          .time()
          .wire<&AclToken::expiration_ttl>("ExpirationTTL", "How long it was to live when it was made; none: for ever.")
          .wire<&AclToken::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&AclToken::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

const Structure& description(Tag<AclPolicyLink>) {
  static const Structure s = Builder<AclPolicyLink>("ACL policy link", "A policy that a role has.")
                                 .wire<&AclPolicyLink::name>("Name", "Name of the policy.")
                                 .done();
  return s;
}

const Structure& description(Tag<AclRole>) {
  static const Structure s = Builder<AclRole>("ACL role", "Policies under one name.")
                                 .wire<&AclRole::id>("ID", "UUID, made by the server.")
                                 .wire<&AclRole::name>("Name", "Letters, digits, `-` and `_`, at most 128.")
                                 .wire<&AclRole::description>("Description", "For people.")
                                 .wire<&AclRole::policies>("Policies", "Its policies; at least one.")
                                 .wire<&AclRole::create_index>("CreateIndex", "Revision in which it was made.")
                                 .wire<&AclRole::modify_index>("ModifyIndex", "Revision in which it last changed.")
                                 .done();
  return s;
}

}  // namespace underway::model
