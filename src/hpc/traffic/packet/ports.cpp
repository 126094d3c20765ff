#include "traffic/packet/ports.hpp"

#include <algorithm>
#include <array>

namespace underway::traffic {
namespace {

// Sorted. NFS clients use ports below 1024, so what NFS and RPC serve on must be here.
constexpr std::array<std::uint16_t, 77> kKnown = {
    20,   21,   22,   23,   25,   53,   67,   69,    80,    88,    111,   123,   137,  138,  139,  161,
    162,  179,  319,  320,  323,  389,  443,  445,   464,   514,   515,   546,   547,  587,  601,  623,
    636,  664,  749,  853,  873,  988,  993,  1191,  2049,  2379,  2380,  2483,  3128, 3205, 3260, 3306,
    3389, 3690, 4505, 4506, 4789, 5432, 5666, 6379,  6514,  6556,  6817,  6818,  6819, 6820, 8080, 8140,
    8443, 8649, 8651, 8652, 9090, 9100, 9873, 10050, 10051, 10809, 11211, 17001, 20048};
static_assert(std::is_sorted(kKnown.begin(), kKnown.end()));

constexpr std::uint16_t kSystem = 1024;            // RFC 6335
constexpr std::uint16_t kFirstOfClients = 32'768;  // Linux, ip_local_port_range

}  // namespace

unsigned server_likeness(std::uint16_t port) {
  if (std::binary_search(kKnown.begin(), kKnown.end(), port)) return 3;
  if (port < kSystem) return 2;
  return port < kFirstOfClients ? 1 : 0;
}

}  // namespace underway::traffic
