#include "growth/status.hpp"

namespace underway::growth {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<PoolStatus>) {
  static const Structure s =
      Builder<PoolStatus>("growing pool", "How a pool stands whose hosts are made and ended as Slurm's queue asks.")
          .wire<&PoolStatus::pool>("Pool", "Its name.")
          .wire<&PoolStatus::asked_by>("AskedBy", "Who asks for its hosts: queue, or slurm itself.")
          .wire<&PoolStatus::always>("Always", "Hosts that it has whatever Slurm's queue asks for.")
          .wire<&PoolStatus::most>("Most", "Hosts that it has at most.")
          .wire<&PoolStatus::booting>("Booting", "Hosts that are asked for and not yet nodes of Slurm.")
          .wire<&PoolStatus::idle>("Idle", "Hosts without a Slurm job.")
          .wire<&PoolStatus::busy>("Busy", "Hosts with Slurm jobs.")
          .wire<&PoolStatus::leaving>("Leaving", "Hosts that are being emptied and ended.")
          .wire<&PoolStatus::asleep>("Asleep", "Hosts that are suspended.")
          .wire<&PoolStatus::cost_per_hour>("CostPerHour",
                                            "What all of them cost in an hour, as 1.40; empty: they cost nothing.")
          .wire<&PoolStatus::trouble>("Trouble",
                                      "Why no host is asked for although one is needed; empty: nothing keeps it.")
          .wire<&PoolStatus::failed_boots>("FailedBoots", "How often one of its hosts did not come up, ever.")
          .done();
  return s;
}

const Structure& description(Tag<Status>) {
  static const Structure s =
      Builder<Status>("growing cluster",
                      "How a cluster stands that has pools which grow and shrink as Slurm's queue asks.")
          .wire<&Status::cluster>("Cluster", "Its name.")
          .wire<&Status::at>("At", "When Slurm was last looked at.")
          .time()
          .wire<&Status::trouble>("Trouble", "Why Slurm could not be looked at since; empty: it could.")
          .wire<&Status::trouble_since>("TroubleSince", "Since when.")
          .time()
          .wire<&Status::pending>("Pending", "Slurm jobs that wait; tasks of arrays each count.")
          .wire<&Status::running>("Running", "Slurm jobs that run.")
          .wire<&Status::spent_today>(
              "SpentToday", "What its hosts have cost today, by UTC, as 12.00; empty: nothing costs anything.")
          .wire<&Status::spent_this_month>("SpentThisMonth", "What its hosts have cost this month, likewise.")
          .wire<&Status::pools>("Pools", "Its pools that grow.")
          .wire<&Status::explanation>("Explanation", "Why the newest decision is as it is, in numbers.")
          .wire<&Status::lines>("Lines", "Why the newest decision is as it is, in words.")
          .done();
  return s;
}

const Structure& description(Tag<JobExplanation>) {
  static const Structure s =
      Builder<JobExplanation>("waiting Slurm job", "Why a Slurm job waits, and what is done for it.")
          .wire<&JobExplanation::cluster>("Cluster", "The cluster whose Slurm was asked.")
          .wire<&JobExplanation::job>("Job", "Slurm's number of the job, or of a task of an array: 17, 17_3.")
          .wire<&JobExplanation::state>("State", "Its state as Slurm has it; empty: it is not in Slurm's queue.")
          .wire<&JobExplanation::reason>("Reason", "Slurm's word for why it waits.")
          .wire<&JobExplanation::lines>("Lines", "The same, and what is done about it, in words.")
          .done();
  return s;
}

}  // namespace underway::growth
