#include "model/node/orphans.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<Orphan>) {
  static const Structure s = Builder<Orphan>("orphan", "An allocation that its node's server does not know.")
                                 .wire<&Orphan::id>("ID", "Its id.")
                                 .wire<&Orphan::ns>("Namespace", "Its namespace.")
                                 .wire<&Orphan::job_id>("JobID", "Its job.")
                                 .wire<&Orphan::job_version>("JobVersion", "And the version of it.")
                                 .wire<&Orphan::group>("TaskGroup", "Its group.")
                                 .wire<&Orphan::name>("Name", "Its name.")
                                 .done();
  return s;
}

const Structure& description(Tag<Orphans>) {
  static const Structure s =
      Builder<Orphans>("orphans", "What a node runs by the orders of another history than its server's.")
          .wire<&Orphans::node_id>("NodeID", "The node.")
          .wire<&Orphans::node_name>("NodeName", "Its name.")
          .wire<&Orphans::closed>("Closed", "Whether it was made ineligible because of them.")
          .wire<&Orphans::allocations>("Allocations", "All of them.")
          .done();
  return s;
}

}  // namespace underway::model
