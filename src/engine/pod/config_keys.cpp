// The keys that take more than a word.
#include "base/numbers.hpp"
#include "detail/config_reader.hpp"

namespace underway::pod::detail {

void Reader::read_auth(const std::string& key, const json::value& value) {
  for (const auto& [name, text] : read_map(key, value)) {
    if (name == "username")
      config_.username = text;
    else if (name == "password")
      config_.password = text;
    else if (name == "tls_verify")
      config_.tls_verify = text != "false";
    else if (name == "email" || name == "server_address")
      continue;  // Docker's: it needs neither
    else
      say(key + "." + name, "is not known: username, password and tls_verify are");
  }
}

void Reader::read_entrypoint(const std::string& key, const json::value& value) {
  config_.entrypoint.emplace();
  if (auto text = as_text(value)) {
    // As podman has it: one program, whose arguments are `args`.
    if (!text->empty()) config_.entrypoint->push_back(*std::move(text));
  } else {
    read_texts(key, value, *config_.entrypoint);
  }
}

void Reader::read_logging(const std::string& key, const json::value& value) {
  const auto object = as_object(value);
  if (!object) return say(key, "must be a block");
  for (const auto& member : *object) {
    const std::string name(member.key());
    if (name == "options" || name == "config") continue;  // sizes and numbers of files are those of `logs`
    if (name != "driver" && name != "type") {
      say(key + "." + name, "is not known: driver and options are");
      continue;
    }
    const auto driver = as_text(member.value()).value_or("");
    if (driver == "none")
      config_.log = false;
    else if (driver != "nomad" && driver != "json-file" && driver != "k8s-file" && driver != "local" &&
             !is_open(driver))
      say(key + "." + name,
          fmt::format("'{}' cannot be had: output goes to the task's own logs ('nomad'), or nowhere ('none')", driver));
  }
}

void Reader::read_namespace(const std::string& key, const json::value& value, bool& own) {
  const auto mode = as_text(value).value_or("?");
  if (mode == "host") {
    own = false;
    if (!policy_.privileged)
      say(key, "'host' is not allowed on this node: it takes privileged containers (plugin \"podman\")");
  } else if (!mode.empty() && mode != "private" && !is_open(mode)) {
    say(key, "must be 'private' or 'host'");
  }
}

void Reader::read_network(const std::string& key, const json::value& value) {
  const auto mode = as_text(value).value_or("?");
  if (mode == "none")
    config_.own_network = true;
  else if (!mode.empty() && mode != "host" && !is_open(mode))
    say(key,
        fmt::format("'{}' cannot be had: a container has the network of its group ('host'), or none ('none')", mode));
}

void Reader::read_security(const std::string& key, const json::value& value) {
  Texts options;
  read_texts(key, value, options);
  for (const auto& option : options) {
    const auto at = option.find_first_of("=:");
    const auto name = option.substr(0, at);
    const auto rest = at == std::string::npos ? std::string() : option.substr(at + 1);
    if (name == "no-new-privileges") {
      config_.no_new_privileges = rest != "false";
    } else if (name == "seccomp") {
      config_.seccomp = rest;
      if (rest == "unconfined" ? !policy_.privileged : !is_clean_absolute(rest) && !is_open(rest))
        say(key,
            rest == "unconfined"
                ? "seccomp=unconfined is not allowed on this node: it takes privileged containers (plugin \"podman\")"
                : "seccomp must be 'unconfined' or the absolute path of a profile");
    } else if (name == "apparmor") {
      config_.apparmor = rest;
    } else if (!is_open(option)) {
      say(key, fmt::format("'{}' cannot be had: no-new-privileges, seccomp=… and apparmor=… can", option));
    }
  }
}

void Reader::read_tmpfs(const std::string& key, const json::value& value) {
  Texts list;
  read_texts(key, value, list);
  for (const auto& each : list) {
    const auto parts = split(each, ':');
    Volume volume;
    volume.target = parts[0];
    if (parts.size() > 1) {
      for (auto& option : split(parts[1], ',')) volume.options.push_back(std::move(option));
    }
    if (parts.size() > 2 || (!is_clean_absolute(volume.target) && !is_open(each)))
      say(key, fmt::format("'{}' must be /path or /path:options", each));
    config_.volumes.push_back(std::move(volume));
  }
}

void Reader::read_ulimit(const std::string& key, const json::value& value) {
  const auto word = [](std::string_view text) -> std::optional<std::uint64_t> {
    if (text == "-1" || text == "unlimited") return std::numeric_limits<std::uint64_t>::max();
    return parse_number<std::uint64_t>(text);
  };
  for (const auto& [name, text] : read_map(key, value)) {
    Ulimit limit;
    limit.name = rlimit_name(name);
    if (limit.name.empty()) {
      say(key + "." + name, "is no limit that getrlimit(2) knows");
      continue;
    }
    if (is_open(text)) continue;
    const auto at = text.find(':');
    const auto soft = word(std::string_view(text).substr(0, at));
    const auto hard = at == std::string::npos ? soft : word(std::string_view(text).substr(at + 1));
    if (!soft || !hard || *soft > *hard) {
      say(key + "." + name,
          fmt::format("'{}' must be \"soft:hard\" or one number for both, soft not above hard", text));
      continue;
    }
    limit.soft = *soft;
    limit.hard = *hard;
    config_.ulimits[name] = limit;
  }
}

void Reader::add_volume(const std::string& key, Volume volume) {
  const bool open = is_open(volume.source) || is_open(volume.target);
  if (!is_clean_absolute(volume.target) && !open) {
    say(key, fmt::format("'{}' must be an absolute path in the container, without '..'", volume.target));
  } else if (volume.target == "/") {
    say(key, "cannot take the place of the container's root");
  } else if (volume.source.starts_with('/') && !policy_.volumes) {
    say(key, fmt::format("'{}' of the host is not allowed on this node (plugin \"podman\", volumes)", volume.source));
  } else if (escapes(volume.source)) {
    say(key, fmt::format("'{}' must not hold '..'", volume.source));
  }
  config_.volumes.push_back(std::move(volume));
}

void Reader::read_volumes(const std::string& key, const json::value& value) {
  Texts list;
  read_texts(key, value, list);
  for (const auto& each : list) {
    const auto parts = split(each, ':');
    if (is_open(each) && (parts.size() < 2 || parts.size() > 3)) continue;
    if (parts.size() < 2 || parts.size() > 3 || parts[0].empty()) {
      say(key, fmt::format("'{}' must be source:target or source:target:options", each));
      continue;
    }
    Volume volume{.source = parts[0], .target = parts[1], .options = {}};
    for (auto& option : parts.size() > 2 ? split(parts[2], ',') : Texts()) {
      if (option == "ro")
        volume.read_only = true;
      else if (option == "idmap")
        volume.mapped = true;
      else if (option.starts_with("idmap="))
        say(key, fmt::format("'{}' cannot be had: owners are mapped as userns says, by 'idmap'", option));
      else if (option == "z" || option == "Z" || option == "rw" || option.empty())
        continue;  // SELinux labels: the node's policy decides
      else
        volume.options.push_back(std::move(option));
    }
    add_volume(key, std::move(volume));
  }
}

void Reader::read_mounts(const std::string& key, const json::value& value) {
  const json::array list = value.is_array() ? value.get_array() : json::array{value};
  for (const auto& each : list) {
    const auto object = as_object(each);
    if (!object) return say(key, "must be blocks");
    Volume volume;
    std::string type = "volume";
    for (const auto& member : *object) {
      const std::string name(member.key());
      const auto text = as_text(member.value()).value_or("");
      if (name == "type")
        type = text;
      else if (name == "source")
        volume.source = text;
      else if (name == "target")
        volume.target = text;
      else if (name == "readonly")
        volume.read_only = text == "true";
      else if (name == "bind_options" || name == "tmpfs_options" || name == "volume_options")
        continue;
      else
        say(key + "." + name, "is not known: type, source, target and readonly are");
    }
    if (type == "tmpfs")
      volume.source.clear();
    else if (type != "bind")
      say(key + ".type",
          fmt::format("'{}' cannot be had: 'bind' and 'tmpfs' can; for volumes use `volume_mount`", type));
    add_volume(key, std::move(volume));
  }
}

void Reader::read_devices(const std::string& key, const json::value& value) {
  Texts list;
  const json::array all = value.is_array() ? value.get_array() : json::array{value};
  for (const auto& each : all) {
    if (auto text = as_text(each)) {
      list.push_back(*std::move(text));
    } else if (const auto* block = each.if_object()) {  // the docker driver's
      const auto of = [&](const char* name) {
        const auto* found = block->if_contains(name);
        return found == nullptr ? std::string() : as_text(*found).value_or("");
      };
      const auto path = of("host_path");
      const auto target = of("container_path"), access = of("cgroup_permissions");
      list.push_back(fmt::format("{}:{}:{}", path, target.empty() ? path : target, access.empty() ? "rwm" : access));
    } else {
      return say(key, "must be a list of strings");
    }
  }
  for (const auto& each : list) {
    if (is_open(each)) continue;
    const auto parts = split(each, ':');
    Device device;
    device.path = device.target = parts[0];
    // "/dev/x:rw" as well as "/dev/x:/dev/y:rw".
    if (parts.size() > 1) (parts[1].starts_with('/') ? device.target : device.access) = parts[1];
    if (parts.size() > 2) device.access = parts[2];
    const bool known = !device.access.empty() && device.access.find_first_not_of("rwm") == std::string::npos;
    if (parts.size() > 3 || !known || !is_clean_absolute(device.path) || !is_clean_absolute(device.target)) {
      say(key, fmt::format("'{}' must be /dev/a, /dev/a:/dev/b or /dev/a:/dev/b:rwm", each));
      continue;
    }
    config_.devices.push_back(std::move(device));
  }
}

}  // namespace underway::pod::detail
