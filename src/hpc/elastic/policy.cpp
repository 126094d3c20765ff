#include "elastic/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace underway::elastic {
namespace {

/// More is a mistake, and would not fit what is computed of it.
constexpr std::int64_t kMostNodes = 1'000'000, kMostMemory = std::int64_t{1} << 30;
constexpr Duration kShortestKeepAlive = std::chrono::minutes{1};

std::vector<std::string> problems(const PoolClass& it) {
  const auto where = fmt::format("class '{}'", it.name);
  std::vector<std::string> out;
  const auto say = [&](std::string what) { out.push_back(where + ": " + std::move(what)); };
  if (it.vcpus < 1) say(fmt::format("vcpus is {}; at least 1", it.vcpus));
  if (it.memory_mb < 1) say(fmt::format("memory is {} MiB; at least 1", it.memory_mb));
  if (it.min_nodes < 0 || it.max_nodes < it.min_nodes)
    say(fmt::format("min_nodes is {} and max_nodes {}; 0 ≤ min_nodes ≤ max_nodes", it.min_nodes, it.max_nodes));
  if (it.max_nodes > kMostNodes || it.vcpus > kMostNodes || it.memory_mb > kMostMemory)
    say(fmt::format("max_nodes is {}, vcpus {} and memory {} MiB; at most {}, {} and {}", it.max_nodes, it.vcpus,
                    it.memory_mb, kMostNodes, kMostNodes, kMostMemory));
  const auto more = static_cast<const model::PoolElastic&>(it).problems(where);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace

const PoolClass* Policy::find_class(std::string_view name) const {
  const auto it = std::find_if(classes.begin(), classes.end(), [&](const PoolClass& c) { return c.name == name; });
  return it == classes.end() ? nullptr : &*it;
}

std::vector<std::string> problems(const Policy& policy) {
  std::vector<std::string> out;
  std::set<std::string> names;
  for (const auto& pool_class : policy.classes) {
    if (!names.insert(pool_class.name).second)
      out.push_back(fmt::format("class '{}' is declared twice", pool_class.name));
    const auto wrong = problems(pool_class);
    out.insert(out.end(), wrong.begin(), wrong.end());
  }
  const auto wrong = static_cast<const model::ElasticPolicy&>(policy).problems();
  out.insert(out.end(), wrong.begin(), wrong.end());
  return out;
}

Duration keep_alive_of(const Policy& policy, const PoolClass& pool_class) {
  const std::string& text = pool_class.keep_alive.empty() ? policy.keep_alive : pool_class.keep_alive;
  if (const auto span = parse_duration(text)) return *span;
  return std::max(pool_class.start_time, kShortestKeepAlive);
}

}  // namespace underway::elastic
