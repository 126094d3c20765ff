#pragma once
/// @file
/// A task's environment, by Nomad's names (client/taskenv/env.go).

#include "model/allocation.hpp"
#include "model/node/node.hpp"
#include "node/task/interpolate.hpp"

namespace underway::node {

/// Directories as the task sees them.
struct TaskPaths {
  std::string alloc;    ///< shared by the tasks of the allocation
  std::string local;    ///< the task's own
  std::string secrets;  ///< in memory
  /// The task's root is an image's: users and variables of this machine mean nothing in it.
  bool image = false;
  /// Its files have the names that they have on this machine.
  bool of_machine = false;
};

struct EnvironmentInputs {
  const model::Node& node;
  const model::Allocation& allocation;  ///< with its job
  const model::TaskGroup& group;
  const model::Task& task;
  TaskPaths paths;
  std::string region = "global";
  std::string parent_cgroup;  ///< empty: none
  std::string user;           ///< name of the task's user, when one was asked for
  std::string home;           ///< and its home
  model::StringMap host;      ///< the agent's own environment, filtered (host_environment)
  model::StringMap secrets;   ///< of `secret` blocks, by "secret.<block>.<item>"
  model::StringMap rendered;  ///< of templates with `env = true`; covers everything else
};

/// The environment, and with it what `${…}` stands for in everything else of the task.
Interpolation build_environment(const EnvironmentInputs& inputs);

/// What of `environ(7)` tasks inherit: PATH and the like, never credentials (Nomad's default `env.denylist`).
model::StringMap host_environment(const char* const* environment);

/// Lines NAME=value of a rendered template: comments, `export`, and quotes as a shell has them.
/// Throws Error(invalid) naming the line.
model::StringMap parse_environment_file(std::string_view text);

}  // namespace underway::node
