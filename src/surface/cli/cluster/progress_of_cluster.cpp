#include "cli/cluster/progress_of_cluster.hpp"

#include <map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/alloc/failing_tasks.hpp"
#include "cli/context.hpp"
#include "cli/impact/standstill.hpp"

namespace underway::cli {
namespace {

void tell(const wire::Attention& attention) {
  say(paint(Colour::yellow, "! ", 2) + attention.what);
  if (!attention.why.empty()) say("    why: " + attention.why);
  if (!attention.advice.empty()) say("    do:  " + attention.advice);
}

}  // namespace

void show_failures(sdk::Client& client, const wire::Status& status) {
  for (const auto& attention : status.attention) tell(attention);
  FailingTasks failing(client);
  for (const auto& service : status.services) {
    if (service.healthy == service.wanted) continue;
    for (const auto& line : failing.lines(client.job_allocations(service.id))) say(line);
  }
}

std::vector<std::string> progress_lines(const wire::Status& status) {
  std::vector<std::string> lines;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> pools;
  for (const auto& host : status.hosts) {
    auto& [joined, all] = pools[host.pool];
    ++all;
    if (host.stands()) ++joined;
  }
  for (const auto& [pool, counts] : pools) {
    lines.push_back(
        fmt::format("hosts    {:<14} {} {}/{}", pool, bar(counts.first, counts.second), counts.first, counts.second));
  }
  for (const auto& service : status.services) {
    std::string line = fmt::format("service  {:<14} {} {}/{}", service.id, bar(service.healthy, service.wanted),
                                   service.healthy, service.wanted);
    if (!service.waits.empty()) line += "  waits " + service.waits.front();
    lines.push_back(std::move(line));
  }
  return lines;
}

void follow_until_settled(sdk::Client& client, const std::string& cluster, Duration patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  Progress progress;
  Standstill standstill;
  // Short, because a link that comes back changes no table and wakes no query.
  sdk::Wait wait{0, std::chrono::milliseconds(300)};
  while (true) {
    const auto status = client.status(cluster, wait);
    wait.index = status.index;
    progress.draw(progress_lines(status.value));
    if (status.value.settled) break;
    const auto now = std::chrono::steady_clock::now();
    const auto untold = standstill.untold(status.value, now);
    if (!untold.empty()) progress.finish();  // what is said below the bars stays
    for (const auto& attention : untold) tell(attention);
    if (const auto missing = standstill.find_missing_for_good(status.value, now); !missing.empty()) {
      progress.finish();
      throw Error(Code::timeout, fmt::format("cluster '{}' is up but for {}", cluster, join(missing, ", ")))
          .because("nothing moves any more, and waiting longer does not help")
          .advise("see what needs you in `underway status`; then run the same command again");
    }
    if (now < deadline) continue;
    progress.finish();
    show_failures(client, status.value);
    throw Error(Code::timeout, fmt::format("cluster '{}' has not settled within {}", cluster, human_duration(patience)))
        .advise("see `underway status`; run the same command again to go on waiting");
  }
  progress.finish();
}

std::vector<Flag> change_flags(std::vector<Flag> own) {
  own.push_back({"detach", "", "Returns once the change is registered."});
  own.push_back({"timeout", "DURATION", "How long to follow; 5m."});
  own.push_back({"no-wait", "", "Fails when another `up`, `apply` or `down` is at work, instead of waiting for it."});
  return with_variable_flags(std::move(own));
}

std::optional<Duration> patience_of(const Arguments& arguments) {
  const auto text = arguments.get("timeout", "5m");
  const auto patience = parse_duration(text);
  if (!patience) throw Error(Code::invalid, fmt::format("-timeout '{}' is no duration", text)).advise("as in 90s, 5m");
  return arguments.has("detach") ? std::nullopt : patience;
}

void follow_change(sdk::Client& client, const std::string& cluster, std::optional<Duration> patience,
                   std::string_view is_now) {
  if (!patience) return;
  follow_until_settled(client, cluster, *patience);
  say(fmt::format("cluster '{}' {}", cluster, is_now));
}

void follow_until_gone(sdk::Client& client, const std::string& cluster, Duration patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  Progress progress;
  sdk::Wait wait{0, std::chrono::seconds(2)};
  while (std::chrono::steady_clock::now() < deadline) {
    const auto status = client.status(cluster, wait);
    wait.index = status.index;
    if (status.value.clusters.empty()) {
      progress.finish();
      return;
    }
    progress.draw({fmt::format("{}: {} hosts left", cluster, status.value.hosts.size())});
  }
  progress.finish();
  throw Error(Code::timeout, fmt::format("cluster '{}' is not gone after {}", cluster, human_duration(patience)));
}

}  // namespace underway::cli
