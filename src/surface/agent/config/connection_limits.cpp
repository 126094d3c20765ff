#include "agent/config/connection_limits.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace underway::agent {
namespace {

constexpr std::size_t kMostClients = 20'000;
constexpr std::size_t kMostTasks = 4096;

}  // namespace

ConnectionLimits connection_limits(std::size_t descriptors) {
  return {.api = std::clamp<std::size_t>(descriptors / 2, 16, kMostClients),
          .tasks = std::clamp<std::size_t>(descriptors / 8, 8, kMostTasks)};
}

std::size_t descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace underway::agent
