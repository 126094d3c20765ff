#include "base/json/json_member.hpp"
#include "base/text.hpp"
#include "migrate/detail/job_files.hpp"
#include "migrate/file_text.hpp"
#include "migrate/kinds.hpp"

namespace underway::migrate::detail {
namespace {

using boost::json::object;

constexpr std::string_view kHead = R"sh(#!/bin/sh
# Makes on a Nomad what was exported. NOMAD_ADDR and NOMAD_TOKEN (of a management token) say which one.
#
#   ./restore.sh             everything but jobs
#   ./restore.sh jobs        every job that ran
#   ./restore.sh job ID…     these jobs; NAMESPACE/ID for one of another namespace than default
#
# What still runs where this came from must be stopped there first: a service must not run twice.
# Exits 1 when something failed; what was done stays, and running it again is safe. A role, an auth method or a binding
# rule that is there already is reported as failed.
set -u
cd "$(dirname "$0")" || exit 1
nomad=${NOMAD:-nomad}
failed=0

try() {
  "$nomad" "$@" > /dev/null || { echo "failed: nomad $*" >&2; failed=1; }
}
)sh";

constexpr std::string_view kTail = R"sh(
case "${1-}" in
  '') everything ;;
  jobs) jobs ;;
  job) shift; for id in "$@"; do job "$id"; done ;;
  *) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 2 ;;
esac
exit $failed
)sh";

std::string flag(std::string_view name, const std::string& value) {
  return value.empty() ? "" : fmt::format(" -{}={}", name, shell_word(value));
}

std::string switch_of(const object& body, std::string_view member, std::string_view name) {
  const auto* value = body.if_contains(member);
  return value != nullptr && value->is_bool() ? fmt::format(" -{}={}", name, value->get_bool()) : "";
}

std::string policy(const Object& policy) {
  std::string flags = flag("description", json::text_at(policy.body, "Description"));
  if (const auto* job = policy.body.if_contains("JobACL"); job != nullptr && job->is_object()) {
    flags += flag("namespace", json::text_at(job->get_object(), "Namespace")) +
             flag("job", json::text_at(job->get_object(), "JobID")) +
             flag("group", json::text_at(job->get_object(), "Group")) +
             flag("task", json::text_at(job->get_object(), "Task"));
  }
  return fmt::format("acl policy apply{} {} {}", flags, shell_word(policy.name), shell_word(path_of(policy)));
}

std::string role(const Object& role) {
  std::string flags = flag("name", role.name) + flag("description", json::text_at(role.body, "Description"));
  if (const auto* links = role.body.if_contains("Policies"); links != nullptr && links->is_array()) {
    for (const auto& link : links->get_array()) {
      if (link.is_object()) flags += flag("policy", json::text_at(link.get_object(), "Name"));
    }
  }
  return "acl role create" + flags;
}

std::string auth_method(const Object& method) {
  const object& body = method.body;
  std::string ttl = json::text_at(body, "MaxTokenTTL");
  if (const auto* number = body.if_contains("MaxTokenTTL"); number != nullptr && number->is_int64())
    ttl = format_duration(Duration{number->get_int64()});
  return "acl auth-method create" + flag("name", method.name) + flag("type", json::text_at(body, "Type")) +
         flag("max-token-ttl", ttl) + flag("token-locality", json::text_at(body, "TokenLocality")) +
         flag("token-name-format", json::text_at(body, "TokenNameFormat")) + switch_of(body, "Default", "default") +
         flag("config", "@" + path_of(method));
}

std::string binding_rule(const Object& rule) {
  const object& body = rule.body;
  return "acl binding-rule create" + flag("auth-method", json::text_at(body, "AuthMethod")) +
         flag("bind-type", json::text_at(body, "BindType")) + flag("bind-name", json::text_at(body, "BindName")) +
         flag("selector", json::text_at(body, "Selector")) + flag("description", json::text_at(body, "Description"));
}

std::string scheduler(const Object& scheduler) {
  const object& body = scheduler.body;
  std::string line = "operator scheduler set-config" +
                     flag("scheduler-algorithm", json::text_at(body, "SchedulerAlgorithm")) +
                     switch_of(body, "MemoryOversubscriptionEnabled", "memory-oversubscription") +
                     switch_of(body, "RejectJobRegistration", "reject-job-registration") +
                     switch_of(body, "PauseEvalBroker", "pause-eval-broker");
  if (const auto* preempt = body.if_contains("PreemptionConfig"); preempt != nullptr && preempt->is_object()) {
    const object& config = preempt->get_object();
    line += switch_of(config, "SystemSchedulerEnabled", "preempt-system-scheduler") +
            switch_of(config, "SysBatchSchedulerEnabled", "preempt-sysbatch-scheduler") +
            switch_of(config, "BatchSchedulerEnabled", "preempt-batch-scheduler") +
            switch_of(config, "ServiceSchedulerEnabled", "preempt-service-scheduler");
  }
  return line;
}

std::string line_of(const Object& object) {
  switch (object.kind) {
    case Kind::node_pool:
      return "node pool apply " + shell_word(path_of(object));
    case Kind::quota:
      return "quota apply -json " + shell_word(path_of(object));
    case Kind::name_space:
      return "namespace apply " + shell_word(path_of(object));
    case Kind::policy:
      return policy(object);
    case Kind::role:
      return role(object);
    case Kind::auth_method:
      return auth_method(object);
    case Kind::binding_rule:
      return binding_rule(object);
    case Kind::scheduler:
      return scheduler(object);
    case Kind::variable:
      return "var put -force -out=none" + flag("namespace", object.ns) + " " + shell_word("@" + path_of(object));
    case Kind::token:  // Underway does not tell their secrets, and no command of Nomad's takes them
    case Kind::job:
      return {};
  }
  return {};
}

}  // namespace

std::string restore_script(const Inventory& inventory, const std::vector<JobFile>& jobs, const FilesOptions& options) {
  const std::string_view json = options.format == Format::json ? "-json " : "";
  std::string out(kHead);
  out += "\neverything() {\n  :\n";
  for (const auto& object : inventory.objects) {
    if (object.kind == Kind::job || object.kind == Kind::token ||
        (object.kind == Kind::variable && !options.with_secrets))
      continue;
    out += "  try " + line_of(object) + "\n";
  }
  out += "}\n\njob() {\n  case \"$1\" in\n";
  std::string all;
  for (const auto& job : jobs) {
    if (job.path.empty()) continue;
    const std::string id = shell_word(job.ns == "default" ? job.id : job.ns + "/" + job.id);
    out += fmt::format("    {}) try job run -detach {}{} ;;\n", id, json, shell_word(job.path));
    if (!job.stopped) all += fmt::format("  job {}\n", id);
  }
  out += "    *) echo \"there is no job $1\" >&2; failed=1 ;;\n  esac\n}\n\njobs() {\n  :\n" + all + "}\n";
  return out + std::string(kTail);
}

}  // namespace underway::migrate::detail
