// What Slurm is told about the reservations of hosts.
#include "base/log.hpp"
#include "base/text.hpp"
#include "growth/growth.hpp"

namespace underway::growth {

using async::awaitable;

/// After what is ours was written down: whoever dies in between knows it again.
awaitable<void> Growth::reserve(std::string cluster, slurm::Place place, std::map<std::string, slurm::Command> steps) {
  auto refused = std::move(known_[cluster].refused);
  std::erase_if(refused, [&](const auto& it) { return !steps.contains(it.first); });
  for (auto& [name, words] : steps) {
    const auto before = refused.find(name);
    const bool same = before != refused.end() && before->second.words == words;
    if (same && async::LoopClock::now() < before->second.next) continue;
    try {
      co_await command(place, words);
      log::info("elastic: reservation {} of cluster {}: `{}`", name, cluster, join(words, " "));
      refused.erase(name);
    } catch (const Error& error) {
      const auto what =
          fmt::format("elastic: Slurm does not have reservation {} of cluster {} as declared", name, cluster);
      auto& it =
          refused
              .try_emplace(
                  name,
                  Refused{{}, async::Streak(server_.clock(), what, async::RetryPolicy::up_to(options_.patience)), {}})
              .first->second;
      it.words = std::move(words);
      it.next = async::LoopClock::now() + it.streak.failed(error.one_line());
    }
  }
  auto& known = known_[cluster];
  for (const auto& [name, it] : refused)
    known.status.lines.push_back(
        fmt::format("reservation '{}' is not in Slurm as declared: {}", name, it.streak.why()));
  known.refused = std::move(refused);
}

}  // namespace underway::growth
