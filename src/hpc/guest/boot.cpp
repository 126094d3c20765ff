#include "guest/boot.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "net/netlink.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::guest {
namespace {

constexpr std::string_view kHostsFile = "/etc/hosts";

/// 127.0.0.1 answers when a program asks for "localhost", and munged blocks for seconds when its own name is unknown. A
/// seed that has the file goes before, in every boot: a machine that is booted again still has to find slurmctld.
std::string hosts_file(const Seed& seed) {
  const auto own =
      std::find_if(seed.files.begin(), seed.files.end(), [](const auto& file) { return file.path == kHostsFile; });
  if (own != seed.files.end()) return own->content;
  std::string out = "127.0.0.1 localhost\n::1 localhost\n";
  for (const auto& link : seed.links) {
    for (const auto& address : link.addresses) out += fmt::format("{} {}\n", net::to_string(address.ip), seed.hostname);
  }
  return out;
}

void set_up(net::Netlink& netlink, const SeedLink& wanted) {
  const auto links = netlink.links();
  const auto found =
      std::find_if(links.begin(), links.end(), [&](const net::Link& link) { return lower(link.mac) == wanted.mac; });
  if (found == links.end())
    throw Error(Code::not_found, fmt::format("no link of this machine has the MAC {}", wanted.mac));
  std::string name = found->name;
  if (!wanted.name.empty() && wanted.name != name) {
    netlink.set_down(name);
    netlink.rename_link(name, wanted.name);
    name = wanted.name;
  }
  if (wanted.mtu != 0) netlink.set_mtu(name, wanted.mtu);
  netlink.set_up(name);
  for (const auto& address : wanted.addresses) netlink.add_address(name, address);
  if (wanted.gateway) netlink.set_route({.to = std::nullopt, .via = wanted.gateway, .link = name});
}

void write_names(const Seed& seed, const BootOptions& options) {
  os::make_directories(options.root + "/etc");
  if (!seed.hostname.empty()) {
    os::write_file(options.root + "/etc/hostname", seed.hostname + "\n");
    os::write_file(options.root + std::string(kHostsFile), hosts_file(seed));
    // Of a root that is looked at from outside the machine's own name stays.
    if (options.root.empty() && ::sethostname(seed.hostname.data(), seed.hostname.size()) != 0)
      throw errno_error(errno, fmt::format("cannot call this machine '{}'", seed.hostname));
  }
  std::string resolver;
  for (const auto& link : seed.links) {
    for (const auto& server : link.nameservers) resolver += fmt::format("nameserver {}\n", net::to_string(server));
  }
  if (!resolver.empty()) os::write_file(options.root + "/etc/resolv.conf", resolver);
}

void run(const std::vector<std::string>& command, const BootOptions& options) {
  os::SpawnSpec spec;
  spec.argv = command;
  try {
    const auto output = os::run_program(std::move(spec), options.command_limit);
    if (!output.status.success())
      log::warn("boot: '{}' ended with {}: {}", join(command, " "), os::to_string(output.status), trim(output.err));
  } catch (const Error& error) {
    log::warn("boot: '{}': {}", join(command, " "), error.one_line());
  }
}

}  // namespace

Seed read_seed(const std::string& directory) {
  SeedFiles files;
  for (const auto* name : {"meta-data", "user-data", "network-config"}) {
    if (auto text = os::find_file(directory + "/" + name, 1U << 20)) files.emplace(name, std::move(*text));
  }
  if (!files.contains("meta-data"))
    throw Error(Code::not_found, fmt::format("there is no seed in '{}'", directory))
        .because("it has no file 'meta-data'")
        .advise("mount the disk with the label \"cidata\" there");
  return parse_seed(files);
}

bool boot(const Seed& seed, const net::Namespace& in, const BootOptions& options) {
  write_names(seed, options);
  net::Netlink netlink(in);
  netlink.set_up("lo");
  std::optional<Error> missing;
  for (const auto& link : seed.links) {
    try {
      set_up(netlink, link);
    } catch (const Error& error) {
      if (!missing) missing = error;
    }
  }
  const auto remembered = options.root + options.state + "/instance";
  const bool fresh = os::find_file(remembered) != seed.instance;
  if (fresh) {
    for (const auto& file : seed.files) {
      const auto path = options.root + file.path;
      os::make_directories(path.substr(0, path.rfind('/')));
      os::write_file(path, file.content, file.mode);
    }
    for (const auto& command : seed.commands) run(command, options);
    os::make_directories(options.root + options.state, 0700);
    os::write_file(remembered, seed.instance, 0600);
  }
  if (missing) throw std::move(*missing);
  return fresh;
}

}  // namespace underway::guest
