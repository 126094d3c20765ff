#include "elastic/state.hpp"

namespace underway::elastic {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const describe::Enumeration& description(Tag<BreakerState>) {
  static const auto e = describe::enumeration<BreakerState>("breaker state");
  return e;
}

const Structure& description(Tag<ClassState>) {
  static const Structure s =
      Builder<ClassState>("class state", "What is remembered of a class of nodes.")
          .wire<&ClassState::running>("Running", "Nodes that are up.")
          .wire<&ClassState::booting>("Booting", "Nodes that are being made.")
          .wire<&ClassState::asleep>("Asleep", "Nodes that are suspended.")
          .wire<&ClassState::failed_boots>("FailedBoots", "Boots that failed, ever.")
          .wire<&ClassState::failures>("Failures", "When boots failed, within the breaker's window.")
          .wire<&ClassState::breaker>("Breaker", "closed, open or half_open.")
          .wire<&ClassState::opened_at>("OpenedAt", "When the breaker opened.")
          .time()
          .wire<&ClassState::tokens>("Tokens", "Boots that may be asked for at once; negative: all of the burst.")
          .wire<&ClassState::rate>("Rate", "Boots per second after what went wrong; 0: the policy's.")
          .wire<&ClassState::filled_at>("FilledAt", "When the tokens were counted.")
          .time()
          .wire<&ClassState::refusals>("Refusals", "Refusals of the provider in a row.")
          .wire<&ClassState::backoff_until>("BackoffUntil", "It is not asked before.")
          .time()
          .done();
  return s;
}

const Structure& description(Tag<Gang>) {
  static const Structure s = Builder<Gang>("gang", "A Slurm job of several nodes that are being made.")
                                 .wire<&Gang::label>("Label", "What its nodes are marked with.")
                                 .wire<&Gang::job>("Job", "The Slurm job.")
                                 .wire<&Gang::class_name>("Class", "Of what class they are.")
                                 .wire<&Gang::nodes>("Nodes", "How many are made for it.")
                                 .wire<&Gang::forming>("Forming", "Whether they are being made now.")
                                 .wire<&Gang::deadline>("Deadline", "All of them are up by then, or are given back.")
                                 .time()
                                 .wire<&Gang::attempts>("Attempts", "How often they were given back.")
                                 .wire<&Gang::not_before>("NotBefore", "It is not tried again before.")
                                 .time()
                                 .done();
  return s;
}

const Structure& description(Tag<State>) {
  static const Structure s = Builder<State>("elastic state", "What the policy remembers.")
                                 .wire<&State::classes>("Classes", "Of each class.")
                                 .wire<&State::gangs>("Gangs", "Slurm jobs whose nodes are being made.")
                                 .wire<&State::redone>("Redone", "How often a Slurm job's node was taken back.")
                                 .wire<&State::timed_out>("TimedOut", "Nodes whose boot was given up.")
                                 .wire<&State::gangs_begun>("GangsBegun", "Gangs, ever.")
                                 .wire<&State::last_tick>("LastTick", "When it was decided last.")
                                 .time()
                                 .wire<&State::stepped_at>("SteppedAt", "When the clock was set.")
                                 .time()
                                 .wire<&State::stepped_by>("SteppedBy", "By so many nanoseconds.")
                                 .done();
  return s;
}

}  // namespace underway::elastic
