#include "model/elastic/recall.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<RecalledHost>) {
  static const Structure s =
      Builder<RecalledHost>("recalled host", "A host that is taken back.")
          .wire<&RecalledHost::host>("Host", "Its name.")
          .wire<&RecalledHost::until>("Until", "When its notice is over, Unix time in nanoseconds; 0: it goes at once.")
          .wire<&RecalledHost::jobs>("Jobs", "Slurm jobs that are done again if they still run by then.")
          .done();
  return s;
}

const Structure& description(Tag<SpareHost>) {
  static const Structure s = Builder<SpareHost>("spare host", "A host that stays although it is asked for.")
                                 .wire<&SpareHost::host>("Host", "Its name.")
                                 .wire<&SpareHost::why>("Why", "Why it stays.")
                                 .done();
  return s;
}

const Structure& description(Tag<Recall>) {
  static const Structure s =
      Builder<Recall>("recall", "Hosts of an opportunistic pool that are taken back.")
          .wire<&Recall::cluster>("Cluster", "The pool's cluster.")
          .wire<&Recall::number>("Number", "Its number in the cluster.")
          .wire<&Recall::pool>("Pool", "The pool.")
          .wire<&Recall::hosts>("Hosts", "The hosts that are asked for; empty: Count of them.")
          .wire<&Recall::count>("Count", "How many, those that cost least.")
          .wire<&Recall::why>("Why", "Why, for people.")
          .wire<&Recall::for_host>("ForHost", "It ends with this host, for which room is made; empty: by a word.")
          .wire<&Recall::asked_at>("AskedAt", "When it was asked for.")
          .time()
          .wire<&Recall::decided_at>("DecidedAt", "When it was decided which hosts go; 0: not yet.")
          .time()
          .wire<&Recall::ceiling>("Ceiling", "How many hosts the pool has at most until the recall is ended.")
          .wire<&Recall::goes>("Goes", "The hosts that go.")
          .wire<&Recall::stays>("Stays", "Hosts that stay, with why.")
          .done();
  return s;
}

}  // namespace underway::model
