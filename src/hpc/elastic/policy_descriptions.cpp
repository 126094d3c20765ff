#include "elastic/policy.hpp"

namespace underway::elastic {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<PoolClass>) {
  static const Structure s =
      Builder<PoolClass>("class", "A class of nodes that can be made.")
          .label<&PoolClass::name>("name", "Name", "Its name.")
          .attribute<&PoolClass::provider>("provider", "Provider", "Whose quota it counts against; without: its own.")
          .attribute<&PoolClass::vcpus>("vcpus", "VCPUs", "Processors of one node.")
          .attribute<&PoolClass::memory_mb>("memory", "MemoryMB", "Memory that the guest sees, in MiB.")
          .attribute<&PoolClass::features>("features", "Features", "Slurm's features of its nodes.")
          .attribute<&PoolClass::partitions>("partitions", "Partitions", "Whose Slurm jobs it serves; none: all.")
          .attribute<&PoolClass::min_nodes>("min_nodes", "MinNodes", "How many there always are.")
          .attribute<&PoolClass::max_nodes>("max_nodes", "MaxNodes", "How many there may be.")
          .attribute<&PoolClass::cost_per_hour>("cost_per_hour", "CostPerHour", "Of one node, with up to six decimals.")
          .attribute<&PoolClass::start_time>("start_time", "StartTime", "From asking for a node until it is idle.")
          .attribute<&PoolClass::boot_timeout>("boot_timeout", "BootTimeout", "After that a boot has failed.")
          .attribute<&PoolClass::topology_group>("topology_group", "TopologyGroup", "Its nodes are near each other.")
          .attribute<&PoolClass::opportunistic>("opportunistic", "Opportunistic", "Taken back at any time.")
          .attribute<&PoolClass::keep_alive>("keep_alive", "KeepAlive",
                                             "How long an idle node stays: ski_rental or a duration.")
          .attribute<&PoolClass::owner>("owner", "Owner", "The account that paid for these nodes.")
          .done();
  return s;
}

const Structure& description(Tag<Threshold>) {
  static const Structure s =
      Builder<Threshold>("threshold", "So many Slurm jobs have waited for so long.")
          .attribute<&Threshold::jobs>("jobs", "Jobs", "How many.")
          .attribute<&Threshold::minutes>("minutes", "Minutes", "For how many minutes, each of them.")
          .done();
  return s;
}

const Structure& description(Tag<BreakerPolicy>) {
  static const Structure s =
      Builder<BreakerPolicy>("breaker", "When a class is not asked any more.")
          .attribute<&BreakerPolicy::failures>("failures", "Failures", "So many failed boots within the window.")
          .attribute<&BreakerPolicy::window>("window", "Window", "How long a failed boot counts.")
          .attribute<&BreakerPolicy::cooldown>("cooldown", "Cooldown", "After that one node is tried.")
          .done();
  return s;
}

const describe::Enumeration& description(Tag<ForecastMode>) {
  static const auto e = describe::enumeration<ForecastMode>("forecast mode");
  return e;
}

const Structure& description(Tag<ForecastPolicy>) {
  static const Structure s =
      Builder<ForecastPolicy>("forecast", "Nodes before anybody asks for them.")
          .attribute<&ForecastPolicy::mode>("mode", "Mode", "off, shadow (compared, does nothing) or act.")
          .attribute<&ForecastPolicy::season>("season", "Season", "After that demand looks alike: a day.")
          .attribute<&ForecastPolicy::step>("step", "Step", "Demand is one number in each.")
          .attribute<&ForecastPolicy::weight>("weight", "Weight", "Of the newest season against those before.")
          .attribute<&ForecastPolicy::never_worse>("never_worse", "NeverWorse",
                                                   "It stays in shadow when waits grow by more than this part.")
          .done();
  return s;
}

const Structure& description(Tag<Promises>) {
  static const Structure s =
      Builder<Promises>("promises", "What sleeping Slurm jobs are promised.")
          .attribute<&Promises::max_suspensions>("max_suspensions", "MaxSuspensions", "How often one job sleeps.")
          .attribute<&Promises::max_asleep>("max_asleep", "MaxAsleep", "How long one job sleeps in all.")
          .attribute<&Promises::notice>("notice", "Notice", "Before an opportunistic node is taken back.")
          .done();
  return s;
}

const Structure& description(Tag<Budget>) {
  static const Structure s = Builder<Budget>("budget", "Most money that nodes may cost.")
                                 .attribute<&Budget::day>("day", "Day", "On one day, by UTC.")
                                 .attribute<&Budget::month>("month", "Month", "In one month, by UTC.")
                                 .done();
  return s;
}

const Structure& description(Tag<Quota>) {
  static const Structure s = Builder<Quota>("quota", "What a provider gives at most; 0: no limit.")
                                 .label<&Quota::provider>("provider", "Provider", "The provider.")
                                 .attribute<&Quota::nodes>("nodes", "Nodes", "Nodes.")
                                 .attribute<&Quota::vcpus>("vcpus", "VCPUs", "Processors.")
                                 .attribute<&Quota::memory_mb>("memory", "MemoryMB", "Memory in MiB.")
                                 .done();
  return s;
}

const Structure& description(Tag<Policy>) {
  static const Structure s =
      Builder<Policy>("elastic", "When the cluster grows and shrinks.")
          .block<&Policy::classes>("class", "Classes", "The classes of nodes that can be made.")
          .block<&Policy::thresholds>("threshold", "Thresholds", "One of them has nodes made; none: a single job does.")
          .attribute<&Policy::gang_deadline>("gang_deadline", "GangDeadline",
                                             "A job of several nodes has all of them by then, or gives them back.")
          .attribute<&Policy::boot_rate>("boot_rate", "BootRate", "Boots of a class in a second, at most.")
          .attribute<&Policy::boot_burst>("boot_burst", "BootBurst", "Boots at once after a pause.")
          .attribute<&Policy::backoff>("backoff", "Backoff", "Pause after a class was refused; it doubles.")
          .attribute<&Policy::max_backoff>("max_backoff", "MaxBackoff", "The longest such pause.")
          .attribute<&Policy::min_uptime>("min_uptime", "MinUptime", "A node that is lost sooner has not booted.")
          .block<&Policy::breaker>("breaker", "Breaker", "When a class is not asked any more.")
          .attribute<&Policy::keep_alive>("keep_alive", "KeepAlive",
                                          "How long an idle node stays: ski_rental or a duration.")
          .attribute<&Policy::pack>("pack", "Pack", "Empties nodes that others have room for, to take them away.")
          .attribute<&Policy::max_nodes>("max_nodes", "MaxNodes", "In all; 0: as many as the classes may have.")
          .block<&Policy::budget>("budget", "Budget", "Most money.")
          .block<&Policy::quotas>("quota", "Quotas", "What providers give at most.")
          .block<&Policy::forecast>("forecast", "Forecast", "Nodes before anybody asks for them.")
          .block<&Policy::promises>("promises", "Promises", "What sleeping Slurm jobs are promised.")
          .done();
  return s;
}

}  // namespace underway::elastic
