// What a task needs before it can start, and what is renewed while it runs: directories, artifacts, templates.
#include "base/log.hpp"
#include "base/text.hpp"
#include "node/task/artifact.hpp"
#include "node/task/destination.hpp"
#include "node/task/file_access.hpp"
#include "node/task/task_event.hpp"
#include "node/task/task_runner.hpp"
#include "os/process.hpp"

namespace underway::node {

void TaskRunner::build_interpolation() {
  model::StringMap rendered = identity_environment_;
  for (const auto& [name, value] : rendered_environment_) rendered.insert_or_assign(name, value);
  TaskPaths paths = context_.drivers.paths(task_->driver, directory_, task_->name);
  const bool image = paths.image;
  EnvironmentInputs inputs{.node = context_.node,
                           .allocation = *allocation_,
                           .group = group(),
                           .task = *task_,
                           .paths = std::move(paths),
                           .region = context_.options.region,
                           .parent_cgroup = context_.options.cgroup_parent,
                           .user = task_->user.empty() || image ? "" : user_.name,
                           .home = task_->user.empty() || image ? "" : user_.home,
                           .host = image ? model::StringMap() : context_.host_environment,
                           .secrets = secrets_,
                           .rendered = std::move(rendered)};
  interpolation_ = build_environment(inputs);
}

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

}  // namespace

awaitable<void> TaskRunner::prepare() {
  // An order may bring a new version while the pool works: this one stays in memory, and is finished first.
  const std::shared_ptr<const model::Allocation> keep = allocation_;
  const model::Task& task = *task_;
  record_event(event::make(protocol::event::kTaskSetup, std::string(protocol::event::kBuildingTaskDirectory)));
  if (const auto why = context_.drivers.missing(task_->driver))
    throw Error(Code::unsupported,
                fmt::format("driver '{}' cannot run on node '{}'", task_->driver, context_.node.name))
        .because(*why);
  rendered_environment_.clear();
  build_interpolation();
  std::string name = interpolation_.apply(task.user);
  // A user of an image is its driver's business.
  if (name.empty() || context_.drivers.paths(task.driver, directory_, task.name).image)
    name = context_.drivers.default_user(task.driver);
  co_await blocking(context_.runtime, [this, &name, &task, &keep] {
    user_ = resolve_user(name, context_.node.name);
    directory_.build();
    const bool by_path = context_.drivers.paths(task.driver, directory_, task.name).of_machine;
    directory_.build_task(task.name, user_, {context_.options.secrets_in_memory, task.resources.secrets_mb, by_path});
    write_payload(*keep, task, directory_, context_.drivers.paths(task.driver, directory_, task.name), user_);
  });
  build_interpolation();
  co_await open_api();
  if (!kill_) co_await fetch_identities();
  secrets_known_ = false;  // a start takes what the variables hold now
  if (!kill_) co_await fetch_secrets();
  build_interpolation();
  const TemplateInputs inputs = template_inputs(task, interpolation_);
  if (!kill_ && !task.artifacts.empty()) co_await fetch_artifacts(inputs);
  if (!kill_ && !task.templates.empty()) co_await render_first(inputs);
  if (kill_) co_return;
  build_interpolation();
  const auto problems = context_.drivers.problems(task_->driver, interpolation_.apply_to(task_->config));
  if (!problems.empty()) {
    throw Error(Code::invalid,
                fmt::format("the config of task '{}' is not valid for driver '{}'", task_->name, task_->driver))
        .because(problems);
  }
}

awaitable<void> TaskRunner::open_api() {
  if (context_.task_api == nullptr) co_return;
  if (api_) co_await api_->stop();
  const std::string task = task_->name;
  std::optional<Error> failed;
  try {
    os::Fd socket;
    co_await blocking(context_.runtime, [&] { socket = listen_for_task(directory_.root(), task); });
    api_ = context_.task_api->serve(std::move(socket), {allocation_->id, task});
  } catch (const Error& error) {
    failed = error;
  }
  if (failed)
    record_event(event::make(protocol::event::kTaskSetup,
                             fmt::format("There is no Task API for this task: {}", failed->one_line())));
}

/// A file of the machine is read as the task's user. Root's, or that of whoever is root in an image, reads them all.
void TaskRunner::require_right_to(const FetchRequest& request) const {
  const bool local = !request.source.starts_with("http://") && !request.source.starts_with("https://");
  if (!local || request.uid != 0) return;
  const bool image = context_.drivers.paths(task_->driver, directory_, task_->name).image;
  const auto right = image ? model::HostRight::host_paths : model::HostRight::root;
  if (model::holds(rights_, right)) return;
  throw Error(Code::denied, fmt::format("root reads no '{}' for task '{}'", request.source, task_->name))
      .because(fmt::format("namespace '{}' does not give the right '{}'", allocation_->ns, model::to_string(right)))
      .advise(fmt::format("`underway namespace apply -allow-right {} {}` gives it", model::to_string(right),
                          allocation_->ns));
}

awaitable<void> TaskRunner::fetch_artifacts(const TemplateInputs& inputs) {
  record_event(event::make(protocol::event::kDownloadingArtifacts, "Client is downloading artifacts"));
  std::optional<Error> failed;
  for (const auto& artifact : inputs.task.artifacts) {
    try {
      const FetchRequest request = fetch_request(artifact, inputs);
      require_right_to(request);
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

namespace {

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

TemplateInputs TaskRunner::template_inputs(const model::Task& task, const Interpolation& interpolation) const {
  return {.task = task,
          .interpolation = interpolation,
          .allocation_root = directory_.root(),
          .view = context_.drivers.paths(task.driver, directory_, task.name),
          .owner = {user_.uid, user_.gid},
          .allow_outside_sources = context_.options.disable_file_sandbox,
          .now = context_.runtime.now(),
          .disk_mb = group_of(*allocation_).ephemeral_disk.size_mb,
          .asker = template_asker(*allocation_, task),
          .cluster = context_.cluster_data,
          .compat = &context_.options.compat};
}

awaitable<void> TaskRunner::render_first(const TemplateInputs& given) {
  while (!kill_) {
    data_changed_ = false;
    TemplateInputs inputs = given;
    inputs.now = context_.runtime.now();
    Rendering rendering;
    co_await blocking(context_.runtime, [&] { rendering = render_templates(inputs); });
    // What came before it was watched is seen by one more rendering.
    if (watch(inputs.asker, rendering.dependencies)) continue;
    if (rendering.missing.empty()) {
      rendered_environment_ = std::move(rendering.environment);
      co_return;
    }
    tell_missing(rendering.missing);
    while (!data_changed_ && !kill_) co_await wake_.wait();
  }
}

bool TaskRunner::watch(const TemplateAsker& asker, const gotemplate::Dependencies& what) {
  if (context_.cluster_data == nullptr || what == watched_) return false;
  watched_ = what;
  gotemplate::Dependencies cluster = what;
  cluster.files.clear();
  watch_ = cluster.empty() ? nullptr : context_.cluster_data->watch(asker, cluster, [this] { data_changed(); });
  return watch_ != nullptr;
}

void TaskRunner::data_changed() {
  data_changed_ = true;
  wake_.notify_all();
  if (!process_ || kill_) return;
  settle_timer_ = context_.runtime.after(settling(), [this] {
    unsettled_since_.reset();
    if (process_ && !kill_) side_.spawn("templates", apply_update());
  });
}

Duration TaskRunner::settling() {
  Duration quiet{0};
  Duration longest{0};
  for (const auto& entry : task_->templates) {
    if (!entry.wait) continue;
    quiet = std::max(quiet, entry.wait->min);
    longest = std::max(longest, entry.wait->max > Duration{0} ? entry.wait->max : entry.wait->min * 4);
  }
  const TimePoint now = context_.runtime.now();
  if (!unsettled_since_) unsettled_since_ = now;
  return std::clamp(*unsettled_since_ + longest - now, Duration{0}, quiet);
}

void TaskRunner::tell_missing(const std::vector<std::string>& missing) {
  constexpr std::size_t kShown = 3;
  const std::vector<std::string> shown(missing.begin(),
                                       missing.begin() + static_cast<std::ptrdiff_t>(std::min(missing.size(), kShown)));
  std::string text = "Missing: " + join(shown, ", ");
  if (missing.size() > kShown) text += fmt::format(", and {} more", missing.size() - kShown);
  const auto& events = record_.state.events;
  if (!events.empty() && events.back().type == protocol::event::kTemplate && events.back().message == text) return;
  record_event(event::make(protocol::event::kTemplate, text));
}

namespace {

/// The flag falls when the coroutine is cancelled, too.
class Busy {
 public:
  explicit Busy(bool& flag) : flag_(flag) { flag_ = true; }
  ~Busy() { flag_ = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  bool& flag_;
};

}  // namespace

awaitable<void> TaskRunner::apply_update() {
  if (updating_) {
    update_again_ = true;
    co_return;
  }
  const Busy busy(updating_);
  do {
    update_again_ = false;
    co_await update_once();
  } while (update_again_ && process_ && !kill_);
}

awaitable<void> TaskRunner::find_user() {
  const bool image = context_.drivers.paths(task_->driver, directory_, task_->name).image;
  const std::string name =
      task_->user.empty() || image ? context_.drivers.default_user(task_->driver) : interpolation_.apply(task_->user);
  co_await blocking(context_.runtime, [&] { user_ = resolve_user(name, context_.node.name); });
}

awaitable<void> TaskRunner::update_once() {
  // The task's own values are copied: an order may replace them while the pool renders.
  const std::shared_ptr<const model::Allocation> keep = allocation_;
  const std::shared_ptr<RunningTask> process = process_;
  if (task_->templates.empty() || !process) co_return;
  const model::Task task = *task_;
  Rendering rendering;
  model::StringMap environment = rendered_environment_;
  try {
    co_await find_user();
    co_await fetch_secrets();
    if (process_ != process || kill_) co_return;
    // As at the start: templates do not see what other templates put into the environment.
    rendered_environment_.clear();
    build_interpolation();
    const Interpolation interpolation = interpolation_;
    const TemplateInputs inputs = template_inputs(task, interpolation);
    co_await blocking(context_.runtime, [&] { rendering = render_templates(inputs); });
    if (watch(inputs.asker, rendering.dependencies)) update_again_ = true;
  } catch (const Error& error) {
    rendered_environment_ = std::move(environment);
    build_interpolation();
    record_event(event::failure(protocol::event::kTemplate, error));
    co_return;
  }
  // Where something is missing now, the file and what it gave to the environment stay.
  if (rendering.missing.empty()) environment.clear();
  for (auto& [name, value] : rendering.environment) environment.insert_or_assign(name, std::move(value));
  rendered_environment_ = std::move(environment);
  build_interpolation();
  if (!rendering.missing.empty()) tell_missing(rendering.missing);
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
    record_event(event::make(protocol::event::kTemplate,
                             fmt::format("Template change script '{}' failed: {}", command.front(), problem)));
    if (script->fail_on_error) {
      kill(event::make(protocol::event::kTemplate, fmt::format("Template change script '{}' failed", command.front())),
           true);
      co_return;
    }
  }
}

}  // namespace underway::node
