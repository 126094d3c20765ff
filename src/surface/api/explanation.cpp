// What an explanation looks like on the wire.
#include "api/explain.hpp"

namespace underway::api {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<Reason>) {
  static const Structure s = Builder<Reason>("reason", "Something that keeps a group from being as it is wanted.")
                                 .wire<&Reason::kind>("Kind", "")
                                 .wire<&Reason::what>("What", "")
                                 .wire<&Reason::why>("Why", "")
                                 .wire<&Reason::advice>("Do", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ExplainedAllocation>) {
  static const Structure s = Builder<ExplainedAllocation>("explained allocation", "An allocation, and why it is there.")
                                 .wire<&ExplainedAllocation::id>("ID", "")
                                 .wire<&ExplainedAllocation::name>("Name", "")
                                 .wire<&ExplainedAllocation::node_id>("NodeID", "")
                                 .wire<&ExplainedAllocation::node_name>("NodeName", "")
                                 .wire<&ExplainedAllocation::version>("JobVersion", "")
                                 .wire<&ExplainedAllocation::status>("ClientStatus", "")
                                 .wire<&ExplainedAllocation::stopping>("Stopping", "")
                                 .wire<&ExplainedAllocation::ready>("Ready", "")
                                 .wire<&ExplainedAllocation::where>("Where", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ExplainedNode>) {
  static const Structure s = Builder<ExplainedNode>("explained node", "What a node says to one more allocation.")
                                 .wire<&ExplainedNode::id>("ID", "")
                                 .wire<&ExplainedNode::name>("Name", "")
                                 .wire<&ExplainedNode::against>("Against", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ExplainedGroup>) {
  static const Structure s = Builder<ExplainedGroup>("explained group", "A group, and why it is as it is.")
                                 .wire<&ExplainedGroup::name>("Name", "")
                                 .wire<&ExplainedGroup::wanted>("Wanted", "")
                                 .wire<&ExplainedGroup::placed>("Placed", "")
                                 .wire<&ExplainedGroup::running>("Running", "")
                                 .wire<&ExplainedGroup::ready>("Ready", "")
                                 .wire<&ExplainedGroup::reasons>("Reasons", "")
                                 .wire<&ExplainedGroup::allocations>("Allocations", "")
                                 .wire<&ExplainedGroup::nodes>("Nodes", "")
                                 .done();
  return s;
}

const Structure& description(Tag<Explanation>) {
  static const Structure s = Builder<Explanation>("explanation", "Why a job is as it is.")
                                 .wire<&Explanation::id>("ID", "")
                                 .wire<&Explanation::ns>("Namespace", "")
                                 .wire<&Explanation::type>("Type", "")
                                 .wire<&Explanation::status>("Status", "")
                                 .wire<&Explanation::version>("Version", "")
                                 .wire<&Explanation::stop>("Stop", "")
                                 .wire<&Explanation::reasons>("Reasons", "")
                                 .wire<&Explanation::groups>("Groups", "")
                                 .wire<&Explanation::advice>("Do", "")
                                 .done();
  return s;
}

}  // namespace underway::api
