// `secret` blocks: variables that the task's environment, templates and config see as ${secret.<name>.<item>}.
#include <boost/json/object.hpp>

#include "base/redact.hpp"
#include "node/server/cluster_data.hpp"
#include "node/task/task_event.hpp"
#include "node/task/task_runner.hpp"

namespace underway::node {
namespace {

constexpr std::size_t kShortestRedacted = 4;

/// Where the block's variable is; empty: the job's own namespace.
std::string namespace_of(const model::SecretRequest& secret, const Interpolation& interpolation) {
  const auto* config = secret.config.if_object();
  const auto* named = config == nullptr ? nullptr : config->if_contains("namespace");
  return named != nullptr && named->is_string() ? interpolation.apply(std::string_view(named->get_string())) : "";
}

/// As gotemplate::Dependencies spells it.
std::string spelled(const std::string& path, const std::string& ns) { return ns.empty() ? path : path + "@" + ns; }

}  // namespace

std::optional<std::vector<std::string>> TaskRunner::take_secrets(const model::Task& task, const TemplateAsker& asker) {
  std::vector<std::string> missing;
  bool all_told = true;
  model::StringMap taken;
  for (const auto& secret : task.secrets) {
    const std::string path = interpolation_.apply(secret.path), ns = namespace_of(secret, interpolation_);
    const auto answer = context_.cluster_data->variable(asker, path, ns);
    if (!answer) {
      all_told = false;
      continue;
    }
    if (!*answer) {
      missing.push_back(fmt::format("variable '{}' of namespace '{}' for secret '{}'", path, ns.empty() ? asker.ns : ns,
                                    secret.name));
      continue;
    }
    for (const auto& [item, value] : (*answer)->items) taken[fmt::format("secret.{}.{}", secret.name, item)] = value;
  }
  if (!all_told) return std::nullopt;
  if (missing.empty()) secrets_ = std::move(taken);
  return missing;
}

awaitable<void> TaskRunner::fetch_secrets() {
  // An order may replace the task's own values while this waits.
  const std::shared_ptr<const model::Allocation> keep = allocation_;
  const model::Task& task = *task_;
  if (secrets_known_ || task.secrets.empty()) co_return;
  if (context_.cluster_data == nullptr)
    throw Error(Code::unsupported,
                fmt::format("task '{}' asks for secrets, and there is no server that has them", task.name));
  build_interpolation();
  const TemplateAsker asker{keep->ns, keep->job_id, keep->group, task.name, keep->id};
  gotemplate::Dependencies wanted;
  for (const auto& secret : task.secrets)
    wanted.variables.insert(spelled(interpolation_.apply(secret.path), namespace_of(secret, interpolation_)));
  const auto before = std::move(secrets_watch_);  // goes only when the new one stands, so that nothing is forgotten
  secrets_watch_ = context_.cluster_data->watch(asker, wanted, [this] {
    secrets_changed_ = true;
    wake_.notify_all();
  });
  const auto process = process_;
  while (!kill_ && process_ == process) {
    secrets_changed_ = false;
    const auto missing = take_secrets(task, asker);
    if (missing && missing->empty()) {
      secrets_known_ = true;
      co_return;
    }
    if (missing) tell_missing(*missing);
    while (!secrets_changed_ && !kill_ && process_ == process) co_await wake_.wait();
  }
}

std::string TaskRunner::redact(std::string text) const {
  std::vector<SecretValue> secrets;
  for (const auto& [name, value] : secrets_) secrets.push_back({value, "${" + name + "}"});
  return redact_values(std::move(text), secrets, kShortestRedacted);
}

}  // namespace underway::node
