// What a task needs before it can start, what its driver is told, and what a new version of it brings.
#include "node/allocation/disk.hpp"
#include "node/artifact/artifact.hpp"
#include "node/fingerprint/devices.hpp"
#include "node/task/task_event.hpp"
#include "node/task/task_runner.hpp"

namespace underway::node {

awaitable<void> TaskRunner::prepare() {
  // An order may bring a new version while the pool works: this one stays in memory, and is finished first.
  const std::shared_ptr<const model::Allocation> keep = allocation_;
  const model::Task& task = *task_;
  record_event(event::make(protocol::event::kTaskSetup, std::string(protocol::event::kBuildingTaskDirectory)));
  if (const auto why = context_.drivers.missing(task_->driver))
    throw Error(Code::unsupported,
                fmt::format("driver '{}' cannot run on node '{}'", task_->driver, context_.node.name))
        .because(*why);
  environment_.added.rendered.clear();
  environment_.rebuild();
  co_await environment_.make_directories();
  environment_.rebuild();
  co_await open_api();
  if (!asked_.kill) co_await identities_.fetch();
  secrets_.take_anew();
  if (!asked_.kill) co_await secrets_.fetch();
  environment_.rebuild();
  const TemplateInputs inputs = environment_.template_inputs(task, interpolation());
  if (!asked_.kill && !task.artifacts.empty()) co_await fetch_artifacts(inputs);
  if (!asked_.kill && !task.templates.empty()) co_await templates_.render_first(inputs);
  if (asked_.kill) co_return;
  environment_.rebuild();
  const auto problems = context_.drivers.problems(task_->driver, interpolation().apply_to(task_->config));
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
    const auto listen = [&] { socket = listen_for_task(environment_.directory().root(), task); };
    co_await blocking(context_.runtime, listen);
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
  const bool image = environment_.paths_of(*task_).image;
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
      if (!asked_.kill) check_fetched(request, result);
    } catch (const Error& error) {
      failed = error;
    }
    fetching_ = nullptr;
    if (asked_.kill) co_return;
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
  if (process_ && !asked_.kill) templates_.update();
}

LaunchSpec TaskRunner::launch_spec() const {
  LaunchSpec spec;
  spec.driver = task_->driver;
  spec.allocation_id = allocation_->id;
  spec.ns = allocation_->ns;
  spec.job_id = allocation_->job_id;
  spec.group = allocation_->group;
  spec.task = task_->name;
  spec.node_name = context_.node.name;
  spec.attempt = record_.attempt;
  spec.allocation_root = environment_.directory().root();
  spec.shared_dir = environment_.directory().shared();
  spec.log_dir = environment_.directory().logs();
  spec.task_dir = environment_.directory().task(task_->name);
  spec.config = interpolation().apply_to(task_->config);
  spec.environment = interpolation().environment();
  spec.user = interpolation().apply(task_->user);
  spec.rights = rights_;
  spec.low_ports = model::asks_low_ports(group());
  spec.beside_container = model::has_container(group());
  const auto given = allocation_->resources.tasks.find(task_->name);
  const bool known = given != allocation_->resources.tasks.end();
  spec.cpu = known ? given->second.cpu : task_->resources.cpu;
  spec.memory_mb = known ? given->second.memory_mb : task_->resources.memory_mb;
  spec.memory_max_mb = known ? given->second.memory_max_mb : task_->resources.memory_max_mb;
  if (known) spec.cores = given->second.cores;
  spec.pids = task_->resources.pids > 0 ? task_->resources.pids : context_.options.default_pids;
  spec.log_files = task_->logs.max_files;
  spec.log_file_bytes = task_->logs.max_file_size_mb * 1024 * 1024;
  spec.log_disabled = task_->logs.disabled;
  spec.cgroup_parent = context_.options.cgroup_parent;
  spec.restore = record_.restore;
  if (allocation_->arrival) {
    spec.origin = allocation_->arrival->origin;
    spec.arrived = arrived_machine(environment_.directory().root(), task_->name);
  }
  spec.network = network_;
  return spec;
}

LaunchSpec TaskRunner::start_spec() const {
  LaunchSpec spec = launch_spec();
  if (const auto given = allocation_->resources.tasks.find(task_->name); given != allocation_->resources.tasks.end())
    spec.devices = devices_of(context_.node, given->second.devices).paths;
  static const std::map<std::string, model::NodeVolume> kNoVolumes;
  spec.volumes = volumes_of(context_.node, *allocation_, *task_, interpolation(),
                            context_.host_volumes != nullptr ? *context_.host_volumes : kNoVolumes);
  return spec;
}

}  // namespace underway::node
