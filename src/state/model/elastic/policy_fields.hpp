#pragma once
/// @file
/// The fields of a policy and of a pool, for those that have them among others.

#include "model/elastic/policy.hpp"

namespace underway::model {

template <class T>
void add_policy_fields(describe::Builder<T>& builder) {
  builder
      .template block<&ElasticPolicy::thresholds>("threshold", "Thresholds",
                                                  "One of them has nodes made; none: a single job does.")
      .template attribute<&ElasticPolicy::gang_deadline>(
          "gang_deadline", "GangDeadline", "A job of several nodes has all of them by then, or gives them back.")
      .template attribute<&ElasticPolicy::boot_rate>("boot_rate", "BootRate", "Boots of a class in a second, at most.")
      .template attribute<&ElasticPolicy::boot_burst>("boot_burst", "BootBurst", "Boots at once after a pause.")
      .template attribute<&ElasticPolicy::backoff>("backoff", "Backoff", "Pause after a class was refused; it doubles.")
      .template attribute<&ElasticPolicy::max_backoff>("max_backoff", "MaxBackoff", "The longest such pause.")
      .template attribute<&ElasticPolicy::min_uptime>("min_uptime", "MinUptime",
                                                      "A node that is lost sooner has not booted.")
      .template block<&ElasticPolicy::breaker>("breaker", "Breaker", "When a class is not asked any more.")
      .template attribute<&ElasticPolicy::keep_alive>("keep_alive", "KeepAlive",
                                                      "How long an idle node stays: ski_rental or a duration.")
      .template attribute<&ElasticPolicy::pack>("pack", "Pack",
                                                "Empties nodes that others have room for, to take them away.")
      .template attribute<&ElasticPolicy::max_nodes>("max_nodes", "MaxNodes",
                                                     "In all; 0: as many as the classes may have.")
      .template block<&ElasticPolicy::budget>("budget", "Budget", "Most money.")
      .template block<&ElasticPolicy::quotas>("quota", "Quotas", "What providers give at most.")
      .template block<&ElasticPolicy::forecast>("forecast", "Forecast", "Nodes before anybody asks for them.")
      .template block<&ElasticPolicy::promises>("promises", "Promises", "What sleeping Slurm jobs are promised.");
}

template <class T>
void add_pool_fields(describe::Builder<T>& builder) {
  builder
      .template attribute<&PoolElastic::provider>("provider", "Provider",
                                                  "Whose quota it counts against; without: its own.")
      .template attribute<&PoolElastic::partitions>("partitions", "Partitions",
                                                    "Whose Slurm jobs it serves; none: those of all partitions.")
      .template attribute<&PoolElastic::cost_per_hour>("cost_per_hour", "CostPerHour",
                                                       "Of one host, with up to six decimals.")
      .template attribute<&PoolElastic::start_time>("start_time", "StartTime",
                                                    "From asking for a host until Slurm has an idle node.")
      .template attribute<&PoolElastic::boot_timeout>("boot_timeout", "BootTimeout", "After that a boot has failed.")
      .template attribute<&PoolElastic::topology_group>("topology_group", "TopologyGroup",
                                                        "Pools of one group are near each other.")
      .template attribute<&PoolElastic::opportunistic>("opportunistic", "Opportunistic",
                                                       "Its hosts are taken back at any time.")
      .template attribute<&PoolElastic::keep_alive>("keep_alive", "KeepAlive",
                                                    "How long an idle host stays: ski_rental or a duration.")
      .template attribute<&PoolElastic::urgent>(
          "urgent", "Urgent", "Whether hosts of pools that yield sleep when one of this pool's has no room.")
      .template attribute<&PoolElastic::yields>("yields", "Yields",
                                                "Whether its hosts sleep for those of urgent pools.")
      .template attribute<&PoolElastic::owner>("owner", "Owner",
                                               "The account that paid for these hosts: its Slurm jobs that wait in "
                                               "another partition are put into the pool's, too.")
      .template attribute<&PoolElastic::qos>("qos", "QOS", "The same of jobs of these QOS.")
      .template attribute<&PoolElastic::up_to_nodes>(
          "up_to_nodes", "UpToNodes",
          "The same of jobs of at most so many nodes that ask for no generic resource and no reservation; 0: none.");
}

}  // namespace underway::model
