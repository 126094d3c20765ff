#include "node/task/task_environment.hpp"

#include "base/text.hpp"
#include "node/artifact/destination.hpp"
#include "node/streams/file_access.hpp"
#include "node/task/task_runner.hpp"

namespace underway::node {
namespace {

/// The user by name, with an error that says where it is missing.
os::User resolve_user(const std::string& name, const std::string& node_name) {
  if (const auto user = os::find_user(name)) return *user;
  throw Error(Code::not_found, fmt::format("user '{}' does not exist on node '{}'", name, node_name))
      .advise("create the user there, or name another in the task's `user`");
}

/// `dispatch_payload`: what the dispatch brought, below the task's local directory; an empty file if it brought
/// nothing, so that who reads it need not ask. Blocks: yes (disk).
void write_payload(const model::Allocation& allocation, const model::Task& task, const AllocationDirectory& directory,
                   const TaskPaths& view, const os::User& owner) {
  const auto& job = allocation.job;
  if (!task.dispatch_payload || !job || (!job->payload && !job->dispatched)) return;
  const std::string path =
      resolve_destination("local/" + task.dispatch_payload->file, task.name, directory.root(), view);
  Beneath(directory.root())
      .write(path, base64_decode(job->payload.value_or("")), 0644, os::Owner{owner.uid, owner.gid});
}

TemplateAsker template_asker(const model::Allocation& allocation, const model::Task& task) {
  TemplateAsker asker{allocation.ns, allocation.job_id, allocation.group, task.name, allocation.id};
  if (!task.vault) return asker;
  asker.logs_in = true;
  asker.vault_role = task.vault->role;
  asker.vault_ns = task.vault->ns;
  asker.vault_cluster = task.vault->cluster;
  return asker;
}

}  // namespace

void TaskEnvironment::rebuild() {
  const model::Allocation& allocation = *subject_.allocation();
  const model::Task& task = subject_.task();
  model::StringMap rendered = added.tokens;
  for (const auto& [name, value] : added.rendered) rendered.insert_or_assign(name, value);
  TaskPaths paths = paths_of(task);
  const bool image = paths.image;
  EnvironmentInputs inputs{.node = context_.node,
                           .allocation = allocation,
                           .group = group_of(allocation),
                           .task = task,
                           .paths = std::move(paths),
                           .region = context_.options.region,
                           .parent_cgroup = context_.options.cgroup_parent,
                           .user = task.user.empty() || image ? "" : user_.name,
                           .home = task.user.empty() || image ? "" : user_.home,
                           .host = image ? model::StringMap() : context_.host_environment,
                           .secrets = added.secrets,
                           .rendered = std::move(rendered)};
  interpolation_ = build_environment(inputs);
}

TaskPaths TaskEnvironment::paths_of(const model::Task& task) const {
  return context_.drivers.paths(task.driver, directory_, task.name);
}

/// A user of an image is its driver's business.
std::string TaskEnvironment::user_name(const model::Task& task) const {
  const std::string name = interpolation_.apply(task.user);
  return name.empty() || paths_of(task).image ? context_.drivers.default_user(task.driver) : name;
}

awaitable<void> TaskEnvironment::find_user() {
  const std::string name = user_name(subject_.task());
  const auto find = [this, &name] { user_ = resolve_user(name, context_.node.name); };
  co_await blocking(context_.runtime, find);
}

awaitable<void> TaskEnvironment::make_directories() {
  // An order may bring a new version while the pool works: this one stays in memory, and is finished first.
  const std::shared_ptr<const model::Allocation> keep = subject_.allocation();
  const model::Task& task = subject_.task();
  const std::string name = user_name(task);
  const auto make = [this, &name, &task, &keep] {
    user_ = resolve_user(name, context_.node.name);
    directory_.build();
    const TaskPaths paths = paths_of(task);
    directory_.build_task(task.name, user_,
                          {context_.options.secrets_in_memory, task.resources.secrets_mb, paths.of_machine});
    write_payload(*keep, task, directory_, paths, user_);
  };
  co_await blocking(context_.runtime, make);
}

TemplateInputs TaskEnvironment::template_inputs(const model::Task& task, const Interpolation& interpolation) const {
  const model::Allocation& allocation = *subject_.allocation();
  return {.task = task,
          .interpolation = interpolation,
          .allocation_root = directory_.root(),
          .view = paths_of(task),
          .owner = owner(),
          .allow_outside_sources = context_.options.disable_file_sandbox,
          .now = context_.runtime.now(),
          .disk_mb = group_of(allocation).ephemeral_disk.size_mb,
          .asker = template_asker(allocation, task),
          .cluster = context_.cluster_data,
          .compat = &context_.options.compat};
}

}  // namespace underway::node
