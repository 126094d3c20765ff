#include "cli/impact/standstill.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace underway::cli {
namespace {

constexpr Duration kPassing = std::chrono::seconds(3);
/// Tasks are started again after 15 s unless their job says otherwise, and may take as long to fail anew.
constexpr Duration kStill = std::chrono::seconds(40);

std::string in_words(const wire::Attention& attention) { return attention.what + "\n" + attention.why; }

std::string all_that_moves(const wire::Status& status) {
  std::string text;
  for (const auto& host : status.hosts)
    text += fmt::format("{} {} {}\n", host.name, describe::spell(host.status), host.node_id);
  for (const auto& service : status.services) {
    text += fmt::format("{} {} {} {} {} {}\n", service.id, service.version, service.wanted, service.running,
                        service.healthy, join(service.waits, ";"));
  }
  for (const auto& attention : status.attention) text += in_words(attention) + "\n";
  return text;
}

bool are_there(const std::vector<wire::HostState>& hosts) {
  return std::ranges::all_of(hosts, [](const wire::HostState& host) {
    return host.status == model::HostStatus::running && host.node_status == model::NodeStatus::ready && host.linked;
  });
}

bool is_missing(const wire::ServiceStatus& service) {
  return service.healthy != service.wanted || !service.waits.empty();
}

bool needs_somebody(const wire::Status& status, const wire::ServiceStatus& service) {
  const std::string name = "'" + service.id + "'";
  return std::ranges::any_of(status.attention, [&](const wire::Attention& attention) {
    return attention.what.find(name) != std::string::npos;
  });
}

}  // namespace

std::vector<wire::Attention> Standstill::untold(const wire::Status& status, async::SteadyTime now) {
  std::vector<wire::Attention> out;
  std::map<std::string, async::SteadyTime> seen;
  for (const auto& attention : status.attention) {
    const std::string words = in_words(attention);
    const auto before = seen_.find(words);
    const auto since = before == seen_.end() ? now : before->second;
    seen.emplace(words, since);
    if (now - since >= kPassing && told_.insert(words).second) out.push_back(attention);
  }
  seen_ = std::move(seen);
  return out;
}

std::vector<std::string> Standstill::find_missing_for_good(const wire::Status& status, async::SteadyTime now) {
  std::string moves = all_that_moves(status);
  if (moves != last_) {
    last_ = std::move(moves);
    moved_ = now;
  }
  if (now - moved_ < kStill || !are_there(status.hosts)) return {};
  std::vector<std::string> missing;
  std::set<std::string> explained;
  for (const auto& service : status.services) {
    if (!is_missing(service)) continue;
    missing.push_back(service.id);
    if (needs_somebody(status, service)) explained.insert(service.id);
  }
  for (bool more = true; more;) {
    more = false;
    for (const auto& service : status.services) {
      const bool held = is_missing(service) && std::ranges::any_of(service.depends_on, [&](const std::string& other) {
                          return explained.contains(other);
                        });
      more = (held && explained.insert(service.id).second) || more;
    }
  }
  if (explained.size() != missing.size()) return {};
  return missing;
}

}  // namespace underway::cli
