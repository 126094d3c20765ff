// The parts of the configuration that say who may do what, and how much: `acl`, `audit`, `limits`.
#include "agent/config/config.hpp"

namespace underway::agent {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<AclSettings>) {
  static const Structure s =
      Builder<AclSettings>("acl", "Who may do what.")
          .attribute<&AclSettings::enabled>(
              "enabled", "enabled",
              "Whether requests need a token; without a word, yes, but for -dev and `nomad_compat` on 127.0.0.1.")
          .attribute<&AclSettings::trust_root_socket>(
              "trust_root_socket", "trust_root_socket",
              "Whether root at the unix socket of the agent has management rights without a token.")
          .attribute<&AclSettings::network_bootstrap>(
              "network_bootstrap", "network_bootstrap",
              "Whether the first token is made by whoever asks first, over the network too; without a word only where "
              "root at the socket is not trusted, and with `nomad_compat` on 127.0.0.1.")
          .attribute<&AclSettings::token_min_expiration_ttl>("token_min_expiration_ttl", "token_min_expiration_ttl",
                                                             "Shortest life of a token that expires.")
          .attribute<&AclSettings::token_max_expiration_ttl>("token_max_expiration_ttl", "token_max_expiration_ttl",
                                                             "Longest life of a token that expires.")
          .attribute<&AclSettings::readable_token_secrets>(
              "readable_token_secrets", "readable_token_secrets",
              "Keeps the secrets of new tokens, sealed, so that management tokens can read them again, as in Nomad; "
              "without a word with `nomad_compat` alone.")
          .done();
  return s;
}

const Structure& description(Tag<AuditSettings>) {
  static const Structure s =
      Builder<AuditSettings>("audit", "The log of everything that changes something.")
          .attribute<&AuditSettings::enabled>("enabled", "enabled", "Whether there is one.")
          .attribute<&AuditSettings::rotate_bytes>("rotate_bytes", "rotate_bytes", "Size at which a new file is begun.")
          .attribute<&AuditSettings::rotate_max_files>("rotate_max_files", "rotate_max_files",
                                                       "Older files that are kept.")
          .attribute<&AuditSettings::on_failure>("on_failure", "on_failure",
                                                 "What becomes of changes that cannot be logged: `refuse` or `warn`.")
          .done();
  return s;
}

const Structure& description(Tag<TelemetrySettings>) {
  static const Structure s =
      Builder<TelemetrySettings>("telemetry", "What [/v1/metrics](metrics.md) tells whom.")
          .attribute<&TelemetrySettings::publish_allocation_metrics>(
              "publish_allocation_metrics", "publish_allocation_metrics",
              "Names of jobs, and what their tasks use, to everybody, as Nomad does; else to who may read them.")
          .attribute<&TelemetrySettings::publish_node_metrics>(
              "publish_node_metrics", "publish_node_metrics",
              "Names of nodes, and what they measure, to everybody, as Nomad does; else to who may read them.")
          .attribute<&TelemetrySettings::disable_dispatched_job_summary_metrics>(
              "disable_dispatched_job_summary_metrics", "disable_dispatched_job_summary_metrics",
              "No `job_summary` of jobs that a dispatch has started: there may be many.")
          .attribute<&TelemetrySettings::listen>(
              "listen", "listen",
              "Where a node that is no server serves /v1/metrics and nothing else, `10.0.0.7:4646`; by TLS when "
              "`tls.cert_file` is given. Without a word, nowhere: the server asks it, `/v1/metrics?node_id=ID`.")
          .done();
  return s;
}

const Structure& description(Tag<LimitSettings>) {
  static const Structure s =
      Builder<LimitSettings>("limits",
                             "How much one caller, by address and token, may ask of the HTTP API; 0: any. `work_…`: "
                             "see [limits](limits.md).")
          .attribute<&LimitSettings::http_requests_per_second>("http_requests_per_second", "http_requests_per_second",
                                                               "Requests a second, in the long run.")
          .attribute<&LimitSettings::http_burst>("http_burst", "http_burst", "Requests at once, after a pause.")
          .attribute<&LimitSettings::http_max_concurrent>("http_max_concurrent", "http_max_concurrent",
                                                          "Requests under way, streams and blocking queries too.")
          .attribute<&LimitSettings::work_threads>("work_threads", "work_threads",
                                                   "Threads for what requests let the server compute.")
          .attribute<&LimitSettings::work_cpu>("work_cpu", "work_cpu", "What one request may compute there.")
          .attribute<&LimitSettings::work_memory_mb>("work_memory_mb", "work_memory_mb",
                                                     "What it may take of memory, by its own count: MiB.")
          .attribute<&LimitSettings::work_waiting>("work_waiting", "work_waiting",
                                                   "Requests that wait for such a thread, of all callers.")
          .attribute<&LimitSettings::work_waiting_of_one>("work_waiting_of_one", "work_waiting_of_one",
                                                          "The same of one caller.")
          .done();
  return s;
}

}  // namespace underway::agent
