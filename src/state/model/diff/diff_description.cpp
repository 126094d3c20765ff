#include "model/diff/diff.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<DiffType>) {
  static const Enumeration e = describe::enumeration<DiffType>("diff type", {{DiffType::none, "None"},
                                                                             {DiffType::added, "Added"},
                                                                             {DiffType::deleted, "Deleted"},
                                                                             {DiffType::edited, "Edited"}});
  return e;
}

const Structure& description(Tag<FieldDiff>) {
  static const Structure s = Builder<FieldDiff>("FieldDiff", "A value that changed.")
                                 .wire<&FieldDiff::type>("Type", "What happened to it.")
                                 .wire<&FieldDiff::name>("Name", "The field's name on the wire.")
                                 .wire<&FieldDiff::before>("Old", "Its value before.")
                                 .wire<&FieldDiff::after>("New", "Its value after.")
                                 .wire<&FieldDiff::annotations>("Annotations", "What the change leads to.")
                                 .wire<&FieldDiff::lines>("Lines", "Unified diff of a text of several lines.")
                                 .done();
  return s;
}

const Structure& description(Tag<ObjectDiff>) {
  static const Structure s = Builder<ObjectDiff>("ObjectDiff", "A block that changed.")
                                 .wire<&ObjectDiff::type>("Type", "What happened to it.")
                                 .wire<&ObjectDiff::name>("Name", "What it is.")
                                 .wire<&ObjectDiff::fields>("Fields", "Its values.")
                                 .wire<&ObjectDiff::objects>("Objects", "The blocks in it.")
                                 .done();
  return s;
}

const Structure& description(Tag<TaskDiff>) {
  static const Structure s = Builder<TaskDiff>("TaskDiff", "A task that changed.")
                                 .wire<&TaskDiff::type>("Type", "What happened to it.")
                                 .wire<&TaskDiff::name>("Name", "Its name.")
                                 .wire<&TaskDiff::fields>("Fields", "Its values.")
                                 .wire<&TaskDiff::objects>("Objects", "The blocks in it.")
                                 .wire<&TaskDiff::annotations>("Annotations", "What the change leads to.")
                                 .done();
  return s;
}

const Structure& description(Tag<TaskGroupDiff>) {
  static const Structure s = Builder<TaskGroupDiff>("TaskGroupDiff", "A group that changed.")
                                 .wire<&TaskGroupDiff::type>("Type", "What happened to it.")
                                 .wire<&TaskGroupDiff::name>("Name", "Its name.")
                                 .wire<&TaskGroupDiff::fields>("Fields", "Its values.")
                                 .wire<&TaskGroupDiff::objects>("Objects", "The blocks in it.")
                                 .wire<&TaskGroupDiff::tasks>("Tasks", "Its tasks that changed.")
                                 .wire<&TaskGroupDiff::updates>("Updates", "How many allocations are created, …")
                                 .done();
  return s;
}

const Structure& description(Tag<JobDiff>) {
  static const Structure s = Builder<JobDiff>("JobDiff", "What changed between two versions of a job.")
                                 .wire<&JobDiff::type>("Type", "What happened to it.")
                                 .wire<&JobDiff::id>("ID", "The job.")
                                 .wire<&JobDiff::fields>("Fields", "Its values.")
                                 .wire<&JobDiff::objects>("Objects", "The blocks in it.")
                                 .wire<&JobDiff::groups>("TaskGroups", "Its groups that changed.")
                                 .done();
  return s;
}

const Structure& description(Tag<ClusterDiff>) {
  static const Structure s = Builder<ClusterDiff>("ClusterDiff", "What changed between two versions of a cluster.")
                                 .wire<&ClusterDiff::object>("Cluster", "Its networks, shares and pools.")
                                 .wire<&ClusterDiff::hosts_added>("HostsAdded", "Hosts that come.")
                                 .wire<&ClusterDiff::hosts_removed>("HostsRemoved", "Hosts that go.")
                                 .done();
  return s;
}

}  // namespace underway::model
