#pragma once
/// @file
/// What changed between two versions of a job or a cluster, driven by their descriptions. The tree and its JSON names
/// are Nomad's job diff; `Lines` (a unified diff of long strings) is ours. Server-kept fields (status, indexes, …) take
/// no part. Values of maps such as env are shown as they are, as Nomad shows them.

#include "model/cluster.hpp"
#include "model/job/job.hpp"

namespace underway::model {

enum class DiffType { none, added, deleted, edited };

struct FieldDiff {
  DiffType type = DiffType::none;
  std::string name;  ///< the wire's name; of maps "Env[KEY]"
  std::string before;
  std::string after;
  std::vector<std::string> annotations;  ///< "forces create/destroy update", …
  std::vector<std::string> lines;        ///< of texts with several lines: "@@ … @@", " same", "-old", "+new"
};

struct ObjectDiff {
  DiffType type = DiffType::none;
  std::string name;  ///< "Constraint", "Resources", "Static Port", …
  std::vector<FieldDiff> fields;
  std::vector<ObjectDiff> objects;
};

struct TaskDiff {
  DiffType type = DiffType::none;
  std::string name;
  std::vector<FieldDiff> fields;
  std::vector<ObjectDiff> objects;
  std::vector<std::string> annotations;
};

struct TaskGroupDiff {
  DiffType type = DiffType::none;
  std::string name;
  std::vector<FieldDiff> fields;
  std::vector<ObjectDiff> objects;
  std::vector<TaskDiff> tasks;
  std::map<std::string, std::int64_t> updates;  ///< left to the scheduler's preview: "create" → 3, …
};

struct JobDiff {
  DiffType type = DiffType::none;
  std::string id;
  std::vector<FieldDiff> fields;
  std::vector<ObjectDiff> objects;
  std::vector<TaskGroupDiff> groups;
};

struct ClusterDiff {
  ObjectDiff object;                       ///< networks, shares and pools are its objects, in the order of the files
  std::vector<std::string> hosts_added;    ///< host names that come
  std::vector<std::string> hosts_removed;  ///< host names that go
};

/// Either side may be null: the job is new, or gone. Both must be canonicalized, else filled-in defaults show up as
/// changes. Parts that did not change are left out; of a part that did, nested objects list their unchanged fields too
/// (type none), for context. Fields that replace running allocations are annotated.
JobDiff diff(const Job* before, const Job* after);
ClusterDiff diff(const Cluster* before, const Cluster* after);

/// Whether going from `before` to `after` replaces the group's running allocations rather than updating them in place:
/// fields marked destructive() in the descriptions, and the set of tasks (Nomad's `tasksUpdated`). Ignores count.
bool destructive_change(const TaskGroup& before, const TaskGroup& after);
/// The same for the group of that name, with what the job gives to its tasks (meta). A group that only one of the two
/// has counts as changed.
bool destructive_change(const Job& before, const Job& after, std::string_view group);

/// Unified diff of two texts by lines, with `context` unchanged lines around each change; empty when they are equal.
std::vector<std::string> diff_lines(std::string_view before, std::string_view after, std::size_t context = 3);

const describe::Enumeration& description(describe::Tag<DiffType>);
const describe::Structure& description(describe::Tag<FieldDiff>);
const describe::Structure& description(describe::Tag<ObjectDiff>);
const describe::Structure& description(describe::Tag<TaskDiff>);
const describe::Structure& description(describe::Tag<TaskGroupDiff>);
const describe::Structure& description(describe::Tag<JobDiff>);
const describe::Structure& description(describe::Tag<ClusterDiff>);

}  // namespace underway::model
