#include "pod/config.hpp"

#include <arpa/inet.h>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "detail/config_reader.hpp"
#include "oci/registry/reference.hpp"

namespace underway::pod {
namespace detail {
namespace {

/// Keys of Nomad's drivers that mean nothing here, and why.
const Map& refused() {
  static const Map kRefused = {
      {"advertise_ipv6_address", "the container has the addresses of its host"},
      {"cgroupns", "a container always has a cgroup namespace of its own"},
      {"healthchecks", "health is what the checks of the task's services say"},
      {"interactive", "a task has no standard input: use `alloc exec -i`"},
      {"ipv4_address", "the container has the addresses of its host"},
      {"ipv6_address", "the container has the addresses of its host"},
      {"isolation", "is for Windows"},
      {"load", "name the archive as the image: image = \"docker-archive:/path/to.tar\""},
      {"mac_address", "the container has the links of its host"},
      {"network_aliases", "the container has the addresses of its host"},
      {"port_map", "is no more: use `ports`, and `to` in the group's network block"},
      {"runtime", "the node's agent chooses it: plugin \"podman\" { config { runtime = \"runc\" } }"},
      {"selinux_opts", "labels of SELinux are not set: the node's policy decides"},
      {"socket", "no podman service is asked: the agent runs containers itself"},
      {"storage_opt", "the container's writable layer lies in the allocation's directory, and is limited with it"},
      {"tty", "a task has no terminal: use `alloc exec -t`"},
      {"volume_driver", "use the group's `volume` and the task's `volume_mount`"},
  };
  return kRefused;
}

}  // namespace

std::map<std::string, Reader::Read> Reader::readers() {
  Config& c = config_;
  const auto member = [this](auto function) -> Read {
    return [this, function](const std::string& key, const json::value& value) { (this->*function)(key, value); };
  };
  const auto own = [this](bool& out) -> Read {
    return [this, &out](const std::string& key, const json::value& value) { read_namespace(key, value, out); };
  };
  std::map<std::string, Read> all = {
      {"args", texts(c.args)},
      {"apparmor_profile", text(c.apparmor)},
      {"auth", member(&Reader::read_auth)},
      {"cap_add", texts(c.cap_add)},
      {"cap_drop", texts(c.cap_drop)},
      {"command", text(c.command)},
      {"cpu_hard_limit", flag(c.cpu_hard_limit)},
      {"devices", member(&Reader::read_devices)},
      {"dns", texts(c.dns)},
      {"dns_options", texts(c.dns_options)},
      {"dns_search", texts(c.dns_search)},
      {"entrypoint", member(&Reader::read_entrypoint)},
      {"extra_hosts", texts(c.extra_hosts)},
      {"force_pull", flag(c.force_pull)},
      {"group_add", texts(c.groups)},
      {"hostname", text(c.hostname)},
      {"image", text(c.image)},
      {"init", flag(c.init)},
      {"init_path", text(c.init_path)},
      {"ipc_mode", own(c.own_ipc)},
      {"labels", map(c.labels)},
      {"logging", member(&Reader::read_logging)},
      {"mount", member(&Reader::read_mounts)},
      {"network_mode", member(&Reader::read_network)},
      {"pid_mode", own(c.own_pids)},
      {"ports", texts(c.ports)},
      {"privileged", flag(c.privileged)},
      {"readonly_rootfs", flag(c.read_only)},
      {"security_opt", member(&Reader::read_security)},
      {"sysctl", map(c.sysctl)},
      {"tmpfs", member(&Reader::read_tmpfs)},
      {"ulimit", member(&Reader::read_ulimit)},
      {"userns", member(&Reader::read_userns)},
      {"uts_mode", own(c.own_uts)},
      {"volumes", member(&Reader::read_volumes)},
      {"working_dir", text(c.working_dir)},
  };
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  all["cpu_cfs_period"] = [this](const std::string& key, const json::value& value) {
    if (const auto n = number(key, value, 1000, 1'000'000)) config_.cpu_period = static_cast<std::uint64_t>(*n);
  };
  all["image_pull_timeout"] = [this](const std::string& key, const json::value& value) {
    const auto text = as_text(value);
    const auto span = text ? parse_duration(*text) : std::nullopt;
    if (span && *span > Duration{0})
      config_.pull_timeout = *span;
    else if (!is_open(value))
      say(key, "must be a duration, as \"5m\"");
  };
  all["memory_reservation"] = [this](const std::string& key, const json::value& value) {
    config_.memory_reservation = size(key, value);
  };
  all["memory_swap"] = [this](const std::string& key, const json::value& value) {
    if (as_text(value) == "-1")
      config_.memory_swap = -1;
    else if (const auto bytes = size(key, value))
      config_.memory_swap = static_cast<std::int64_t>(*bytes);
  };
  all["memory_swappiness"] = [this](const std::string& key, const json::value& value) {
    config_.memory_swappiness = number(key, value, 0, 100);
  };
  all["oom_score_adj"] = [this](const std::string& key, const json::value& value) {
    config_.oom_score_adj = number(key, value, -1000, 1000);
  };
  all["pids_limit"] = [this](const std::string& key, const json::value& value) {
    if (const auto n = number(key, value, -1, kMost))
      config_.pids_limit = static_cast<std::uint64_t>(std::max<std::int64_t>(0, *n));
  };
  all["shm_size"] = [this](const std::string& key, const json::value& value) {
    if (const auto bytes = size(key, value)) config_.shm_bytes = *bytes;
  };
  // The docker driver's words for the same.
  const Map words = {{"dns_servers", "dns"},
                     {"dns_search_domains", "dns_search"},
                     {"mounts", "mount"},
                     {"userns_mode", "userns"},
                     {"work_dir", "working_dir"}};
  for (const auto& [word, ours] : words) all[word] = all.at(ours);
  return all;
}

void Reader::read(const json::object& object) {
  const auto known = readers();
  Texts names;
  for (const auto& [name, read] : known) names.push_back(name);
  for (const auto& member : object) {
    const std::string key(member.key());
    if (member.value().is_null()) continue;
    if (const auto found = known.find(key); found != known.end()) {
      found->second(key, member.value());
    } else if (const auto why = refused().find(key); why != refused().end()) {
      say(key, fmt::format("cannot be had: {}", why->second));
    } else {
      const auto near = nearest(key, names);
      say(key, "is not known" + (near.empty() ? std::string() : fmt::format("; did you mean '{}'?", near)));
    }
  }
  check();
}

void Reader::check_capabilities(const std::string& key, const Texts& names, bool added) {
  for (const auto& name : names) {
    const auto bits = os::find_capability(name);
    if (!bits) {
      const auto near = nearest(lower(name), os::all_capability_names());
      say(key, fmt::format("there is no capability '{}'{}", name,
                           near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    } else if (added && !policy_.privileged && lower(name) != "all" &&
               (*bits & ~(policy_.allowed | default_capabilities())) != 0) {
      say(key, fmt::format("'{}' is not among those that this node allows ({})", name,
                           join(os::capability_names(policy_.allowed | default_capabilities()), ", ")));
    } else if (added && lower(name) == "all" && !policy_.privileged) {
      say(key, "'all' is not allowed on this node: it takes privileged containers (plugin \"podman\")");
    }
  }
}

void Reader::check() {
  if (config_.image.empty()) {
    say("image", "is required");
  } else if (!is_open(config_.image)) {
    try {
      const auto reference = oci::parse_reference(config_.image);
      if (reference.local() && !policy_.volumes)
        say("image", "a file of the host is not allowed on this node (plugin \"podman\", volumes)");
    } catch (const Error& e) {
      say("image", e.one_line());
    }
  }
  if (config_.privileged && !policy_.privileged)
    say("privileged", "is not allowed on this node: plugin \"podman\" { config { allow_privileged = true } }");
  if (!config_.devices.empty() && !policy_.privileged && !policy_.volumes)
    say("devices", "of the host are not allowed on this node (plugin \"podman\", volumes)");
  check_capabilities("cap_add", config_.cap_add, true);
  check_capabilities("cap_drop", config_.cap_drop, false);
  if (!config_.working_dir.empty() && !is_clean_absolute(config_.working_dir) && !is_open(config_.working_dir))
    say("working_dir", "must be an absolute path");
  if (!config_.init_path.empty() && !is_clean_absolute(config_.init_path)) say("init_path", "must be an absolute path");
  if (config_.hostname.size() > 64) say("hostname", "is longer than 64 bytes");
  for (const auto& host : config_.extra_hosts) {
    const auto at = host.find(':');
    in6_addr address;
    const auto text = at == std::string::npos ? std::string() : host.substr(at + 1);
    const bool good = at != 0 && (::inet_pton(AF_INET, text.c_str(), &address) == 1 ||
                                  ::inet_pton(AF_INET6, text.c_str(), &address) == 1);
    if (!good && !is_open(host)) say("extra_hosts", fmt::format("'{}' must be name:address", host));
  }
  for (const auto& [key, value] : config_.sysctl) {
    const bool net = key.starts_with("net.");
    const bool ipc = key.starts_with("kernel.msg") || key.starts_with("kernel.shm") || key == "kernel.sem" ||
                     key.starts_with("fs.mqueue.");
    if (net && !config_.own_network)
      say(fmt::format("sysctl[\"{}\"]", key), "would change the host: the container has the host's network");
    else if (!net && (!ipc || !config_.own_ipc))
      say(fmt::format("sysctl[\"{}\"]", key),
          "is no setting of a container: those of net.*, kernel.msg*, kernel.sem, kernel.shm* and fs.mqueue.* are");
  }
}

}  // namespace detail

Config parse_config(const boost::json::value& value, const Policy& policy, std::vector<std::string>& problems) {
  Config config;
  if (value.is_object())
    detail::Reader(policy, config, problems).read(value.get_object());
  else if (value.is_null())
    detail::Reader(policy, config, problems).read({});
  else
    problems.emplace_back("config: must be an object");
  return config;
}

os::Capabilities default_capabilities() {
  os::Capabilities set = 0;
  for (const auto* name : {"chown", "dac_override", "fowner", "fsetid", "kill", "net_bind_service", "setfcap", "setgid",
                           "setpcap", "setuid", "sys_chroot"}) {
    set |= os::find_capability(name).value_or(0);
  }
  return set;
}

os::Capabilities capabilities_of(const Config& config) {
  if (config.privileged) return os::find_capability("all").value_or(0);
  os::Capabilities set = default_capabilities();
  for (const auto& name : config.cap_drop) set &= ~os::find_capability(name).value_or(0);
  for (const auto& name : config.cap_add) set |= os::find_capability(name).value_or(0);
  return set;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const auto size = parse_leading_number<double>(text);
  if (!size || size->value < 0) return std::nullopt;
  const double number = size->value;
  std::string unit = lower(size->rest);
  if (unit.size() > 1 && unit.ends_with('b')) unit.pop_back();
  if (unit.size() > 1 && unit.ends_with('i')) unit.pop_back();
  static const std::map<std::string, double> kUnits = {
      {"", 1}, {"b", 1}, {"k", 1024.0}, {"m", 1048576.0}, {"g", 1073741824.0}, {"t", 1099511627776.0}};
  const auto found = kUnits.find(unit);
  if (found == kUnits.end() || number * found->second > 9e18) return std::nullopt;
  return static_cast<std::uint64_t>(number * found->second);
}

std::string rlimit_name(std::string_view name) {
  constexpr std::string_view kNames[] = {"as",      "core",     "cpu",        "data",   "fsize", "locks",
                                         "memlock", "msgqueue", "nice",       "nofile", "nproc", "rss",
                                         "rtprio",  "rttime",   "sigpending", "stack"};
  const std::string word = lower(name);
  if (std::find(std::begin(kNames), std::end(kNames), word) == std::end(kNames)) return "";
  std::string out = "RLIMIT_";
  for (const char c : word) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace underway::pod
