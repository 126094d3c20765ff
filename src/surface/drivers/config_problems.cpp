#include "drivers/config_problems.hpp"

#include <boost/json/serialize.hpp>

#include "driver/driver.hpp"
#include "os/process/capability.hpp"
#include "pod/charliecloud.hpp"
#include "pod/config.hpp"
#include "run/config/config.hpp"
#include "vm/config.hpp"

namespace underway::drivers {
namespace {

using Check = std::vector<std::string> (*)(const boost::json::value& config);

/// Of a node that allows everything.
std::vector<std::string> container_problems(const boost::json::value& config) {
  const pod::Policy policy{.volumes = true, .privileged = true, .allowed = os::find_capability("all").value_or(0)};
  std::vector<std::string> found;
  static_cast<void>(pod::parse_config(config, policy, found));
  return found;
}

Check find_check(std::string_view driver) {
  if (driver == "raw_exec") return &driver::raw_exec_problems;
  if (driver == "exec") return &driver::exec_problems;
  if (driver == "podman" || driver == "docker") return &container_problems;
  if (driver == "charliecloud") return &pod::charliecloud_problems;
  if (driver == "capsule") return &run::problems;
  if (driver == "qemu") return &vm::problems;
  return nullptr;
}

/// "config.mount.type: …" is about `mount`.
std::string_view key_of(std::string_view problem) {
  constexpr std::string_view kConfig = "config.";
  if (!problem.starts_with(kConfig)) return {};
  problem.remove_prefix(kConfig.size());
  return problem.substr(0, problem.find_first_of(".:[ "));
}

/// Its value is known when the task starts.
bool waits_for_variable(const boost::json::value& config, std::string_view key) {
  const auto* object = config.if_object();
  const auto* value = object != nullptr ? object->if_contains(key) : nullptr;
  return value != nullptr && boost::json::serialize(*value).find("${") != std::string::npos;
}

}  // namespace

std::vector<std::string> config_problems(const model::Task& task) {
  const Check check = find_check(task.driver);
  if (check == nullptr) return {};
  auto found = check(task.config);
  std::erase_if(found, [&](const std::string& problem) {
    const auto key = key_of(problem);
    const bool unknown = problem.find(fmt::format("config.{}: is not known", key)) == 0;
    return !unknown && waits_for_variable(task.config, key);
  });
  return found;
}

}  // namespace underway::drivers
