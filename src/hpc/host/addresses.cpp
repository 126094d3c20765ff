#include "host/addresses.hpp"

#include "base/error.hpp"

namespace underway::host {
namespace {

constexpr std::uint64_t kRoomy = 62;  // usable addresses of a /26

}  // namespace

std::map<std::string, net::Cidr> assign_addresses(const net::Cidr& network, const std::set<net::Ip>& used,
                                                  const std::vector<std::string>& names) {
  const std::uint64_t usable = network.usable_hosts();
  const std::uint64_t first = usable >= kRoomy ? 10 : 2;
  std::map<std::string, net::Cidr> given;
  // Each number is looked at once: from `first` to the end, then the skipped beginning.
  std::uint64_t number = first;
  bool wrapped = false;
  for (const auto& name : names) {
    if (given.contains(name)) continue;
    for (;; ++number) {
      if (!wrapped && number > usable) {
        wrapped = true;
        number = 2;
      }
      if (wrapped && (number >= first || number > usable)) {
        throw Error(Code::exhausted,
                    fmt::format("network {} has no address left for host '{}'", to_string(network), name))
            .because(fmt::format("{} addresses are in use, {} more were given to the hosts before it", used.size(),
                                 given.size()))
            .advise("give the network a shorter prefix");
      }
      const net::Ip candidate = network.host(number);
      if (used.contains(candidate)) continue;
      given.emplace(name, net::Cidr{candidate, network.prefix});
      ++number;
      break;
    }
  }
  return given;
}

}  // namespace underway::host
