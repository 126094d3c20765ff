#pragma once
/// @file
/// What a task finds when it starts: its directories, its user, its environment, and what `${…}` stands for in it.

#include <memory>
#include <string>

#include "node/allocation/allocation_directory.hpp"
#include "node/task/runner_context.hpp"
#include "node/task/task_subject.hpp"
#include "node/template/template_renderer.hpp"
#include "os/process/user.hpp"

namespace underway::node {

class TaskEnvironment {
 public:
  /// All outlive it.
  TaskEnvironment(RunnerContext& context, const TaskSubject& subject, AllocationDirectory directory)
      : context_(context), subject_(subject), directory_(std::move(directory)) {}

  /// What others put into it. rebuild() takes it in.
  struct Additions {
    model::StringMap secrets;   ///< as Interpolation::secrets
    model::StringMap tokens;    ///< variables with identities
    model::StringMap rendered;  ///< variables of templates with `env`; they cover the others
  };
  Additions added;
  void rebuild();

  const Interpolation& interpolation() const { return interpolation_; }
  const AllocationDirectory& directory() const { return directory_; }
  const os::User& user() const { return user_; }
  /// Of files that are made for the task.
  os::Owner owner() const { return {user_.uid, user_.gid}; }
  /// Its directories as its driver shows them to it.
  TaskPaths paths_of(const model::Task& task) const;
  /// What a rendering of its templates is given; `task` and `interpolation` outlive the result.
  TemplateInputs template_inputs(const model::Task& task, const Interpolation& interpolation) const;

  /// Finds its user and makes its directories, with what a dispatch brought. Errors: not_found, without such a user;
  /// those of the disk.
  awaitable<void> make_directories();
  /// Who the task runs as, by its user's name: again after a restart of the agent. Errors: not_found.
  awaitable<void> find_user();

 private:
  std::string user_name(const model::Task& task) const;

  RunnerContext& context_;
  const TaskSubject& subject_;
  AllocationDirectory directory_;
  os::User user_;
  Interpolation interpolation_;
};

}  // namespace underway::node
