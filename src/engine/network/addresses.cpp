#include "network/detail/addresses.hpp"
#include "base/error.hpp"

namespace underway::network {

net::Ip next_address(const net::Cidr& network, const std::set<net::Ip>& taken, const std::optional<net::Ip>& last) {
  // 0 is the network's own, 1 the bridge's.
  const std::uint64_t first = 2, end = network.usable_hosts() + 1;
  std::uint64_t at = first;
  if (last && network.contains(*last)) {
    while (at < end && network.host(at) != *last) ++at;
    ++at;
  }
  for (std::uint64_t tried = first; tried < end; ++tried, ++at) {
    if (at >= end) at = first;
    const net::Ip address = network.host(at);
    if (!taken.contains(address)) return address;
  }
  throw Error(Code::exhausted, fmt::format("no address of {} is left", net::to_string(network)))
      .because(fmt::format("{} allocations have one", taken.size()))
      .advise("set a larger bridge_network_subnet in the client's configuration, when nothing runs on it");
}

}  // namespace underway::network
