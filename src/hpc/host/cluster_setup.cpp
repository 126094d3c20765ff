#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "host/detail/cluster_setup.hpp"
#include "host/detail/groups.hpp"
#include "net/nftables.hpp"
#include "net/sysctl.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"

namespace underway::host {
namespace {

constexpr const char* kForwarding = "/proc/sys/net/ipv4/ip_forward";
/// Owner of what clusters share on the machine.
constexpr const char* kMachine = "machine";

/// In the pinned namespace at `pin`, or the machine's own when empty.
void remove_link(const std::string& pin, const std::string& name) {
  if (!pin.empty() && !net::is_pinned(pin)) return;  // links die with their namespace
  const auto in = pin.empty() ? net::Namespace::current() : net::Namespace::open(pin);
  net::Netlink(in).remove_link(name);
}

/// Once for all clusters; put back when the last one that needs it goes.
void allow_forwarding(os::Ledger& ledger, const Step& step) {
  const auto before = std::string(trim(os::read_file(kForwarding)));
  if (before == "1") return;
  step("machine: forwarding");
  ledger.record({.kind = "sysctl", .object = kForwarding, .context = before, .owner = kMachine});
  os::write_all(os::open_file(kForwarding, O_WRONLY), "1", kForwarding);
}

net::Ip gateway_of(const NetworkSpec& network) { return network.gateway ? *network.gateway : network.cidr.host(1); }

/// A host's address, always the same hardware address: neighbours need not relearn when a host is made again.
std::string mac_of(const net::Ip& ip) {
  const auto& b = ip.bytes();
  return ip.family() == net::Ip::Family::v4
             ? fmt::format("02:00:{:02x}:{:02x}:{:02x}:{:02x}", b[0], b[1], b[2], b[3])
             : fmt::format("02:01:{:02x}:{:02x}:{:02x}:{:02x}", b[12], b[13], b[14], b[15]);
}

/// An address that a dead host had is nobody's until it has moved. Who connects meanwhile waits for it: after the three
/// seconds of the kernel's default (arp(7), mcast_solicit) he would be told that there is no such host.
void be_patient(const net::Namespace& inside, const std::string& link) {
  constexpr const char* kSeconds = "60";
  try {
    for (const auto* protocol : {"ipv4", "ipv6"}) {
      if (!os::exists(fmt::format("/proc/sys/net/{}", protocol))) continue;
      for (const auto* which : {"mcast_solicit", "mcast_resolicit"}) {
        net::set_sysctl(inside, fmt::format("net.{}.neigh.{}.{}", protocol, link, which), kSeconds);
      }
    }
  } catch (const Error& error) {
    // It lives without.
    log::warn("host: who connects to an address that nobody has is told so after 3 s: {}", error.one_line());
  }
}

void make_directory_tree(const Layout& layout, const ClusterSpec& cluster, os::Ledger& ledger, const Step& step) {
  const auto directory = layout.cluster(cluster.name);
  const auto owner = cluster_owner(cluster.name);
  if (!os::exists(directory)) {
    step(fmt::format("cluster {}: directory", cluster.name));
    ledger.record({.kind = "directory", .object = directory, .owner = owner});
  }
  for (const auto& path : {layout.tmpfs(cluster.name), layout.records(cluster.name), directory + "/consoles"}) {
    os::make_directories(path, 0755);
  }
  if (os::is_mount_point(layout.tmpfs(cluster.name))) return;
  step(fmt::format("cluster {}: tmpfs", cluster.name));
  ledger.record({.kind = "mount", .object = layout.tmpfs(cluster.name), .owner = owner});
  const auto size = cluster.size_limit_bytes == 0 ? "" : fmt::format(",size={}", cluster.size_limit_bytes);
  os::Mount::tmpfs(layout.tmpfs(cluster.name), "mode=755" + size, MS_NODEV).release();
}

void make_shares(const Layout& layout, const ClusterSpec& cluster) {
  os::make_directories(layout.tmpfs(cluster.name) + "/roots", 0755);
  os::make_directories(layout.tmpfs(cluster.name) + "/shares", 0755);
  for (const auto& share : cluster.shares) {
    const auto path = layout.share(cluster.name, share.path);
    os::make_directories(path, 0755);
    if (::chmod(path.c_str(), parse_number<mode_t>(share.mode, 8).value()) != 0) {
      throw errno_error(errno, fmt::format("cannot set the mode of share '{}'", share.path));
    }
  }
}

net::Namespace make_switch(const Layout& layout, const ClusterSpec& cluster, os::Ledger& ledger, const Step& step) {
  const auto pin = layout.switch_pin(cluster.name);
  if (!net::is_pinned(pin)) {
    step(fmt::format("cluster {}: switch", cluster.name));
    ledger.record({.kind = "netns", .object = pin, .owner = cluster_owner(cluster.name)});
    net::Namespace::create("switch of cluster " + cluster.name).pin(pin);
  }
  auto switching = net::Namespace::open(pin);
  net::Netlink at_switch(switching);
  for (const auto& network : cluster.networks) {
    if (!at_switch.find_link(net::link_name(network.name))) at_switch.add_bridge(net::link_name(network.name));
  }
  return switching;
}

void open_ways_out(const ClusterSpec& cluster, const net::Namespace& switching, os::Ledger& ledger, const Step& step) {
  std::vector<net::Cidr> sources;
  const auto machine = net::Namespace::current();
  net::Netlink at_machine(machine);
  net::Netlink at_switch(switching);
  const auto owner = cluster_owner(cluster.name);
  for (const auto& network : cluster.networks) {
    if (!network.nat) continue;
    sources.push_back(network.cidr);
    const auto name = uplink_name(cluster.name, network.name);
    if (at_machine.find_link(name)) continue;
    step(fmt::format("cluster {}: uplink of network {}", cluster.name, network.name));
    ledger.record({.kind = "link", .object = name, .owner = owner});
    at_switch.add_veth({.name = net::link_name("uplink." + network.name),
                        .peer = &machine,
                        .peer_name = name,
                        .master = net::link_name(network.name)});
    at_machine.add_address(name, {gateway_of(network), network.cidr.prefix});
    at_machine.set_up(name);
  }
  if (sources.empty()) return;
  allow_forwarding(ledger, step);
  step(fmt::format("cluster {}: masquerade", cluster.name));
  ledger.record({.kind = "nat-table", .object = nat_table(cluster.name), .owner = owner});
  net::set_masquerade(machine, nat_table(cluster.name), sources);
}

}  // namespace

void register_undo(os::Ledger& ledger) {
  ledger.on_undo("link", [](const os::LedgerItem& item) { remove_link(item.context, item.object); });
  ledger.on_undo("nat-table",
                 [](const os::LedgerItem& item) { net::remove_table(net::Namespace::current(), item.object); });
  ledger.on_undo("sysctl", [](const os::LedgerItem& item) {
    os::write_all(os::open_file(item.object, O_WRONLY), item.context, item.object);
  });
  ledger.on_undo("host-groups", [](const os::LedgerItem& item) {
    HostGroups(find_hierarchies(), item.object).remove(std::chrono::seconds{10});
  });
}

void prepare_cluster(const Layout& layout, const ClusterSpec& cluster, os::Ledger& ledger, const Step& step) {
  make_directory_tree(layout, cluster, ledger, step);
  make_shares(layout, cluster);
  const auto switching = make_switch(layout, cluster, ledger, step);
  open_ways_out(cluster, switching, ledger, step);
}

std::vector<Error> tear_down_cluster(const Layout& layout, const std::string& cluster, os::Ledger& ledger,
                                     const Step& step) {
  step(fmt::format("cluster {}: clearing", cluster));
  const auto owner = cluster_owner(cluster);
  std::vector<Error> failures;
  const auto attempt = [&](const auto& work) {
    try {
      work();
    } catch (const Error& e) {
      failures.push_back(e);
    }
  };
  const auto tmpfs = layout.tmpfs(cluster);
  attempt([&] {
    // Emptied before it is unmounted: a mount namespace made meanwhile by anybody holds a copy, and with it the memory.
    if (!os::exists(tmpfs) || !os::is_mount_point(tmpfs)) return;
    for (const auto& entry : os::list_directory(tmpfs)) os::remove_tree(tmpfs + "/" + entry.name);
  });
  auto undone = ledger.undo([&](const os::LedgerItem& item) { return item.owner == owner; });
  failures.insert(failures.end(), undone.begin(), undone.end());
  attempt([&] { HostGroups(find_hierarchies(), "underway/" + cluster).remove(std::chrono::seconds{10}); });
  HostGroups(find_hierarchies(), "underway").remove_if_empty();
  const auto open = ledger.unsettled();
  const bool forwarding_needed =
      std::any_of(open.begin(), open.end(), [](const auto& entry) { return entry.item.kind == "nat-table"; });
  if (!forwarding_needed) {
    undone = ledger.undo([](const os::LedgerItem& item) { return item.owner == kMachine && item.kind == "sysctl"; });
    failures.insert(failures.end(), undone.begin(), undone.end());
  }
  return failures;
}

void plug_in(const Layout& layout, const ClusterSpec& cluster, const HostSpec& host, pid_t pid) {
  const auto inside = net::Namespace::of_process(pid, "host " + host.name);
  net::Netlink at_switch(net::Namespace::open(layout.switch_pin(cluster.name)));
  net::Netlink at_host(inside);
  int number = 0;
  bool routed = false;
  for (const auto& network : cluster.networks) {
    const auto address = host.addresses.find(network.name);
    if (address == host.addresses.end()) continue;
    const auto name = fmt::format("eth{}", number++);
    at_switch.add_veth({.name = port_name(host.name, network.name),
                        .peer = &inside,
                        .peer_name = name,
                        .master = net::link_name(network.name),
                        .peer_mac = mac_of(address->second.ip)});
    std::string holds_address = name;
    if (host.bridges) {
      holds_address = bridge_name(network.name);
      at_host.add_bridge(holds_address);
      // Else a bridge takes the lowest address among its ports, and changes it as ports come and go.
      at_host.set_mac(holds_address, mac_of(address->second.ip));
      at_host.set_master(name, holds_address);
    }
    be_patient(inside, holds_address);
    at_host.add_address(holds_address, address->second);
    at_host.set_up(name);
    if (network.nat && !routed) at_host.set_route({.via = gateway_of(network)});
    routed = routed || network.nat;
  }
}

std::vector<os::LedgerItem> links_of(const Layout& layout, const HostSpec& host) {
  std::vector<os::LedgerItem> items;
  for (const auto& [network, address] : host.addresses) {
    items.push_back({.kind = "link",
                     .object = port_name(host.name, network),
                     .context = layout.switch_pin(host.cluster),
                     .owner = host_owner(host.cluster, host.name)});
  }
  return items;
}

void write_hosts_file(const std::string& path, std::string_view text) {
  const os::Fd file = os::open_file(path, O_WRONLY | O_CREAT, 0644);
  // One write, then the cut: a reader in between sees old lines after the new ones, never half of one.
  os::write_all(file, text, path);
  if (::ftruncate(file.get(), static_cast<off_t>(text.size())) != 0)
    throw errno_error(errno, fmt::format("cannot cut '{}'", path));
}

}  // namespace underway::host
