#include "wire/cluster/status.hpp"

namespace underway::wire {

using describe::Builder;
using describe::Projection;
using describe::Projector;
using describe::Structure;
using describe::Tag;

namespace {

std::string first_address(const model::Host& host) {
  return host.addresses.empty() ? std::string() : host.addresses.begin()->second;
}

std::vector<std::string> dependencies_of(const model::Job& job) {
  std::vector<std::string> jobs;
  for (const auto& dependency : job.depends_on) jobs.push_back(dependency.job);
  for (const auto& group : job.groups) {
    for (const auto& dependency : group.depends_on) jobs.push_back(dependency.job);
  }
  return jobs;
}

}  // namespace

const Projection<model::Job>& description(Tag<ServiceStatus>) {
  static const auto s =
      Projector<ServiceStatus, model::Job>("service status", "How a job goes.")
          .from<&ServiceStatus::id, &model::Job::id>("ID", "ID of the job.")
          .from<&ServiceStatus::cluster, &model::Job::cluster>(
              "Cluster", "The cluster whose directory declares it; empty: it is of none.")
          .from<&ServiceStatus::type, &model::Job::type>("Type", "service, batch, system or sysbatch.")
          .from<&ServiceStatus::status, &model::Job::status>("Status", "pending, running or dead.")
          .from<&ServiceStatus::version, &model::Job::version>("Version", "The registered version.")
          .wire<&ServiceStatus::wanted>("Wanted",
                                        "How many allocations shall run now, with those that have no place yet.")
          .wire<&ServiceStatus::running>("Running", "How many of them run.")
          .wire<&ServiceStatus::healthy>("Healthy", "How many of them run with all their checks passing now.")
          .wire<&ServiceStatus::nodes>("Nodes", "Names of the nodes that they are on.")
          .wire<&ServiceStatus::waits>("Waits", "What keeps the others from running, in words.")
          .from<&ServiceStatus::depends_on, dependencies_of>("DependsOn",
                                                             "IDs of the jobs that it, or a group of it, waits for.")
          .done();
  return s;
}

const Projection<model::Host>& description(Tag<HostState>) {
  static const auto s =
      Projector<HostState, model::Host>("host state", "How a host goes.")
          .from<&HostState::name, &model::Host::name>("Name", "Name of the host, within its cluster.")
          .from<&HostState::cluster, &model::Host::cluster>("Cluster", "The cluster that it belongs to.")
          .from<&HostState::pool, &model::Host::pool>("Pool", "The pool of the cluster that it belongs to.")
          .from<&HostState::address, first_address>(
              "Address", "Its address in the first of its networks by name; empty: it has none yet.")
          .from<&HostState::node_id, &model::Host::node_id>(
              "NodeID", "ID of the node that it became; empty: its agent has not joined yet.")
          .from<&HostState::status, &model::Host::status>("Status", "pending, creating, running, stopping or failed.")
          .from<&HostState::status_description, &model::Host::status_description>(
              "StatusDescription", "Why it is not as it shall be, for people; empty: nothing is to be said.")
          .from<&HostState::asleep, &model::Host::asleep>("Asleep", "Whether its machine sleeps, as somebody wished.")
          .wire<&HostState::node_status>("NodeStatus",
                                         "initializing, ready, down or disconnected; absent: it is no node yet.")
          .wire<&HostState::linked>("Linked", "Whether its agent is connected now.")
          .done();
  return s;
}

const Structure& description(Tag<CapsuleStatus>) {
  static const Structure s =
      Builder<CapsuleStatus>("capsule status", "What would be lost of a capsule with its host.")
          .wire<&CapsuleStatus::name>("Name", "Name of the capsule.")
          .wire<&CapsuleStatus::owner>("Owner", "Name of the node that runs it, or may; empty: none.")
          .wire<&CapsuleStatus::standby>("Standby", "Name of the node that would take over now; empty: nobody.")
          .wire<&CapsuleStatus::why>(
              "Why", "Why that is not the chosen standby, or nobody, for people; empty: it is the chosen one.")
          .wire<&CapsuleStatus::loses>("Loses", "What was written for so long would be lost with its host.")
          .wire<&CapsuleStatus::keeps_nothing>("KeepsNothing",
                                               "It starts elsewhere with nothing, so that nothing can be lost.")
          .done();
  return s;
}

const Structure& description(Tag<Attention>) {
  static const Structure s = Builder<Attention>("attention", "Something to look at.")
                                 .wire<&Attention::what>("What", "What is the matter, for people.")
                                 .wire<&Attention::why>("Why", "What it comes of; empty: it is not known.")
                                 .wire<&Attention::advice>("Do", "A command that helps or tells more, or what to do.")
                                 .done();
  return s;
}

const Structure& description(Tag<Status>) {
  static const Structure s =
      Builder<Status>("status", "Everything for one screen.")
          .wire<&Status::clusters>(
              "Clusters",
              "All clusters, or the one that was asked for; empty for those who may not read nodes, as the next two.")
          .wire<&Status::hosts>("Hosts", "The hosts of these clusters.")
          .wire<&Status::nodes>("Nodes", "Their nodes; without a cluster in the request all that there are.")
          .wire<&Status::services>("Services", "The jobs that are not stopped, as far as the token may read them.")
          .wire<&Status::capsules>("Capsules", "What would be lost of each capsule if its host died now.")
          .wire<&Status::attention>("Attention", "What somebody should look at; empty: nothing.")
          .wire<&Status::writable>("Writable", "False: the server cannot write to its disk, and refuses changes.")
          .wire<&Status::settled>("Settled",
                                  "Every host runs, every allocation that is wanted is healthy, and nothing waits.")
          .done();
  return s;
}

}  // namespace underway::wire
