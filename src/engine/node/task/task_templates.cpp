#include "node/task/task_templates.hpp"

#include <algorithm>

#include "node/task/task_event.hpp"

namespace underway::node {
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

awaitable<void> TaskTemplates::render_first(const TemplateInputs& given) {
  while (!subject_.killed()) {
    data_changed_ = false;
    TemplateInputs inputs = given;
    inputs.now = context_.runtime.now();
    Rendering rendering;
    const auto render = [&rendering, &inputs] { rendering = render_templates(inputs); };
    co_await blocking(context_.runtime, render);
    // What came before it was watched is seen by one more rendering.
    if (watch(inputs.asker, rendering.dependencies)) continue;
    if (rendering.missing.empty()) {
      environment_.added.rendered = std::move(rendering.environment);
      co_return;
    }
    subject_.tell_once(event::missing(rendering.missing));
    while (!data_changed_ && !subject_.killed()) co_await subject_.wait_for_news();
  }
}

bool TaskTemplates::watch(const TemplateAsker& asker, const gotemplate::Dependencies& what) {
  if (context_.cluster_data == nullptr || what == watched_) return false;
  watched_ = what;
  gotemplate::Dependencies cluster = what;
  cluster.files.clear();
  watch_ = cluster.empty() ? nullptr : context_.cluster_data->watch(asker, cluster, [this] { data_changed(); });
  return watch_ != nullptr;
}

void TaskTemplates::stop_watching() {
  watch_.reset();
  settle_timer_.reset();
}

void TaskTemplates::data_changed() {
  data_changed_ = true;
  subject_.wake();
  if (!runs()) return;
  settle_timer_ = context_.runtime.after(settling(), [this] {
    unsettled_since_.reset();
    if (runs()) update();
  });
}

Duration TaskTemplates::settling() {
  Duration quiet{0};
  Duration longest{0};
  for (const auto& entry : subject_.task().templates) {
    if (!entry.wait) continue;
    quiet = std::max(quiet, entry.wait->min);
    longest = std::max(longest, entry.wait->max > Duration{0} ? entry.wait->max : entry.wait->min * 4);
  }
  const TimePoint now = context_.runtime.now();
  if (!unsettled_since_) unsettled_since_ = now;
  return std::clamp(*unsettled_since_ + longest - now, Duration{0}, quiet);
}

void TaskTemplates::update() { subject_.run_beside("templates", apply_updates()); }

awaitable<void> TaskTemplates::apply_updates() {
  if (updating_) {
    update_again_ = true;
    co_return;
  }
  const Busy busy(updating_);
  do {
    update_again_ = false;
    co_await update_once();
  } while (update_again_ && runs());
}

awaitable<void> TaskTemplates::update_once() {
  // The task's own values are copied: an order may replace them while the pool renders.
  const std::shared_ptr<const model::Allocation> keep = subject_.allocation();
  const std::shared_ptr<RunningTask> process = subject_.process();
  if (subject_.task().templates.empty() || !process) co_return;
  const model::Task task = subject_.task();
  const auto over = [this, &process] { return subject_.process() != process || subject_.killed(); };
  Rendering rendering;
  model::StringMap variables = environment_.added.rendered;
  try {
    co_await environment_.find_user();
    co_await secrets_.fetch();
    if (over()) co_return;
    // As at the start: templates do not see what other templates put into the environment.
    environment_.added.rendered.clear();
    environment_.rebuild();
    const Interpolation interpolation = environment_.interpolation();
    const TemplateInputs inputs = environment_.template_inputs(task, interpolation);
    const auto render = [&rendering, &inputs] { rendering = render_templates(inputs); };
    co_await blocking(context_.runtime, render);
    if (watch(inputs.asker, rendering.dependencies)) update_again_ = true;
  } catch (const Error& error) {
    environment_.added.rendered = std::move(variables);
    environment_.rebuild();
    subject_.tell(event::failure(protocol::event::kTemplate, error));
    co_return;
  }
  // Where something is missing now, the file and what it gave to the environment stay.
  if (rendering.missing.empty()) variables.clear();
  for (auto& [name, value] : rendering.environment) variables.insert_or_assign(name, std::move(value));
  environment_.added.rendered = std::move(variables);
  environment_.rebuild();
  if (!rendering.missing.empty()) subject_.tell_once(event::missing(rendering.missing));
  const TemplateChange change = decide_change(task.templates, rendering.changed);
  if (over()) co_return;
  if (!rendering.changed.empty() && change.splay > Duration{0}) {
    const auto part = static_cast<double>(change.splay.count()) * context_.runtime.jitter();
    co_await subject_.pause(Duration{static_cast<std::int64_t>(part)});
  }
  if (over() || subject_.restarting()) co_return;
  co_await run_change(change, process);
}

awaitable<void> TaskTemplates::run_change(TemplateChange change, std::shared_ptr<RunningTask> process) {
  if (change.restart) {
    subject_.restart("Template with change_mode restart re-rendered");
    co_return;
  }
  for (const std::string& name : change.signals) subject_.signal(name, "Template re-rendered");
  const Interpolation& interpolation = environment_.interpolation();
  for (const model::ChangeScript* script : change.scripts) {
    std::vector<std::string> command{interpolation.apply(script->command)};
    for (const auto& argument : script->args) command.push_back(interpolation.apply(argument));
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
    subject_.tell(event::make(protocol::event::kTemplate,
                              fmt::format("Template change script '{}' failed: {}", command.front(), problem)));
    if (script->fail_on_error) {
      subject_.kill(
          event::make(protocol::event::kTemplate, fmt::format("Template change script '{}' failed", command.front())),
          true);
      co_return;
    }
  }
}

}  // namespace underway::node
