#include "node/task/environment.hpp"
#include "node/fingerprint/devices.hpp"
#include "node/fingerprint/topology.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "model/service_instance.hpp"

namespace underway::node {

namespace {

using model::StringMap;

/// Job, group, task: the later covers the earlier.
StringMap combined_meta(const EnvironmentInputs& in) {
  StringMap meta = in.allocation.job ? in.allocation.job->meta : StringMap{};
  for (const auto& [key, value] : in.group.meta) meta[key] = value;
  for (const auto& [key, value] : in.task.meta) meta[key] = value;
  return meta;
}

/// Whether the job's name is enough to tell a capsule from all others.
bool only_capsule_of_job(const EnvironmentInputs& in) {
  if (!in.allocation.job) return false;
  const auto& groups = in.allocation.job->groups;
  const auto capsules = std::count_if(groups.begin(), groups.end(), [](const auto& group) {
    return std::any_of(group.tasks.begin(), group.tasks.end(),
                       [](const auto& task) { return task.driver == "capsule"; });
  });
  return capsules < 2;
}

void add_identity(const EnvironmentInputs& in, StringMap& env) {
  const model::Allocation& allocation = in.allocation;
  env["NOMAD_ALLOC_DIR"] = in.paths.alloc;
  env["NOMAD_TASK_DIR"] = in.paths.local;
  env["NOMAD_SECRETS_DIR"] = in.paths.secrets;
  env["NOMAD_ALLOC_ID"] = allocation.id;
  env["NOMAD_SHORT_ALLOC_ID"] = allocation.id.substr(0, 8);
  env["NOMAD_ALLOC_NAME"] = allocation.name;
  if (allocation.index() >= 0) env["NOMAD_ALLOC_INDEX"] = std::to_string(allocation.index());
  env["NOMAD_TASK_NAME"] = in.task.name;
  env["NOMAD_GROUP_NAME"] = in.group.name;
  env["NOMAD_JOB_ID"] = allocation.job_id;
  env["NOMAD_JOB_NAME"] = allocation.job ? allocation.job->name : allocation.job_id;
  if (allocation.job && !allocation.job->parent_id.empty()) env["NOMAD_JOB_PARENT_ID"] = allocation.job->parent_id;
  env["NOMAD_DC"] = in.node.datacenter;
  env["NOMAD_NAMESPACE"] = allocation.ns;
  env["NOMAD_REGION"] = in.region;
  if (!in.parent_cgroup.empty()) env["NOMAD_PARENT_CGROUP"] = in.parent_cgroup;
  if (in.task.driver == "capsule" && only_capsule_of_job(in)) env["UNDERWAY_ONLY_CAPSULE"] = "true";
}

void add_resources(const EnvironmentInputs& in, StringMap& env) {
  const auto given = in.allocation.resources.tasks.find(in.task.name);
  const bool known = given != in.allocation.resources.tasks.end();
  const std::int64_t cpu = known ? given->second.cpu : in.task.resources.cpu;
  const std::int64_t memory = known ? given->second.memory_mb : in.task.resources.memory_mb;
  const std::int64_t memory_max = known ? given->second.memory_max_mb : in.task.resources.memory_max_mb;
  env["NOMAD_CPU_LIMIT"] = std::to_string(cpu);
  if (known) env.merge(device_environment(given->second.devices));
  if (known && !given->second.cores.empty()) env["NOMAD_CPU_CORES"] = to_text(given->second.cores);
  env["NOMAD_MEMORY_LIMIT"] = std::to_string(memory);
  if (memory_max > 0) env["NOMAD_MEMORY_MAX_LIMIT"] = std::to_string(memory_max);
}

void add_ports(const EnvironmentInputs& in, StringMap& env) {
  auto variables = model::port_variables(in.allocation, &in.node);
  // NOMAD_ADDR_<task>_<label> is for the other tasks, unless a port has that label.
  std::set<std::string> labels;
  for (const auto& port : in.allocation.resources.ports) labels.insert(model::variable_name(port.label));
  for (const auto& label : labels) {
    const std::string own = fmt::format("{}_{}", model::variable_name(in.task.name), label);
    if (labels.contains(own)) continue;
    for (const char* prefix : {"NOMAD_ADDR_", "NOMAD_IP_", "NOMAD_PORT_"}) variables.erase(prefix + own);
  }
  for (auto& [name, value] : variables) env[name] = std::move(value);
}

/// One line after its comment and `export` are gone: the value with its quotes resolved.
std::string unquote(std::string_view value, std::size_t line) {
  if (value.empty() || (value.front() != '"' && value.front() != '\'')) {
    const std::size_t comment = value.find(" #");
    return std::string(trim(value.substr(0, comment)));
  }
  const char quote = value.front();
  std::string out;
  for (std::size_t i = 1; i < value.size(); ++i) {
    if (value[i] == quote) return out;
    if (value[i] == '\\' && quote == '"' && i + 1 < value.size()) {
      const char next = value[++i];
      out += next == 'n' ? '\n' : next == 't' ? '\t' : next;
      continue;
    }
    out += value[i];
  }
  throw Error(Code::invalid, fmt::format("line {} has no closing {}", line, quote));
}

}  // namespace

Interpolation build_environment(const EnvironmentInputs& in) {
  Interpolation interpolation(in.node, in.region);
  interpolation.set_secrets(in.secrets);
  StringMap env = in.host;
  add_identity(in, env);
  add_resources(in, env);
  add_ports(in, env);
  if (!in.user.empty()) {
    env["USER"] = in.user;
    env["LOGNAME"] = in.user;
    if (!in.home.empty()) env["HOME"] = in.home;
  }
  // Meta may refer to what stands above, `env` to meta as well.
  interpolation.set_environment(env);
  for (const auto& [key, value] : combined_meta(in)) {
    const std::string name = model::variable_name(key);
    const std::string text = interpolation.apply(value);
    env["NOMAD_META_" + name] = text;
    env["NOMAD_META_" + upper(name)] = text;
  }
  interpolation.set_environment(env);
  for (const auto& [key, value] : in.task.env) env[interpolation.apply(key)] = interpolation.apply(value);
  for (const auto& [key, value] : in.rendered) env[key] = value;
  interpolation.set_environment(std::move(env));
  return interpolation;
}

model::StringMap host_environment(const char* const* environment) {
  // Source: Nomad's DefaultEnvDenyList (client/config/config.go), with our own agent's variables.
  static const std::set<std::string, std::less<>> denied = {
      "CONSUL_TOKEN",      "CONSUL_HTTP_TOKEN",     "CONSUL_HTTP_TOKEN_FILE", "NOMAD_TOKEN",
      "VAULT_TOKEN",       "CONSUL_LICENSE",        "NOMAD_LICENSE",          "VAULT_LICENSE",
      "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",      "GOOGLE_APPLICATION_CREDENTIALS"};
  StringMap out;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t at = entry.find('=');
    if (at == std::string_view::npos || at == 0) continue;
    const std::string_view name = entry.substr(0, at);
    if (denied.contains(name) || name.starts_with("UNDERWAY_") || name.starts_with("NOMAD_") || name.starts_with("OS_"))
      continue;
    out[std::string(name)] = std::string(entry.substr(at + 1));
  }
  if (!out.contains("PATH")) out["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  return out;
}

model::StringMap parse_environment_file(std::string_view text) {
  StringMap out;
  std::size_t number = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++number;
    std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with("export ")) line = trim(line.substr(7));
    const std::size_t at = line.find('=');
    if (at == std::string_view::npos || at == 0)
      throw Error(Code::invalid, fmt::format("line {} is not NAME=value: '{}'", number, line.substr(0, 60)));
    out[std::string(trim(line.substr(0, at)))] = unquote(trim(line.substr(at + 1)), number);
  }
  return out;
}

}  // namespace underway::node
