#include "model/job/service.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<CheckStatus>) {
  static const Enumeration e = describe::enumeration<CheckStatus>("check status");
  return e;
}

const Structure& description(Tag<CheckRestart>) {
  static const Structure s =
      Builder<CheckRestart>("check_restart", "Restarts the task when its check keeps failing.")
          .attribute<&CheckRestart::limit>("limit", "Limit", "Failures in a row before a restart; 0: never.")
          .attribute<&CheckRestart::grace>("grace", "Grace", "After a (re)start, failures are not counted so long.")
          .attribute<&CheckRestart::ignore_warnings>("ignore_warnings", "IgnoreWarnings",
                                                     "Whether a warning counts as success.")
          .done();
  return s;
}

const Structure& description(Tag<Check>) {
  static const Structure s =
      Builder<Check>("check", "A test, done again and again, of whether the service works.")
          .attribute<&Check::name>("name", "Name", "Name for people.")
          .attribute<&Check::type>("type", "Type", "`http`, `tcp` or `script`.")
          .required()
          .attribute<&Check::interval>("interval", "Interval", "Time between two tests; at least 1s.")
          .required()
          .attribute<&Check::timeout>("timeout", "Timeout", "After which a test counts as failed; at least 1s.")
          .required()
          .attribute<&Check::port>("port", "PortLabel", "Port label or number; the service's when not given.")
          .attribute<&Check::address_mode>("address_mode", "AddressMode", "As in `service`; `host` when not given.")
          .attribute<&Check::path>("path", "Path", "http: the path that is asked for.")
          .attribute<&Check::method>("method", "Method", "http: the method.")
          .attribute<&Check::body>("body", "Body", "http: the request's body.")
          .block_or_attribute<&Check::headers>("header", "Header", "http: headers, each with a list of values.")
          .attribute<&Check::protocol>("protocol", "Protocol", "http: `http` or `https`.")
          .attribute<&Check::tls_skip_verify>("tls_skip_verify", "TLSSkipVerify", "https: accepts any certificate.")
          .attribute<&Check::tls_server_name>("tls_server_name", "TLSServerName", "https: the name to verify.")
          .attribute<&Check::command>("command", "Command", "script: the program, run inside the task.")
          .attribute<&Check::args>("args", "Args", "script: its arguments.")
          .attribute<&Check::task>("task", "TaskName", "script: the task it runs in.")
          .attribute<&Check::initial_status>("initial_status", "InitialStatus", "Before the first test.")
          .attribute<&Check::grpc_service>("grpc_service", "GRPCService", "Of Consul's grpc checks: kept.")
          .attribute<&Check::grpc_use_tls>("grpc_use_tls", "GRPCUseTLS", "Of Consul's grpc checks: kept.")
          .attribute<&Check::expose>("expose", "Expose", "Of Consul's mesh: kept.")
          .attribute<&Check::notes>("notes", "Notes", "Text for people.")
          .attribute<&Check::success_before_passing>("success_before_passing", "SuccessBeforePassing",
                                                     "Successes in a row before it counts as passing.")
          .attribute<&Check::failures_before_critical>("failures_before_critical", "FailuresBeforeCritical",
                                                       "Failures in a row before it counts as failing.")
          .attribute<&Check::failures_before_warning>("failures_before_warning", "FailuresBeforeWarning",
                                                      "Kept for old files.")
          .attribute<&Check::on_update>("on_update", "OnUpdate", "As in `service`.")
          .block<&Check::check_restart>("check_restart", "CheckRestart", "When it restarts the task.")
          .done();
  return s;
}

const Structure& description(Tag<ServiceWeights>) {
  static const Structure s = Builder<ServiceWeights>("weights", "Of Consul's DNS: kept.")
                                 .attribute<&ServiceWeights::passing>("passing", "Passing", "While it works.")
                                 .attribute<&ServiceWeights::warning>("warning", "Warning", "While it warns.")
                                 .done();
  return s;
}

const Structure& description(Tag<Service>) {
  static const Structure s =
      Builder<Service>("service", "A name under which the group, or a task of it, is found.")
          .attribute<&Service::name>("name", "Name", "The name; `<job>-<group>-<task>` when not given.")
          .attribute<&Service::provider>("provider", "Provider",
                                         "`nomad`, the built-in catalogue; `consul` is kept, and means the same.")
          .attribute<&Service::port>("port", "PortLabel", "Label of a port of the group, or a number.")
          .attribute<&Service::address>("address", "Address", "An address instead of the allocation's.")
          .attribute<&Service::address_mode>("address_mode", "AddressMode",
                                             "Which address is told: `auto`, `host`, `alloc`, `driver`.")
          .attribute<&Service::tags>("tags", "Tags", "Free words.")
          .attribute<&Service::canary_tags>("canary_tags", "CanaryTags", "Instead of `tags` while it is a canary.")
          .block_or_attribute<&Service::meta>("meta", "Meta", "Free pairs.")
          .block_or_attribute<&Service::canary_meta>("canary_meta", "CanaryMeta",
                                                     "Instead of `meta` while it is a canary.")
          .attribute<&Service::enable_tag_override>("enable_tag_override", "EnableTagOverride", "Of Consul: kept.")
          .block_or_attribute<&Service::tagged_addresses>("tagged_addresses", "TaggedAddresses", "Of Consul: kept.")
          .block<&Service::weights>("weights", "Weights", "Of Consul's DNS: kept.")
          .block<&Service::identity>("identity", "Identity", "Of Consul: kept.")
          .attribute<&Service::cluster>("cluster", "Cluster", "Of Consul: kept.")
          .attribute<&Service::kind>("kind", "Kind", "Of Consul: kept.")
          .attribute<&Service::task>("task", "TaskName", "Of a group's service: the task it is about.")
          .attribute<&Service::on_update>("on_update", "OnUpdate",
                                          "Whether its checks decide a rollout: `require_healthy`, `ignore_warnings`, "
                                          "`ignore`.")
          .block<&Service::checks>("check", "Checks", "What tells that it works.")
          .block<&Service::check_restart>("check_restart", "CheckRestart", "For its checks that give none.")
          .done();
  return s;
}

const Structure& description(Tag<CheckResult>) {
  static const Structure s =
      Builder<CheckResult>("check result", "The newest result of one check of an allocation.")
          .wire<&CheckResult::id>("ID", "Made of allocation, service and check: the same as long as these are.")
          .wire<&CheckResult::check>("Check", "Name of the check.")
          .wire<&CheckResult::service>("Service", "Name of the service that it is of.")
          .wire<&CheckResult::task>("Task", "The task whose service it is; empty: the group's.")
          .wire<&CheckResult::group>("Group", "The group of the allocation.")
          .wire<&CheckResult::mode>("Mode",
                                    "`healthiness`: it counts for the allocation's health; `readiness`: it does not.")
          .wire<&CheckResult::status>("Status", "`pending` before the first test, `success` or `failure`.")
          .wire<&CheckResult::status_code>("StatusCode", "http: the response's; script: the exit code.")
          .wire<&CheckResult::output>("Output", "What the test said, at most 3 KiB.")
          .wire<&CheckResult::timestamp>("Timestamp", "Unix time in seconds of the test; 0: there was none yet.")
          .done();
  return s;
}

}  // namespace underway::model
