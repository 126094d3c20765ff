#include "network/network.hpp"

#include <unistd.h>

#include <mutex>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "net/namespace.hpp"
#include "net/netlink.hpp"
#include "net/nftables.hpp"
#include "net/sysctl.hpp"
#include "network/cni.hpp"
#include "network/detail/addresses.hpp"
#include "network/detail/record.hpp"
#include "network/detail/rules.hpp"

namespace underway::network {
namespace {

constexpr const char* kInterface = "eth0";

/// The host's end of an allocation's pair.
std::string host_link(const std::string& allocation) { return net::link_name("alloc-" + allocation); }

class KernelNetworks final : public AllocationNetworks {
 public:
  explicit KernelNetworks(Options options)
      : options_(std::move(options)), subnet_(net::parse_cidr(options_.subnet).value()), records_(options_.directory) {}

  Attachment attach(const Request& request) override {
    if (auto found = find(request.allocation)) return *std::move(found);
    Record record = begin(request);
    try {
      make(record);
      record.ready = true;
      const std::lock_guard lock(mutex_);
      records_.put(record);
    } catch (Error& failed) {
      try {
        detach(request.allocation);
      } catch (const Error& second) {
        failed.because(fmt::format("and what was made of it may stay: {}", second.one_line()));
      }
      failed.while_doing(fmt::format("making the network of allocation {}", request.allocation.substr(0, 8)));
      throw;
    }
    return attachment(record);
  }

  std::optional<Attachment> find(const std::string& allocation) override {
    const std::lock_guard lock(mutex_);
    const Record* record = records_.find(allocation);
    if (record == nullptr || !record->ready || !net::is_pinned(records_.pin(allocation))) return std::nullopt;
    if (record->bridged() && !net::Netlink(net::Namespace::current()).find_link(host_link(allocation)))
      return std::nullopt;
    return attachment(*record);
  }

  void detach(const std::string& allocation) override {
    std::optional<Record> record;
    {
      const std::lock_guard lock(mutex_);
      if (const Record* known = records_.find(allocation)) record = *known;
    }
    if (!record) return;
    std::optional<Error> failed;
    const auto attempt = [&](const auto& step) {
      try {
        step();
      } catch (const Error& error) {
        if (!failed) failed = error;
      }
    };
    if (record->by_plugins() && record->cni_config.is_object()) {
      attempt([&] {
        cni::remove(record->cni_config.get_object(), container(*record), record->cni_result, options_.cni_path);
      });
    }
    const std::lock_guard lock(mutex_);
    if (record->bridged()) attempt([&] { net::Netlink(net::Namespace::current()).remove_link(host_link(allocation)); });
    attempt([&] { net::unpin(records_.pin(allocation)); });
    attempt([&] { records_.remove(allocation); });
    if (record->bridged()) attempt([&] { write_rules(); });
    if (failed)
      throw failed->while_doing(fmt::format("removing the network of allocation {}", allocation.substr(0, 8)));
  }

  std::vector<std::string> keep_only(const std::set<std::string>& allocations) override {
    std::set<std::string> others;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [id, record] : records_.all())
        if (!allocations.contains(id)) others.insert(id);
      for (const auto& id : records_.pinned())
        if (!allocations.contains(id) && records_.find(id) == nullptr) net::unpin(records_.pin(id));
    }
    for (const auto& id : others) {
      try {
        detach(id);
      } catch (const Error& error) {
        log::warn("network: {}", error.one_line());
      }
    }
    try {
      const std::lock_guard lock(mutex_);
      write_rules();  // somebody may have flushed them
    } catch (const Error& error) {
      log::warn("network: {}", error.one_line());
    }
    return {others.begin(), others.end()};
  }

 private:
  /// The record of what is going to be made; what an agent before us made of it is taken away.
  Record begin(const Request& request) {
    std::string address;
    {
      const std::lock_guard lock(mutex_);
      if (const Record* before = records_.find(request.allocation)) address = before->status.address;
    }
    detach(request.allocation);
    Record record;
    record.allocation = request.allocation;
    record.mode = request.mode;
    record.ports = request.ports;
    record.cni_args = request.cni_args;
    if (record.by_plugins())
      record.cni_config = cni::get_configuration(options_.cni_config_dir, request.mode.substr(4));
    const std::lock_guard lock(mutex_);
    if (record.bridged()) record.status = {kInterface, choose_address(address), "", std::nullopt};
    records_.put(record);
    return record;
  }

  std::string choose_address(const std::string& before) {
    std::set<net::Ip> taken;
    for (const auto& [id, record] : records_.all())
      if (const auto ip = net::parse_ip(record.status.address); ip && record.bridged()) taken.insert(*ip);
    const auto had = net::parse_ip(before);
    if (!had || !subnet_.contains(*had) || taken.contains(*had)) {
      last_ = next_address(subnet_, taken, last_);
      return net::to_string(*last_);
    }
    return before;
  }

  void make(Record& record) {
    const std::string pin = records_.pin(record.allocation);
    auto inside = net::Namespace::create("allocation " + record.allocation.substr(0, 8));
    net::unpin(pin);
    inside.pin(pin);
    net::Netlink(inside).set_up("lo");
    if (record.bridged()) {
      const std::lock_guard lock(mutex_);
      join_bridge(record, inside);
      write_rules();
    } else if (record.by_plugins()) {
      record.cni_result = cni::add(record.cni_config.get_object(), container(record), options_.cni_path);
      record.status = cni::status_of(record.cni_result, kInterface);
    }
  }

  void join_bridge(const Record& record, const net::Namespace& inside) {
    const auto machine = net::Namespace::current();
    net::Netlink here(machine);
    lay_bridge(machine, here);
    const std::string link = host_link(record.allocation);
    here.remove_link(link);
    here.add_veth({.name = link, .peer = &inside, .peer_name = kInterface, .master = options_.bridge, .peer_mac = ""});
    if (options_.hairpin) here.set_hairpin(link);
    net::Netlink there(inside);
    there.add_address(kInterface, {net::parse_ip(record.status.address).value(), subnet_.prefix});
    there.set_up(kInterface);
    there.set_route({.to = std::nullopt, .via = subnet_.host(1), .link = kInterface});
  }

  /// Idempotent: somebody may have taken it away, or its settings back.
  void lay_bridge(const net::Namespace& machine, net::Netlink& here) {
    if (!here.find_link(options_.bridge)) {
      for (const auto& link : here.links()) {
        for (const auto& address : here.addresses(link.name)) {
          if (!address.overlaps(subnet_)) continue;
          throw Error(Code::conflict, fmt::format("the bridge '{}' cannot have the network {}", options_.bridge,
                                                  net::to_string(subnet_)))
              .because(fmt::format("interface '{}' of this node has {}", link.name, net::to_string(address)))
              .advise("set bridge_network_subnet in the client's configuration");
        }
      }
      here.add_bridge(options_.bridge);
    }
    here.add_address(options_.bridge, {subnet_.host(1), subnet_.prefix});
    here.set_up(options_.bridge);
    const auto set = [&](const std::string& key) {
      if (net::get_sysctl(machine, key) != "1") net::set_sysctl(machine, key, "1");
    };
    set("net.ipv4.ip_forward");
    // A port of a node whose address is 127.0.0.1 is mapped too; what comes the other way is dropped by the rules.
    set(fmt::format("net.ipv4.conf.{}.route_localnet", options_.bridge));
  }

  void write_rules() {
    const auto machine = net::Namespace::current();
    const std::string table = "alloc-" + options_.bridge;
    const auto& all = records_.all();
    if (std::ranges::none_of(all, [](const auto& entry) { return entry.second.bridged(); }))
      net::remove_table(machine, table);
    else
      net::run_nftables(machine, rules_of(table, options_.bridge, subnet_, all));
  }

  cni::Container container(const Record& record) const {
    return {record.allocation, records_.pin(record.allocation), kInterface, record.cni_args, record.ports};
  }
  Attachment attachment(const Record& record) const { return {records_.pin(record.allocation), record.status}; }

  const Options options_;
  const net::Cidr subnet_;
  std::mutex mutex_;  ///< of records_, the bridge and its rules; not held while plugins run
  Records records_;
  std::optional<net::Ip> last_;
};

}  // namespace

std::unique_ptr<AllocationNetworks> make_networks(Options options) {
  return std::make_unique<KernelNetworks>(std::move(options));
}

std::vector<std::string> problems(const Options& options) {
  std::vector<std::string> out;
  const auto subnet = net::parse_cidr(options.subnet);
  if (!subnet || subnet->ip.family() != net::Ip::Family::v4 || subnet->prefix > 29 || subnet->prefix < 8)
    out.push_back(fmt::format("bridge_network_subnet '{}' is no IPv4 network of /8 to /29", options.subnet));
  if (options.bridge.empty() || net::link_name(options.bridge) != options.bridge)
    out.push_back(fmt::format("bridge_network_name '{}' is no name of an interface: at most {} characters",
                              options.bridge, net::kMaxLinkName));
  return out;
}

model::StringMap fingerprint(const Options& options) {
  model::StringMap out;
  if (::geteuid() != 0) return out;
  if (net::is_installed(net::Nft{})) out["network.bridge"] = "1";  // its ports are rules
  out["network.none"] = "1";
  for (const auto& name : cni::list_configurations(options.cni_config_dir)) out["network.cni." + name] = "1";
  return out;
}

}  // namespace underway::network
