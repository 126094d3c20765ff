#include "model/elastic/policy_fields.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

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

const describe::Enumeration& description(Tag<AskedBy>) {
  static const auto e = describe::enumeration<AskedBy>("who asks for hosts");
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
          .attribute<&Promises::notice>("notice", "Notice",
                                        "How long a job of an opportunistic host has left when that is taken back.")
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

const Structure& description(Tag<ProviderQuota>) {
  static const Structure s = Builder<ProviderQuota>("provider quota", "What a provider gives at most; 0: no limit.")
                                 .label<&ProviderQuota::provider>("provider", "Provider", "The provider.")
                                 .attribute<&ProviderQuota::nodes>("nodes", "Nodes", "Nodes.")
                                 .attribute<&ProviderQuota::vcpus>("vcpus", "VCPUs", "Processors.")
                                 .attribute<&ProviderQuota::memory_mb>("memory", "MemoryMB", "Memory in MiB.")
                                 .done();
  return s;
}

const Structure& description(Tag<ElasticPolicy>) {
  static const Structure s = [] {
    Builder<ElasticPolicy> builder("elastic", "When the cluster grows and shrinks.");
    add_policy_fields(builder);
    return builder.done();
  }();
  return s;
}

const Structure& description(Tag<PoolElastic>) {
  static const Structure s = [] {
    Builder<PoolElastic> builder(
        "pool elastic", "Has the pool grow and shrink, between `size` and `slurm.most`, as Slurm's queue asks.");
    // Not of a class that is simulated, whose policy is ours.
    builder.attribute<&PoolElastic::asked_by>("asked_by", "AskedBy",
                                              "Who asks for its hosts: `queue`, our policy as Slurm's queue has it, or "
                                              "`slurm`, by its ResumeProgram and SuspendProgram.");
    add_pool_fields(builder);
    // Nor these: in the simulator all hosts are anybody's.
    builder.block<&PoolElastic::reservations>("reservation", "Reservations",
                                              "Hosts that are for some people alone from one moment until another.");
    return builder.done();
  }();
  return s;
}

}  // namespace underway::model
