#include "model/scheduler_configuration.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

bool PreemptionConfiguration::allows(JobType type) const {
  switch (type) {
    case JobType::system:
      return system;
    case JobType::sysbatch:
      return sysbatch;
    case JobType::batch:
      return batch;
    case JobType::service:
      return service;
  }
  return false;
}

const Structure& description(Tag<AutopilotConfiguration>) {
  using A = AutopilotConfiguration;
  static const Structure s =
      Builder<A>("autopilot configuration", "Kept for Nomad's clients; with one server nothing acts on it.")
          .wire<&A::cleanup_dead_servers>("CleanupDeadServers",
                                          "In Nomad: whether dead servers are removed when a new one joins.")
          .wire<&A::last_contact_threshold>("LastContactThreshold",
                                            "In Nomad: how long a healthy server may be without contact to the leader.")
          .wire<&A::max_trailing_logs>("MaxTrailingLogs",
                                       "In Nomad: how many log entries a healthy server may be behind.")
          .wire<&A::min_quorum>("MinQuorum", "In Nomad: how many servers stay at least when dead ones are removed.")
          .wire<&A::server_stabilization_time>("ServerStabilizationTime",
                                               "In Nomad: how long a new server must be healthy before it votes.")
          .wire<&A::enable_redundancy_zones>("EnableRedundancyZones",
                                             "In Nomad Enterprise: whether one server of each zone votes.")
          .wire<&A::disable_upgrade_migration>(
              "DisableUpgradeMigration", "In Nomad Enterprise: whether newer servers do not take over from older ones.")
          .wire<&A::enable_custom_upgrades>(
              "EnableCustomUpgrades", "In Nomad Enterprise: whether a version of the site's own tells which is newer.")
          .wire<&A::create_index>("CreateIndex", "Revision in which it was first written.")
          .wire<&A::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

const describe::Enumeration& description(Tag<SchedulerAlgorithm>) {
  static const describe::Enumeration e = describe::enumeration<SchedulerAlgorithm>("scheduler algorithm");
  return e;
}

const Structure& description(Tag<PreemptionConfiguration>) {
  using P = PreemptionConfiguration;
  static const Structure s = Builder<P>("preemption configuration", "Who may push others off their nodes.")
                                 .wire<&P::system>("SystemSchedulerEnabled", "System jobs.")
                                 .wire<&P::sysbatch>("SysBatchSchedulerEnabled", "Sysbatch jobs.")
                                 .wire<&P::batch>("BatchSchedulerEnabled", "Batch jobs.")
                                 .wire<&P::service>("ServiceSchedulerEnabled", "Service jobs.")
                                 .done();
  return s;
}

const Structure& description(Tag<SchedulerConfiguration>) {
  using C = SchedulerConfiguration;
  static const Structure s =
      Builder<C>("scheduler configuration", "What operators set of scheduling.")
          .wire<&C::algorithm>("SchedulerAlgorithm", "How nodes are preferred: filled up, or evenly.")
          .wire<&C::preemption>("PreemptionConfig", "Who may push others off their nodes.")
          .wire<&C::memory_oversubscription>("MemoryOversubscriptionEnabled", "Tasks may have up to memory_max.")
          .wire<&C::reject_job_registration>("RejectJobRegistration", "Only management tokens register jobs.")
          .wire<&C::pause_eval_broker>("PauseEvalBroker", "Evaluations are kept, and none is scheduled.")
          .wire<&C::node_limit>("NodeLimitForFeasibilityChecks", "Kept for Nomad's clients: all nodes are looked at.")
          .wire<&C::create_index>("CreateIndex", "Revision in which it was first written.")
          .wire<&C::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

}  // namespace underway::model
