#include "elastic/simulate/simulation.hpp"

#include "elastic/detail/replay.hpp"

namespace underway::elastic {

std::vector<std::string> problems(const SimulationSettings& settings) {
  std::vector<std::string> out = problems(settings.policy);
  const auto say = [&](bool wrong, std::string text) {
    if (wrong) out.push_back(std::move(text));
  };
  say(settings.nodes < 0 || settings.nodes > 1'000'000, fmt::format("{} static nodes; 0 to 1000000", settings.nodes));
  say(settings.cpus_per_node < 1, fmt::format("{} processors per static node; at least 1", settings.cpus_per_node));
  say(!parse_money(settings.cost_per_hour), fmt::format("'{}' is no price: write it as 0.35", settings.cost_per_hour));
  say(settings.nodes == 0 && settings.policy.classes.empty(), "neither static nodes nor a class in the policy");
  say(settings.policy.find_class("static") != nullptr, "class 'static': the simulator calls its static nodes so");
  std::int64_t nodes = settings.nodes;
  for (const auto& type : settings.policy.classes) nodes += type.max_nodes;
  say(nodes > 1'000'000, fmt::format("{} nodes in all; at most 1000000", nodes));
  say(!(settings.boot_failures >= 0) || settings.boot_failures > 1,
      fmt::format("{} of all boots fail; 0 to 1", settings.boot_failures));
  return out;
}

PeerReport replay(const Trace& trace, const SimulationSettings& settings, Peer peer) {
  switch (peer) {
    case Peer::fixed:
    case Peer::fixed_all:
      return detail::make_fixed(trace, settings, peer)->run();
    case Peer::power_saving:
      return detail::make_power_saving(trace, settings)->run();
    case Peer::elastic:
      return detail::make_elastic(trace, settings, false)->run();
    case Peer::forecast:
      break;
  }
  return detail::make_elastic(trace, settings, true)->run();
}

SimulationReport simulate(const Trace& trace, const SimulationSettings& settings) {
  SimulationReport out;
  for (const auto peer : {Peer::fixed, Peer::fixed_all, Peer::power_saving, Peer::elastic}) {
    if (peer == Peer::fixed && settings.nodes == 0) continue;
    out.peers.push_back(replay(trace, settings, peer));
  }
  if (settings.policy.forecast.mode == ForecastMode::off) return out;
  PeerReport forecast = replay(trace, settings, Peer::forecast);
  out.forecast = trust_in(out.peers.back(), forecast, settings.policy.forecast);
  out.peers.push_back(std::move(forecast));
  return out;
}

Trust trust_in(const PeerReport& reactive, const PeerReport& forecast, const ForecastPolicy& policy) {
  const auto span = [](double seconds) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  };
  const auto idle = [](const PeerReport& it) { return it.node_hours * (1 - it.utilisation); };
  const Comparison comparison{span(reactive.wait_p95), span(forecast.wait_p95), span(reactive.wait_mean),
                              span(forecast.wait_mean), idle(forecast) - idle(reactive)};
  return judge(comparison, policy);
}

const describe::Enumeration& description(describe::Tag<Peer>) {
  static const auto e = describe::enumeration<Peer>("peer");
  return e;
}

const describe::Structure& description(describe::Tag<PeerReport>) {
  static const describe::Structure s =
      describe::Builder<PeerReport>("peer", "What one way to run the machine meant.")
          .wire<&PeerReport::name>("Name", "fixed, fixed_all, power_saving, elastic or forecast.")
          .wire<&PeerReport::jobs>("Jobs", "Slurm jobs that ended.")
          .wire<&PeerReport::impossible>("Impossible", "Those that no node is large enough for.")
          .wire<&PeerReport::wait_mean>("WaitMean", "Seconds.")
          .wire<&PeerReport::wait_p50>("WaitP50", "Seconds that half of them waited at most.")
          .wire<&PeerReport::wait_p95>("WaitP95", "Seconds that 95 of a hundred waited at most.")
          .wire<&PeerReport::slowdown>("Slowdown", "Mean bounded slowdown.")
          .wire<&PeerReport::urgent_p95>("UrgentP95", "Seconds that 95 of a hundred urgent ones waited at most.")
          .wire<&PeerReport::utilisation>("Utilisation", "Part of the node-hours that jobs used.")
          .wire<&PeerReport::node_hours>("NodeHours", "That were paid for.")
          .wire<&PeerReport::cost>("Cost", "In millionths of the currency.")
          .wire<&PeerReport::boots>("Boots", "Nodes that were started.")
          .wire<&PeerReport::failed_boots>("FailedBoots", "Those that did not come up.")
          .wire<&PeerReport::suspensions>("Suspensions", "Slurm jobs that were put to sleep.")
          .wire<&PeerReport::migrations>("Migrations", "Those that went on elsewhere.")
          .wire<&PeerReport::most_asleep>("MostAsleep", "Seconds that one job slept at most.")
          .wire<&PeerReport::makespan>("Makespan", "Seconds until the last one ended.")
          .wire<&PeerReport::nodes>("Nodes", "Paid for on average, in equal parts of the makespan.")
          .wire<&PeerReport::busy>("Busy", "In use on average.")
          .done();
  return s;
}

const describe::Structure& description(describe::Tag<Trust>) {
  static const describe::Structure s =
      describe::Builder<Trust>("trust", "What a forecast is worth.")
          .wire<&Trust::act>("Act", "Whether it may act.")
          .wire<&Trust::saved_p95>("SavedP95", "Of the wait.")
          .wire<&Trust::saved_per_node_hour>("SavedPerNodeHour", "Seconds of that for each idle node-hour.")
          .wire<&Trust::why>("Why", "In words.")
          .done();
  return s;
}

const describe::Structure& description(describe::Tag<SimulationReport>) {
  static const describe::Structure s =
      describe::Builder<SimulationReport>("simulation", "A trace under different ways to run the same machine.")
          .wire<&SimulationReport::peers>("Peers", "Each way.")
          .wire<&SimulationReport::forecast>("Forecast", "What the forecast is worth on this trace.")
          .done();
  return s;
}

}  // namespace underway::elastic
