#include "wire/cluster/recall.hpp"

namespace underway::wire {

const describe::Structure& description(describe::Tag<RecallBody>) {
  static const describe::Structure s =
      describe::Builder<RecallBody>("recall body", "Which hosts are taken back.")
          .wire<&RecallBody::pool>("Pool", "Of which pool; empty: that of the hosts, or the only one it can be.")
          .wire<&RecallBody::hosts>("Hosts", "These hosts; empty: Count of the pool.")
          .wire<&RecallBody::count>("Count", "How many, those that cost least.")
          .wire<&RecallBody::reason>("Reason", "Why, for people.")
          .done();
  return s;
}

}  // namespace underway::wire
