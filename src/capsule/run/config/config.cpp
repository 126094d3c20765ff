#include "run/config/config.hpp"

#include <set>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "driver/block_reader.hpp"
#include "net/netlink.hpp"
#include "os/process/process.hpp"
#include "run/config/overlay_spec.hpp"

namespace underway::run {

using driver::BlockReader;

namespace {

/// What a capsule makes for itself: nothing of the host can be bound there.
constexpr std::string_view kOwn[] = {"/", "/proc", "/sys", "/dev", "/run", "/tmp", "/local", "/secrets", "/alloc"};

bool is_open(const std::string& text) { return text.find("${") != std::string::npos; }

/// RFC 1123: letters, digits and hyphens, not at the ends, dots between labels.
bool is_hostname(std::string_view name) {
  if (name.empty() || name.size() > 64) return false;
  for (const auto& label : split(name, '.')) {
    if (label.empty() || label.size() > 63 || label.front() == '-' || label.back() == '-') return false;
    for (const char c : label) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') return false;
    }
  }
  return true;
}

bool is_clean_absolute(std::string_view path) {
  if (path.empty() || path.front() != '/' || path.find_first_of(std::string_view("\0\n", 2)) != std::string::npos)
    return false;
  const auto parts = split(path.substr(1), '/');
  return path == "/" || std::none_of(parts.begin(), parts.end(),
                                     [](const auto& part) { return part.empty() || part == "." || part == ".."; });
}

bool is_mac(std::string_view text) {
  if (text.size() != 17) return false;
  for (std::size_t n = 0; n < text.size(); ++n) {
    const bool colon = n % 3 == 2;
    if (colon ? text[n] != ':' : std::isxdigit(static_cast<unsigned char>(text[n])) == 0) return false;
  }
  return true;
}

class Checker {
 public:
  explicit Checker(std::vector<std::string>& out) : out_(out) {}

  void check(const Config& config) {
    if (config.image.empty()) say("image", "is empty");
    if (!config.name.empty() && !is_open(config.name) && !image::is_image_name(config.name))
      say("name", fmt::format("'{}' is none: at most 63 of a-z, 0-9, '.', '_', '-'", config.name));
    if (!config.hostname.empty() && !is_open(config.hostname) && !is_hostname(config.hostname))
      say("hostname", fmt::format("'{}' is no host name", config.hostname));
    if (config.overlay) check(*config.overlay);
    std::set<std::string> names, interfaces;
    std::size_t number = 0;
    for (const auto& network : config.networks) {
      if (!names.insert(network.name).second) say_of(network, "", "is there more than once");
      const auto interface = network.interface.empty() ? fmt::format("eth{}", number) : network.interface;
      if (!interfaces.insert(interface).second)
        say_of(network, ".interface", fmt::format("'{}' is that of another network", interface));
      ++number;
      check(network);
    }
    if (config.dns) check(*config.dns);
    for (const auto& bind : config.binds) check(bind);
    for (const auto& service : config.services) check(service);
    if (config.protect) check(*config.protect);
    if (config.snapshot) {
      for (const auto& problem : overlay::problems(*config.snapshot)) say("snapshot", problem);
    }
    if (config.backup) {
      for (const auto& problem : overlay::problems(*config.backup)) say("backup", problem);
    }
    for (const auto& name : config.capabilities) check_capability("capabilities", name);
    for (const auto& name : config.cap_add) check_capability("cap_add", name);
    for (const auto& [key, value] : config.sysctl) {
      if (!key.starts_with("net.") || key.find("..") != std::string::npos)
        say(fmt::format("sysctl[\"{}\"]", key), "is no setting of a network: these begin with 'net.'");
    }
    if (config.attempts < 0) say("attempts", "is negative");
  }

 private:
  void say(const std::string& where, const std::string& what) {
    out_.push_back(fmt::format("config.{}: {}", where, what));
  }
  void say_of(const NetworkConfig& network, const std::string& where, const std::string& what) {
    say(fmt::format("network \"{}\"{}", network.name, where), what);
  }

  void check(const OverlayConfig& overlay) {
    if (is_open(overlay.size)) return;
    if (!overlay.size.empty() && !parse_size(overlay.size))
      return say("overlay.size", fmt::format("'{}' is no size like \"1G\"", overlay.size));
    for (const auto& path : overlay.paths) {
      if (is_open(path)) return;
    }
    for (const auto& problem : overlay::problems(overlay_spec(overlay))) say("overlay", problem);
  }

  void check(const ProtectConfig& protect) {
    if (protect.every < std::chrono::milliseconds(100)) say("protect.every", "is less than 100ms");
    if (protect.loss < protect.every) say("protect.loss", "is less than `every`: it would always be told");
    if (protect.rpo < protect.loss) say("protect.rpo", "is less than `loss`");
    if (protect.sync && !protect.standby) say("protect.sync", "needs a standby, and `standby` is false");
    if (protect.sync && protect.keeps_nothing) say("protect.sync", "has nothing to save: `keeps_nothing` is true");
  }

  void check(const NetworkConfig& network) {
    const auto bad_link = [](const std::string& name) { return !is_open(name) && net::link_name(name) != name; };
    if (!is_open(network.name) && network.name.empty()) say_of(network, "", "has no name");
    if (!network.bridge.empty() && bad_link(network.bridge))
      say_of(network, ".bridge", fmt::format("'{}' is no name of a link", network.bridge));
    if (!network.interface.empty() && (bad_link(network.interface) || network.interface == "lo"))
      say_of(network, ".interface", fmt::format("'{}' is no name of a link", network.interface));
    bool open = false;
    std::vector<net::Cidr> own;
    for (const auto& text : network.addresses) {
      open = open || is_open(text);
      if (const auto cidr = net::parse_cidr(text)) {
        own.push_back(*cidr);
      } else if (!is_open(text)) {
        say_of(network, ".addresses", fmt::format("'{}' is no address with a prefix, like 10.77.0.5/24", text));
      }
    }
    const auto reachable = [&](const net::Ip& gateway) {
      return open || std::any_of(own.begin(), own.end(), [&](const auto& cidr) { return cidr.contains(gateway); });
    };
    const auto check_gateway = [&](const std::string& where, const std::string& text) {
      if (is_open(text)) return;
      const auto ip = net::parse_ip(text);
      if (!ip)
        say_of(network, where, fmt::format("'{}' is no address", text));
      else if (!reachable(*ip))
        say_of(network, where, fmt::format("{} lies in none of the networks of its addresses", text));
    };
    if (!network.gateway.empty()) check_gateway(".gateway", network.gateway);
    for (const auto& [to, via] : network.routes) {
      if (!is_open(to) && !net::parse_cidr(to)) say_of(network, ".routes", fmt::format("'{}' is no network", to));
      check_gateway(".routes", via);
    }
    if (network.vlan < 0 || network.vlan > 4094) say_of(network, ".vlan", "is not between 0 and 4094");
    if (!network.mac.empty() && !is_open(network.mac) && !is_mac(network.mac))
      say_of(network, ".mac", fmt::format("'{}' is no hardware address", network.mac));
    if (network.mtu != 0 && (network.mtu < 68 || network.mtu > 65535))
      say_of(network, ".mtu", "is not between 68 and 65535");
  }

  void check(const DnsConfig& dns) {
    for (const auto& server : dns.servers) {
      if (!is_open(server) && !net::parse_ip(server)) say("dns.servers", fmt::format("'{}' is no address", server));
    }
    for (const auto& domain : dns.search) {
      if (!is_open(domain) && !is_hostname(domain)) say("dns.search", fmt::format("'{}' is no domain", domain));
    }
    for (const auto& [name, address] : dns.hosts) {
      if (!is_hostname(name)) say("dns.hosts", fmt::format("'{}' is no host name", name));
      if (!is_open(address) && !net::parse_ip(address))
        say("dns.hosts", fmt::format("'{}' is no address of '{}'", address, name));
    }
  }

  void check(const BindConfig& bind) {
    const auto where = fmt::format("bind \"{}\"", bind.path);
    if (!is_open(bind.path) && !is_clean_absolute(bind.path)) return say(where, "is no absolute path");
    if (std::find(std::begin(kOwn), std::end(kOwn), bind.path) != std::end(kOwn)) say(where, "is the capsule's own");
    if (!bind.source.empty() && !is_open(bind.source) && !is_clean_absolute(bind.source))
      say(where + ".source", fmt::format("'{}' is no absolute path", bind.source));
  }

  void check(const image::Service& service) {
    const auto where = fmt::format("service \"{}\"", service.name);
    if (!image::is_image_name(service.name)) say(where, "is no name of a service");
    if (!service.command.empty() && !is_open(service.command.front()) && !service.command.front().starts_with('/'))
      say(where + ".command", fmt::format("the program '{}' is no absolute path", service.command.front()));
    if (!is_open(service.stop_signal) && !os::find_signal(service.stop_signal))
      say(where + ".stop_signal", fmt::format("'{}' is no signal", service.stop_signal));
  }

  void check_capability(const std::string& list, const std::string& name) {
    if (is_open(name) || os::find_capability(name)) return;
    const auto near = nearest(lower(name), os::all_capability_names());
    say(list, fmt::format("there is no capability '{}'{}", name,
                          near.empty() ? std::string() : fmt::format("; did you mean '{}'?", near)));
  }

  std::vector<std::string>& out_;
};

Config read(const boost::json::value& config, std::vector<std::string>& found) {
  Config read;
  BlockReader reader;
  reader.read(config, description(describe::Tag<Config>()), &read, "config");
  found = reader.problems();
  Checker(found).check(read);
  return read;
}

[[noreturn]] void refuse(const std::string& what, const std::vector<std::string>& found) {
  throw Error(Code::invalid, what).because(found);
}

}  // namespace

std::string NetworkConfig::bridge_name() const { return bridge.empty() ? net::link_name("br-" + name) : bridge; }

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const auto size = parse_leading_number<std::uint64_t>(text);
  if (!size || size->value == 0) return std::nullopt;
  const std::uint64_t number = size->value;
  std::string unit = lower(trim(size->rest));
  if (unit.ends_with("ib")) unit.resize(unit.size() - 2);
  if (unit.size() == 2 && unit.ends_with('b')) unit.pop_back();
  constexpr std::string_view kUnits = "kmgt";
  if (unit.empty() || unit == "b") return number;
  const auto power = kUnits.find(unit);
  if (unit.size() != 1 || power == std::string_view::npos) return std::nullopt;
  const auto shift = 10 * (power + 1);
  return number > (std::uint64_t{1} << 62 >> shift) ? std::nullopt : std::optional(number << shift);
}

overlay::Spec overlay_spec(const OverlayConfig& config) {
  overlay::Spec spec;
  spec.kind = config.kind;
  spec.paths = config.paths;
  if (!config.size.empty()) spec.size_bytes = parse_size(config.size).value_or(0);
  if (config.size.empty() && config.kind == overlay::Kind::directory) spec.size_bytes = 0;
  return spec;
}

std::vector<std::string> problems(const boost::json::value& config) {
  std::vector<std::string> found;
  static_cast<void>(read(config, found));
  return found;
}

Config parse_config(const boost::json::value& config) {
  std::vector<std::string> found;
  auto parsed = read(config, found);
  if (!found.empty()) refuse("the capsule's config is wrong", found);
  return parsed;
}

ProtectConfig protection_of(const boost::json::value& config) {
  ProtectConfig out;
  const auto* object = config.if_object();
  const auto* block = object != nullptr ? object->if_contains("protect") : nullptr;
  if (block != nullptr && block->is_array() && !block->get_array().empty()) block = &block->get_array().front();
  if (block != nullptr && block->is_object())
    BlockReader().read(*block, description(describe::Tag<ProtectConfig>()), &out, "config.protect");
  return out;
}

Program program_of(const boost::json::value& config, const image::Manifest& manifest) {
  Program program{manifest.services, {}};
  BlockReader reader;
  const auto* object = config.if_object();
  const auto blocks = [&](std::string_view key) {
    const auto* value = object != nullptr ? object->if_contains(key) : nullptr;
    return value != nullptr ? BlockReader::labelled(*value) : std::vector<BlockReader::Block>();
  };
  for (const auto& block : blocks("service")) {
    auto known = std::find_if(program.services.begin(), program.services.end(),
                              [&](const auto& service) { return service.name == block.label; });
    if (known == program.services.end()) {
      known = program.services.emplace(program.services.end());
      known->name = block.label;
    }
    reader.read(block.body, description(describe::Tag<image::Service>()), &*known, "config.service");
  }
  program.steps = parse_config(config).steps;
  std::set<image::Moment> given;
  for (const auto& step : program.steps) given.insert(step.moment);
  for (const auto& step : manifest.steps) {
    if (!given.contains(step.moment)) program.steps.push_back(step);
  }
  auto found = image::problems(program.services);
  if (program.services.empty()) {
    found.push_back(fmt::format("neither the image '{}' nor the job declares a service", manifest.reference()));
  }
  for (const auto& step : program.steps) {
    if (step.command.empty() || !step.command.front().starts_with('/'))
      found.push_back(fmt::format("step '{}' has no command with an absolute path", describe::spell(step.moment)));
  }
  if (!found.empty()) refuse("the capsule's services are wrong", found);
  return program;
}

os::Capabilities default_capabilities() {
  os::Capabilities set = 0;
  for (const auto* name :
       {"audit_write", "chown", "dac_override", "fowner", "fsetid", "kill", "net_admin", "net_bind_service", "net_raw",
        "setfcap", "setgid", "setpcap", "setuid", "sys_chroot", "sys_nice"}) {
    set |= os::find_capability(name).value_or(0);
  }
  return set;
}

os::Capabilities Config::bounding() const {
  os::Capabilities set = capabilities.empty() ? default_capabilities() : 0;
  for (const auto* list : {&capabilities, &cap_add}) {
    for (const auto& given : *list) set |= os::find_capability(given).value_or(0);
  }
  return set;
}

std::string capsule_name(const std::string& given, const std::string& job, const std::string& group,
                         const std::string& index, bool sole) {
  if (!given.empty()) return given;
  return sole && index == "0" ? job : fmt::format("{}.{}.{}", job, group, index);
}

}  // namespace underway::run
