#include "wire/job/shortfall.hpp"

namespace underway::wire {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<Shortfall>) {
  static const Structure s =
      Builder<Shortfall>("shortfall", "A job that does not run as it is declared.")
          .wire<&Shortfall::job>("JobID", "ID of the job.")
          .wire<&Shortfall::version>("JobVersion",
                                     "The registered version; of one that failed before, that earlier version.")
          .wire<&Shortfall::needs_you>("NeedsYou", "Whether somebody has to do something; false: it is on its way.")
          .wire<&Shortfall::goes_on>("GoesOn",
                                     "Whether its rollout has no verdict yet, although some of it has failed.")
          .wire<&Shortfall::what>(
              "What", "What is not as it is declared, in words: \"version 3 failed on c1; 5 of 6 run version 2\".")
          .wire<&Shortfall::why>("Why", "The first cause, in words; empty: none is known.")
          .wire<&Shortfall::advice>("Do", "The next step, in words or as a command.")
          .done();
  return s;
}

}  // namespace underway::wire
