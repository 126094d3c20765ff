// What a task needs before it can start, and what is renewed while it runs: directories, artifacts, templates.
#include "base/log.hpp"
#include "node/artifact.hpp"
#include "node/task_event.hpp"
#include "node/task_runner.hpp"
#include "os/process.hpp"

namespace underway::node {

void TaskRunner::build_interpolation() {
  EnvironmentInputs inputs{.node = context_.node,
                           .allocation = *allocation_,
                           .group = group(),
                           .task = *task_,
                           .paths = context_.drivers.paths(task_->driver, directory_, task_->name),
                           .region = context_.options.region,
                           .parent_cgroup = context_.options.cgroup_parent,
                           .user = task_->user.empty() ? "" : user_.name,
                           .home = task_->user.empty() ? "" : user_.home,
                           .host = context_.host_environment,
                           .rendered = rendered_environment_};
  interpolation_ = build_environment(inputs);
}

namespace {

/// The user by name, with an error that says where it is missing.
os::User resolve_user(const std::string& name, const std::string& node_name) {
  if (const auto user = os::find_user(name)) return *user;
  throw Error(Code::not_found, fmt::format("user '{}' does not exist on node '{}'", name, node_name))
      .advise("create the user there, or name another in the task's `user`");
}

}  // namespace

awaitable<void> TaskRunner::prepare() {
  // An order may bring a new version while the pool works: this one stays in memory, and is finished first.
  const std::shared_ptr<const model::Allocation> keep = allocation_;
  const model::Task& task = *task_;
  record_event(event::make(event::kTaskSetup, std::string(event::kBuildingTaskDirectory)));
  if (const auto why = context_.drivers.missing(task_->driver))
    throw Error(Code::unsupported,
                fmt::format("driver '{}' cannot run on node '{}'", task_->driver, context_.node.name))
        .because(*why);
  rendered_environment_.clear();
  build_interpolation();
  std::string name = interpolation_.apply(task.user);
  if (name.empty()) name = context_.drivers.default_user(task.driver);
  co_await blocking(context_.runtime, [this, &name, &task] {
    user_ = resolve_user(name, context_.node.name);
    directory_.build();
    directory_.build_task(task.name, user_, context_.options.secrets_in_memory);
  });
  build_interpolation();
  const TemplateInputs inputs{.task = task,
                              .interpolation = interpolation_,
                              .allocation_root = directory_.root(),
                              .view = context_.drivers.paths(task_->driver, directory_, task_->name),
                              .owner = {user_.uid, user_.gid},
                              .allow_outside_sources = context_.options.disable_file_sandbox};
  if (!kill_ && !task.artifacts.empty()) co_await fetch_artifacts(inputs);
  if (!kill_ && !task.templates.empty()) {
    Rendering rendering;
    co_await blocking(context_.runtime, [&] { rendering = render_templates(inputs); });
    rendered_environment_ = std::move(rendering.environment);
  }
  build_interpolation();
  const auto problems = context_.drivers.problems(task_->driver, interpolation_.apply_to(task_->config));
  if (!problems.empty()) {
    Error error(Code::invalid,
                fmt::format("the config of task '{}' is not valid for driver '{}'", task_->name, task_->driver));
    for (const auto& problem : problems) error.because(problem);
    throw error;
  }
}

awaitable<void> TaskRunner::fetch_artifacts(const TemplateInputs& inputs) {
  record_event(event::make(event::kDownloadingArtifacts, "Client is downloading artifacts"));
  std::optional<Error> failed;
  for (const auto& artifact : inputs.task.artifacts) {
    try {
      const FetchRequest request = fetch_request(artifact, inputs);
      constexpr Duration kLongest = std::chrono::minutes{30};
      fetching_ = context_.runtime.start_program({context_.options.fetch_program}, fetch_input(request), kLongest);
      const std::shared_ptr<Program> program = fetching_;
      const ProgramResult result = co_await program->wait();
      fetching_ = nullptr;
      if (!kill_) check_fetched(request, result);
    } catch (const Error& error) {
      failed = error;
    }
    fetching_ = nullptr;
    if (kill_) co_return;
    if (failed) throw failed->while_doing("downloading artifacts");
  }
}

void TaskRunner::update(std::shared_ptr<const model::Allocation> allocation) {
  const model::TaskGroup& group = group_of(*allocation);
  const model::Task* task = group.find_task(task_->name);
  if (task == nullptr) return;  // it stays as it was until it is told to end
  allocation_ = std::move(allocation);
  task_ = task;
  tracker_.set_policy(policy());
  if (process_ && !kill_) side_.spawn("templates", apply_update());
}

awaitable<void> TaskRunner::apply_update() {
  // The task's own values are copied: an order may replace them while the pool renders.
  const std::shared_ptr<const model::Allocation> keep = allocation_;
  const std::shared_ptr<RunningTask> process = process_;
  if (task_->templates.empty() || !process) co_return;
  const model::Task task = *task_;
  Rendering rendering;
  try {
    const std::string name =
        task.user.empty() ? context_.drivers.default_user(task.driver) : interpolation_.apply(task.user);
    co_await blocking(context_.runtime, [&] { user_ = resolve_user(name, context_.node.name); });
    // As at the start: templates do not see what other templates put into the environment.
    rendered_environment_.clear();
    build_interpolation();
    const Interpolation interpolation = interpolation_;
    const TemplateInputs inputs{.task = task,
                                .interpolation = interpolation,
                                .allocation_root = directory_.root(),
                                .view = context_.drivers.paths(task.driver, directory_, task.name),
                                .owner = {user_.uid, user_.gid},
                                .allow_outside_sources = context_.options.disable_file_sandbox};
    co_await blocking(context_.runtime, [&] { rendering = render_templates(inputs); });
    rendered_environment_ = rendering.environment;
    build_interpolation();
  } catch (const Error& error) {
    record_event(event::failure(event::kTemplate, error));
    co_return;
  }
  const TemplateChange change = decide_change(task.templates, rendering.changed);
  if (process_ != process || kill_) co_return;
  if (!rendering.changed.empty() && change.splay > Duration{0})
    co_await pause(
        Duration{static_cast<std::int64_t>(static_cast<double>(change.splay.count()) * context_.runtime.jitter())});
  if (process_ != process || kill_ || restart_asked_) co_return;
  co_await run_change(change, process);
}

awaitable<void> TaskRunner::run_change(TemplateChange change, std::shared_ptr<RunningTask> process) {
  if (change.restart) {
    restart("Template with change_mode restart re-rendered");
    co_return;
  }
  for (const std::string& name : change.signals) signal(name, "Template re-rendered");
  for (const model::ChangeScript* script : change.scripts) {
    std::vector<std::string> command{interpolation_.apply(script->command)};
    for (const auto& argument : script->args) command.push_back(interpolation_.apply(argument));
    std::string problem;
    try {
      const auto session = co_await process->exec(command, false, 0, 0);
      session->end_input();
      const auto limit = context_.runtime.after(script->timeout, [session] { session->kill(); });
      while (co_await session->read()) {
      }
      const TaskEnd end = co_await session->wait();
      if (!end.success()) problem = fmt::format("it ended with exit code {}", end.exit_code);
    } catch (const Error& error) {
      problem = error.one_line();
    }
    if (problem.empty()) continue;
    record_event(
        event::make(event::kTemplate, fmt::format("Template change script '{}' failed: {}", command.front(), problem)));
    if (script->fail_on_error) {
      kill(event::make(event::kTemplate, fmt::format("Template change script '{}' failed", command.front())), true);
      co_return;
    }
  }
}

}  // namespace underway::node
