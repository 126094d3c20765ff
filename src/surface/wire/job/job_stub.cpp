#include "wire/job/job_stub.hpp"

namespace underway::wire {

using describe::Builder;
using describe::Projection;
using describe::Projector;
using describe::Structure;
using describe::Tag;

namespace {

bool is_periodic(const model::Job& job) { return job.periodic.has_value(); }

/// Not of a child that was dispatched: it keeps the block.
bool is_dispatched_from(const model::Job& job) { return job.parameterized && !job.dispatched; }

}  // namespace

const Structure& description(Tag<GroupSummary>) {
  static const Structure s =
      Builder<GroupSummary>("group summary", "How many allocations of a group are in which state.")
          .wire<&GroupSummary::queued>("Queued", "How many could not be placed yet.")
          .wire<&GroupSummary::complete>("Complete", "How many ended as they should.")
          .wire<&GroupSummary::failed>("Failed", "How many failed.")
          .wire<&GroupSummary::running>("Running", "How many run.")
          .wire<&GroupSummary::starting>("Starting", "How many are on their node and do not run yet.")
          .wire<&GroupSummary::lost>("Lost", "How many were lost with their node.")
          .wire<&GroupSummary::unknown>("Unknown", "How many are on a node that is not heard of.")
          .done();
  return s;
}

const Structure& description(Tag<ChildrenSummary>) {
  static const Structure s = Builder<ChildrenSummary>("children summary", "Jobs that a job has started, by status.")
                                 .wire<&ChildrenSummary::pending>("Pending", "How many have not begun to run.")
                                 .wire<&ChildrenSummary::running>("Running", "How many run.")
                                 .wire<&ChildrenSummary::dead>("Dead", "How many have ended.")
                                 .done();
  return s;
}

const Projection<model::Job>& description(Tag<JobSummary>) {
  static const auto s =
      Projector<JobSummary, model::Job>("job summary", "A job's allocations by group and state.")
          .from<&JobSummary::job_id, &model::Job::id>("JobID", "ID of the job.")
          .from<&JobSummary::ns, &model::Job::ns>("Namespace", "Namespace of the job.")
          .wire<&JobSummary::groups>("Summary", "How many allocations are in which state, by group.")
          .wire<&JobSummary::children>(
              "Children", "How many jobs a periodic or parameterized job has started; of others all are 0.")
          .from<&JobSummary::create_index, &model::Job::create_index>("CreateIndex", "Revision of the job's creation.")
          .from<&JobSummary::modify_index, &model::Job::modify_index>(
              "ModifyIndex", "Revision of the last change of the job or of one of its allocations.")
          .done();
  return s;
}

const Projection<model::Job>& description(Tag<JobStub>) {
  static const auto s =
      Projector<JobStub, model::Job>("job stub", "A job in a list.")
          .from<&JobStub::id, &model::Job::id>("ID", "ID of the job.")
          .from<&JobStub::parent_id, &model::Job::parent_id>(
              "ParentID", "ID of the periodic or parameterized job that started it; empty: none.")
          .from<&JobStub::name, &model::Job::name>(
              "Name", "Name of the job, for people; its ID where its file says nothing else.")
          .from<&JobStub::ns, &model::Job::ns>("Namespace", "Namespace of the job.")
          .from<&JobStub::datacenters, &model::Job::datacenters>(
              "Datacenters", "Datacenters that it may run in, as patterns: * stands for any run of characters.")
          .from<&JobStub::node_pool, &model::Job::node_pool>("NodePool", "Pool of the nodes that it may run on.")
          .from<&JobStub::type, &model::Job::type>("Type", "service, batch, system or sysbatch.")
          .from<&JobStub::priority, &model::Job::priority>(
              "Priority", "Higher is placed first; 50 where its file says nothing else.")
          .from<&JobStub::periodic, is_periodic>("Periodic", "Whether it starts others by the clock.")
          .from<&JobStub::parameterized, is_dispatched_from>("ParameterizedJob",
                                                             "Whether it starts others by dispatch.")
          .from<&JobStub::stop, &model::Job::stop>("Stop", "Whether the job was stopped.")
          .from<&JobStub::status, &model::Job::status>("Status", "pending, running or dead.")
          .from<&JobStub::status_description, &model::Job::status_description>(
              "StatusDescription", "Why it is so, for people; may be empty.")
          .wire<&JobStub::meta>("Meta", "Its metadata, by name; only with ?meta.")
          .wire<&JobStub::summary>("JobSummary", "How many of its allocations are in which state.")
          .from<&JobStub::cluster, &model::Job::cluster>(
              "Cluster", "The cluster whose directory declares it; empty: it is of none.")
          .from<&JobStub::version, &model::Job::version>("Version", "The registered version, counted from 0.")
          .from<&JobStub::submit_time, &model::Job::submit_time>(
              "SubmitTime", "When this version was registered, Unix time in nanoseconds.")
          .from<&JobStub::create_index, &model::Job::create_index>("CreateIndex", "Revision of its creation.")
          .from<&JobStub::modify_index, &model::Job::modify_index>("ModifyIndex", "Revision of its last change.")
          .from<&JobStub::job_modify_index, &model::Job::job_modify_index>(
              "JobModifyIndex", "Revision of the last change of its specification.")
          .done();
  return s;
}

}  // namespace underway::wire
