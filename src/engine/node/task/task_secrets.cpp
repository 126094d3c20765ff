#include "node/task/task_secrets.hpp"

#include <boost/json/object.hpp>

#include "base/redact.hpp"
#include "node/task/task_event.hpp"

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

std::optional<std::vector<std::string>> TaskSecrets::take(const model::Task& task, const TemplateAsker& asker) {
  const Interpolation& interpolation = environment_.interpolation();
  std::vector<std::string> missing;
  bool all_told = true;
  model::StringMap taken;
  for (const auto& secret : task.secrets) {
    const std::string path = interpolation.apply(secret.path), ns = namespace_of(secret, interpolation);
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
  if (missing.empty()) environment_.added.secrets = std::move(taken);
  return missing;
}

awaitable<void> TaskSecrets::fetch() {
  // An order may replace the task's own values while this waits.
  const std::shared_ptr<const model::Allocation> keep = subject_.allocation();
  const model::Task& task = subject_.task();
  if (known_ || task.secrets.empty()) co_return;
  if (context_.cluster_data == nullptr)
    throw Error(Code::unsupported,
                fmt::format("task '{}' asks for secrets, and there is no server that has them", task.name));
  environment_.rebuild();
  const Interpolation& interpolation = environment_.interpolation();
  const TemplateAsker asker{keep->ns, keep->job_id, keep->group, task.name, keep->id};
  gotemplate::Dependencies wanted;
  for (const auto& secret : task.secrets)
    wanted.variables.insert(spelled(interpolation.apply(secret.path), namespace_of(secret, interpolation)));
  const auto before = std::move(watch_);  // goes only when the new one stands, so that nothing is forgotten
  watch_ = context_.cluster_data->watch(asker, wanted, [this] {
    changed_ = true;
    subject_.wake();
  });
  const auto process = subject_.process();
  while (!subject_.killed() && subject_.process() == process) {
    changed_ = false;
    const auto missing = take(task, asker);
    if (missing && missing->empty()) {
      known_ = true;
      co_return;
    }
    if (missing) subject_.tell_once(event::missing(*missing));
    while (!changed_ && !subject_.killed() && subject_.process() == process) co_await subject_.wait_for_news();
  }
}

std::string TaskSecrets::redact(std::string text) const {
  std::vector<SecretValue> secrets;
  for (const auto& [name, value] : environment_.added.secrets) secrets.push_back({value, "${" + name + "}"});
  return redact_values(std::move(text), secrets, kShortestRedacted);
}

}  // namespace underway::node
