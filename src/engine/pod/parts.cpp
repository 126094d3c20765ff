#include "detail/parts.hpp"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <boost/json/parse.hpp>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "driver/seccomp.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"

namespace underway::pod::detail {
namespace {

namespace json = boost::json;
namespace local = driver::local;

std::uint64_t core_mhz() {
  for (const char* file : {"base_frequency", "cpuinfo_max_freq"}) {
    const auto text = os::find_file(fmt::format("/sys/devices/system/cpu/cpu0/cpufreq/{}", file));
    if (const auto kilohertz = leading_number_or<std::uint64_t>(text.value_or(""), 0); kilohertz > 0)
      return kilohertz / 1000;
  }
  const auto cpuinfo = os::find_file("/proc/cpuinfo", 64U << 20).value_or("");
  const auto at = cpuinfo.find("cpu MHz");
  const auto colon = at == std::string::npos ? at : cpuinfo.find(':', at);
  const double now =
      colon == std::string::npos ? 0 : leading_number_or(trim(std::string_view(cpuinfo).substr(colon + 1)), 0.0);
  return now >= 1 ? static_cast<std::uint64_t>(now) : 1000;
}

}  // namespace

void link_layers(const Place& place, const std::vector<std::string>& layers) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto link = fmt::format("{}/{}", place.path("l"), i);
    if (::symlink(layers[i].c_str(), link.c_str()) != 0)
      throw errno_error(errno, fmt::format("cannot make '{}'", link));
  }
}

std::string overlay_options(std::size_t layers, std::string_view own) {
  std::string options = "lowerdir=";  // overlayfs wants the highest first
  for (std::size_t i = layers; i-- > 0;) options += fmt::format("{}{}", i, i > 0 ? ":" : "");
  return own.empty() ? options : fmt::format("{0},upperdir={1}/upper,workdir={1}/work", options, own);
}

oci::ImageUser find_user(const std::vector<std::string>& layers, const std::string& scratch, const std::string& user,
                         const std::vector<std::string>& groups) {
  const auto space = os::Namespace::create(CLONE_NEWNS);
  return os::call_inside(space, [&] {
    std::string root = layers.front();
    std::optional<os::Mount> mount;
    if (layers.size() > 1) {
      if (::chdir((scratch + "/l").c_str()) != 0) throw errno_error(errno, fmt::format("cannot enter '{}'", scratch));
      root = scratch + "/rootfs";
      mount.emplace(os::Mount::make("overlay", root, "overlay", MS_RDONLY, overlay_options(layers.size())));
    }
    auto found = oci::resolve_user(root, user);
    for (const auto& group : groups) found.groups.push_back(oci::resolve_user(root, "0:" + group).gid);
    return found;
  });
}

void add_node(std::vector<DeviceNode>& out, const Device& device) {
  struct stat st{};
  if (::stat(device.path.c_str(), &st) != 0)
    throw errno_error(errno, fmt::format("cannot give the container '{}'", device.path));
  if (S_ISDIR(st.st_mode)) {
    for (const auto& entry : os::list_directory(device.path)) {
      if (entry.type != DT_CHR && entry.type != DT_BLK && entry.type != DT_DIR) continue;
      add_node(out, {device.path + "/" + entry.name, device.target + "/" + entry.name, device.access});
    }
    return;
  }
  if (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode))
    throw Error(Code::invalid, fmt::format("cannot give the container '{}'", device.path)).because("it is no device");
  out.push_back({device.target, device.path, S_ISCHR(st.st_mode) ? 'c' : 'b', major(st.st_rdev), minor(st.st_rdev),
                 st.st_mode & 0777U, st.st_uid, st.st_gid, device.access});
}

os::CgroupLimits limits_of(const driver::Options& options, const TaskSpec& spec, const Config& config) {
  auto limits = local::common_limits(options, spec);
  if (config.pids_limit) limits.pids_max = *config.pids_limit == 0 ? std::nullopt : config.pids_limit;
  const auto hard = std::max(spec.memory_mb, spec.memory_max_mb);
  if (hard != 0) limits.memory_max = hard << 20;
  if (spec.memory_max_mb > spec.memory_mb) limits.memory_soft = spec.memory_mb << 20;
  if (config.memory_reservation) limits.memory_soft = config.memory_reservation;
  return limits;
}

void tune(os::LaunchPlan& plan, const os::Cgroup& group, const TaskSpec& spec, const Config& config,
          const std::vector<DeviceRule>& rules) {
  const auto put = [&](const char* file, const std::string& value) {
    for (const auto& join : group.join_files()) {
      const auto path = join.substr(0, join.rfind('/') + 1) + file;
      if (os::exists(path)) plan.write_file(path, value);
    }
  };
  const auto memory = std::max(spec.memory_mb, spec.memory_max_mb) << 20;
  if (config.memory_swap) {
    put("memory.memsw.limit_in_bytes", std::to_string(*config.memory_swap));
    const auto swap = static_cast<std::uint64_t>(std::max<std::int64_t>(0, *config.memory_swap));
    put("memory.swap.max", *config.memory_swap < 0 ? "max" : std::to_string(swap > memory ? swap - memory : 0));
  }
  if (config.memory_swappiness) put("memory.swappiness", std::to_string(*config.memory_swappiness));
  if (config.cpu_hard_limit && spec.cpu_shares != 0) {
    const auto quota = std::max<std::uint64_t>(1000, config.cpu_period * spec.cpu_shares / core_mhz());
    put("cpu.cfs_period_us", std::to_string(config.cpu_period));
    put("cpu.cfs_quota_us", std::to_string(quota));
    put("cpu.max", fmt::format("{} {}", quota, config.cpu_period));
  }
  for (const auto& rule : rules) put(rule.allow ? "devices.allow" : "devices.deny", rule.rule);
}

local::CommandTemplate command_of(const std::string& bundle) {
  return [bundle] {
    const auto config = json::parse(os::read_file(bundle + "/config.json")).as_object();
    const auto& process = config.at("process").as_object();
    os::SpawnSpec command;
    for (const auto& variable : process.at("env").as_array()) command.env.emplace_back(variable.as_string());
    command.cwd = std::string(process.at("cwd").as_string());
    const auto& user = process.at("user").as_object();
    command.user.emplace();
    command.user->uid = user.at("uid").to_number<uid_t>();
    command.user->gid = user.at("gid").to_number<gid_t>();
    command.user->groups = {command.user->gid};
    if (const auto* groups = user.if_contains("additionalGids")) {
      for (const auto& group : groups->as_array()) command.user->groups.push_back(group.to_number<gid_t>());
    }
    const auto set = [&](const char* name) {
      os::Capabilities all = 0;
      const auto* list = process.at("capabilities").as_object().if_contains(name);
      for (const auto& each : list != nullptr ? list->as_array() : json::array())
        all |= os::find_capability(std::string_view(each.as_string())).value_or(0);
      return all;
    };
    command.bounding = set("bounding");
    command.ambient = set("ambient");
    command.no_new_privileges = process.at("noNewPrivileges").as_bool();
    if (const auto* filter = config.at("linux").as_object().if_contains("seccomp"))
      command.setup.seccomp(driver::compile_seccomp(filter->as_object()));
    return command;
  };
}

}  // namespace underway::pod::detail
