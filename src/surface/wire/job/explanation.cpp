// What an explanation looks like on the wire.
#include "wire/job/explanation.hpp"

namespace underway::wire {

using describe::Builder;
using describe::Projection;
using describe::Projector;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<Reason>) {
  static const Structure s =
      Builder<Reason>("reason", "Something that keeps a group from being as it is wanted.")
          .wire<&Reason::kind>("Kind", "placement, dependency, rollout, failure, drain, node, health, start or stop.")
          .wire<&Reason::what>("What", "What is the matter, in words.")
          .wire<&Reason::why>("Why", "What it comes of, one line each; may be empty.")
          .wire<&Reason::advice>("Do", "A command that helps; empty: it goes on by itself.")
          .done();
  return s;
}

const Projection<model::Allocation>& description(Tag<ExplainedAllocation>) {
  static const auto s =
      Projector<ExplainedAllocation, model::Allocation>("explained allocation", "An allocation, and why it is there.")
          .from<&ExplainedAllocation::id, &model::Allocation::id>("ID", "ID of the allocation.")
          .from<&ExplainedAllocation::name, &model::Allocation::name>("Name",
                                                                      "Name of the allocation: job.group[index].")
          .from<&ExplainedAllocation::node_id, &model::Allocation::node_id>("NodeID", "ID of the node that it is on.")
          .from<&ExplainedAllocation::node_name, &model::Allocation::node_name>("NodeName",
                                                                                "Name of the node that it is on.")
          .from<&ExplainedAllocation::version, &model::Allocation::job_version>("JobVersion",
                                                                                "Version of the job that it runs.")
          .from<&ExplainedAllocation::status, &model::Allocation::client_status>(
              "ClientStatus", "How it goes on its node: pending, running or unknown.")
          .from<&ExplainedAllocation::stopping, &model::Allocation::server_terminal>(
              "Stopping", "It is not wanted any more, and is not known to have ended.")
          .from<&ExplainedAllocation::ready, &model::Allocation::is_ready>("Ready",
                                                                           "Its tasks run and its checks pass now.")
          .wire<&ExplainedAllocation::where>("Where", "Why it is on this node, in words.")
          .done();
  return s;
}

const Structure& description(Tag<ExplainedNode>) {
  static const Structure s =
      Builder<ExplainedNode>("explained node", "What a node says to one more allocation.")
          .wire<&ExplainedNode::id>("ID", "ID of the node.")
          .wire<&ExplainedNode::name>("Name", "Name of the node.")
          .wire<&ExplainedNode::against>("Against", "What keeps it from taking one more, in words; empty: nothing.")
          .done();
  return s;
}

const Structure& description(Tag<ExplainedGroup>) {
  static const Structure s =
      Builder<ExplainedGroup>("explained group", "A group, and why it is as it is.")
          .wire<&ExplainedGroup::name>("Name", "Name of the group.")
          .wire<&ExplainedGroup::wanted>(
              "Wanted", "How many allocations it shall have; of a system job what is placed and what could not be.")
          .wire<&ExplainedGroup::placed>("Placed", "How many it has that are wanted and have not ended.")
          .wire<&ExplainedGroup::running>("Running", "How many of these run.")
          .wire<&ExplainedGroup::ready>("Ready", "How many of these run with all their checks passing.")
          .wire<&ExplainedGroup::reasons>("Reasons", "What keeps it from being as it is wanted; empty: nothing.")
          .wire<&ExplainedGroup::allocations>(
              "Allocations", "Its allocations that have not ended, with those that are still stopping.")
          .wire<&ExplainedGroup::nodes>("Nodes", "What each node says to one more; only when it is asked for.")
          .done();
  return s;
}

const Projection<model::Job>& description(Tag<Explanation>) {
  static const auto s =
      Projector<Explanation, model::Job>("explanation", "Why a job is as it is.")
          .from<&Explanation::id, &model::Job::id>("ID", "ID of the job.")
          .from<&Explanation::ns, &model::Job::ns>("Namespace", "Namespace of the job.")
          .from<&Explanation::type, &model::Job::type>("Type", "service, batch, system or sysbatch.")
          .from<&Explanation::status, &model::Job::status>("Status", "pending, running or dead.")
          .from<&Explanation::version, &model::Job::version>("Version", "The registered version.")
          .from<&Explanation::stop, &model::Job::stop>("Stop", "Whether the job was stopped.")
          .wire<&Explanation::reasons>("Reasons", "What concerns all of it; what concerns a group is in Groups.")
          .wire<&Explanation::groups>("Groups", "Its groups, in the order of its file.")
          .wire<&Explanation::advice>("Do", "The nearest thing to do, a command; empty: it goes on by itself.")
          .done();
  return s;
}

}  // namespace underway::wire
