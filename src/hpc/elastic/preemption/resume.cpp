#include "elastic/preemption/resume.hpp"

#include <algorithm>

namespace underway::elastic {
namespace {

/// Promises that end within so long of each other are alike: otherwise nanoseconds would decide.
constexpr Duration kAlike = std::chrono::minutes{1};

bool suits(const ResumeHost& host, const Sleeper& sleeper) {
  if (host.cpus_free < sleeper.cpus || host.memory_free_mb < sleeper.memory_mb) return false;
  return std::all_of(sleeper.features.begin(), sleeper.features.end(), [&](const std::string& feature) {
    return std::find(host.features.begin(), host.features.end(), feature) != host.features.end();
  });
}

Duration transfer(const Sleeper& sleeper, const ResumeTimes& times) {
  const double seconds =
      static_cast<double>(sleeper.image_bytes) / static_cast<double>(std::max<std::int64_t>(times.bytes_per_second, 1));
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

std::vector<Resume> plan_resumes(const std::vector<Sleeper>& sleepers, const std::vector<ResumeHost>& hosts,
                                 const ResumeTimes& times, const Promises& promises, TimePoint now) {
  std::vector<const Sleeper*> order;
  for (const auto& sleeper : sleepers) order.push_back(&sleeper);
  const auto minutes_left = [&](const Sleeper& sleeper) { return (promises.max_asleep - sleeper.asleep) / kAlike; };
  std::sort(order.begin(), order.end(), [&](const Sleeper* a, const Sleeper* b) {
    const auto x = minutes_left(*a), y = minutes_left(*b);
    if (x != y) return x < y;
    return std::tie(a->since, a->job) < std::tie(b->since, b->job);
  });

  std::vector<ResumeHost> left = hosts;
  std::vector<Resume> out;
  for (const auto* sleeper : order) {
    ResumeHost* best = nullptr;
    Resume plan{sleeper->job, sleeper->host, {}, {}, {}};
    for (auto& host : left) {
      if (!suits(host, *sleeper)) continue;
      const bool home = host.name == sleeper->host;
      const TimePoint works =
          std::max(host.free_at, now) + times.resume + (home ? Duration{0} : transfer(*sleeper, times));
      if (home) plan.instead = works;
      // As soon at home as elsewhere: then nothing is moved. Else the host that it fits most tightly.
      const auto rank = [&](const ResumeHost& it, TimePoint at) {
        return std::tuple(at, it.name != sleeper->host, it.cpus_free, it.name);
      };
      if (best != nullptr && rank(*best, plan.works_at) < rank(host, works)) continue;
      best = &host;
      plan.works_at = works;
    }
    if (best == nullptr) continue;
    best->cpus_free -= sleeper->cpus;
    best->memory_free_mb -= sleeper->memory_mb;
    if (best->free_at > now) continue;  // it waits, and keeps its room there
    plan.to = best->name;
    out.push_back(std::move(plan));
  }
  return out;
}

std::vector<std::string> due(const std::vector<Sleeper>& sleepers, const Promises& promises, Duration margin) {
  std::vector<const Sleeper*> found;
  for (const auto& sleeper : sleepers) {
    if (sleeper.asleep + margin >= promises.max_asleep) found.push_back(&sleeper);
  }
  std::sort(found.begin(), found.end(), [&](const Sleeper* a, const Sleeper* b) {
    return std::tuple(b->asleep, a->since, a->job) < std::tuple(a->asleep, b->since, b->job);
  });
  std::vector<std::string> out;
  for (const auto* sleeper : found) out.push_back(sleeper->job);
  return out;
}

}  // namespace underway::elastic
