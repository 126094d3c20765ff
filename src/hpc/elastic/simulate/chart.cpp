#include <algorithm>
#include <cmath>

#include "elastic/simulate/simulation.hpp"

namespace underway::elastic {
namespace {

constexpr std::size_t kNameWidth = 13;

std::string span(double seconds) {
  return human_duration(std::chrono::duration_cast<Duration>(std::chrono::milliseconds(std::llround(seconds * 1000))));
}

std::string table(const SimulationReport& report) {
  std::string out =
      fmt::format("{:<{}} {:>7} {:>9} {:>9} {:>9} {:>9} {:>6} {:>10} {:>11} {:>6}\n", "", kNameWidth, "jobs",
                  "wait p50", "wait p95", "mean", "slowdown", "util", "node-hours", "cost", "boots");
  for (const auto& it : report.peers)
    out += fmt::format("{:<{}} {:>7} {:>9} {:>9} {:>9} {:>9.2f} {:>5.1f}% {:>10.1f} {:>11} {:>6}\n", it.name,
                       kNameWidth, it.jobs, span(it.wait_p50), span(it.wait_p95), span(it.wait_mean), it.slowdown,
                       it.utilisation * 100, it.node_hours, format_money((it.cost + 5000) / 10000 * 10000), it.boots);
  return out;
}

/// Logarithmic: a wait of seconds and one of hours are both to be seen.
std::string bars(const SimulationReport& report, std::size_t width) {
  double most = 1;
  for (const auto& it : report.peers) most = std::max(most, it.wait_p95);
  const std::size_t room = width > kNameWidth + 16 ? width - kNameWidth - 16 : 10;
  std::string out = "wait p95 (each step to the right is longer by the same factor)\n";
  for (const auto& it : report.peers) {
    const double share = std::log1p(it.wait_p95) / std::log1p(most);
    const auto length = static_cast<std::size_t>(std::lround(share * static_cast<double>(room)));
    out += fmt::format("{:<{}} {:#<{}} {}\n", it.name, kNameWidth, "", length, span(it.wait_p95));
  }
  return out;
}

std::string timeline(const std::vector<double>& values, double most, std::size_t width) {
  constexpr const char* kLevels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string out;
  for (std::size_t i = 0; i < width && !values.empty(); ++i) {
    const std::size_t from = i * values.size() / width, to = std::max(from + 1, (i + 1) * values.size() / width);
    double sum = 0;
    for (std::size_t at = from; at < to && at < values.size(); ++at) sum += values[at];
    const double level = sum / static_cast<double>(to - from) / most;
    out += kLevels[std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(level * 8 - 1e-9)), 0, 8)];
  }
  return out;
}

std::string timelines(const SimulationReport& report, std::size_t width) {
  double most = 1e-9;
  for (const auto& it : report.peers) {
    for (const double nodes : it.nodes) most = std::max(most, nodes);
  }
  const std::size_t room = width > kNameWidth + 12 ? width - kNameWidth - 2 : 10;
  std::string out = fmt::format("nodes that are paid for, and below them those that are in use, of {:.0f}\n", most);
  for (const auto& it : report.peers) {
    out += fmt::format("{:<{}} {}\n", it.name, kNameWidth, timeline(it.nodes, most, room));
    out += fmt::format("{:<{}} {}\n", "", kNameWidth, timeline(it.busy, most, room));
  }
  return out;
}

}  // namespace

std::string chart(const SimulationReport& report, std::size_t width) {
  std::string out = table(report);
  for (const auto& it : report.peers) {
    if (it.impossible > 0) out += fmt::format("{}: {} jobs are too large for every node\n", it.name, it.impossible);
    if (it.failed_boots > 0) out += fmt::format("{}: {} of {} boots failed\n", it.name, it.failed_boots, it.boots);
    if (it.suspensions > 0)
      out += fmt::format(
          "{}: {} suspensions, {} went on elsewhere, one job slept for {} at most; urgent jobs waited {} (p95)\n",
          it.name, it.suspensions, it.migrations, span(it.most_asleep), span(it.urgent_p95));
  }
  if (report.forecast) out += fmt::format("forecast: {}\n", report.forecast->why);
  return out + "\n" + bars(report, width) + "\n" + timelines(report, width);
}

}  // namespace underway::elastic
