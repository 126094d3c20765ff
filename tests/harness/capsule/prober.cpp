#include "harness/capsule/prober.hpp"
#include "harness/places.hpp"

#include <fmt/format.h>

#include <signal.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace underway::harness {
namespace {

const std::string kProber = binary_dir() + "/tests/service_prober";

constexpr std::chrono::milliseconds kPatience{5000};

/// The machine's files, the host's network.
std::vector<std::string> in_network_of(const Cluster& cluster, const std::string& host,
                                       std::vector<std::string> arguments) {
  std::vector<std::string> argv{"nsenter", "--net", "--target", std::to_string(cluster.agent_of(host)), kProber};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

std::vector<std::string> arguments_of(const std::string& file, const std::vector<Probe>& probes,
                                      std::chrono::milliseconds every, std::chrono::milliseconds patience) {
  std::vector<std::string> out{file, std::to_string(every.count()), std::to_string(patience.count())};
  for (const auto& probe : probes) {
    out.insert(out.end(), {probe.name, probe.kind, probe.address, std::to_string(probe.port)});
  }
  return out;
}

}  // namespace

Prober::Prober(const Cluster& cluster, const std::string& host, const std::vector<Probe>& probes,
               std::chrono::milliseconds every, std::chrono::milliseconds patience)
    : process_({.argv = in_network_of(cluster, host,
                                      arguments_of(directory_.path() + "/readings", probes, every, patience))}) {}

Prober::Prober(const Cluster& cluster, const std::string& host, const std::vector<Probe>& probes,
               std::chrono::milliseconds every)
    : Prober(cluster, host, probes, every, every < std::chrono::milliseconds(100) ? 2 * every : kPatience) {}

std::map<std::string, Reading> Prober::readings() const {
  std::map<std::string, Reading> out;
  std::istringstream in(read_text(directory_.path() + "/readings"));
  std::string name;
  long long asked = 0, failed = 0, longest = 0, since = 0, late = 0, measurement = 0, value = 0, fell = 0, returned = 0;
  while (in >> name >> asked >> failed >> longest >> since >> late >> measurement >> value >> fell >> returned) {
    using std::chrono::milliseconds;
    out[name] = {.asked = asked,
                 .failed = failed,
                 .longest = milliseconds(longest),
                 .since = milliseconds(since),
                 .late = milliseconds(late),
                 .measurement = measurement,
                 .value = value,
                 .fell = fell,
                 .returned = returned};
  }
  return out;
}

bool Prober::all_answer(std::chrono::seconds limit, long long more) const {
  const auto answered = [](const Reading& reading) { return reading.asked - reading.failed; };
  auto before = readings();
  return eventually(limit, [&] {
    const auto now = readings();
    return !now.empty() && std::ranges::all_of(now, [&](const auto& entry) {
      const auto& [name, reading] = entry;
      return reading.since < std::chrono::seconds(1) && answered(reading) >= answered(before[name]) + more;
    });
  });
}

void Prober::measure_anew() const {
  const auto number = [this] {
    const auto now = readings();
    return now.empty() ? -1 : now.begin()->second.measurement;
  };
  // Before its first reading it may not know the signal yet.
  long long before = -1;
  const bool runs = eventually(std::chrono::seconds(10), [&] { return (before = number()) >= 0; });
  if (runs) process_.signal(SIGUSR1);
  if (!runs || !eventually(std::chrono::seconds(10), [&] { return number() > before; }))
    throw std::runtime_error("the prober does not begin a new measurement\n" + report());
}

std::string Prober::report() const {
  std::string out;
  for (const auto& [name, reading] : readings()) {
    out += fmt::format(
        "{}: asked {} times, {} without an answer; longest gap {} ms, last answer {} ms ago; asked {} ms late at "
        "most\n",
        name, reading.asked, reading.failed, reading.longest.count(), reading.since.count(), reading.late.count());
  }
  return out;
}

Background serve_echo(const Cluster& cluster, const std::string& host, int port) {
  return Background({.argv = in_network_of(cluster, host, {"serve", std::to_string(port)})});
}

}  // namespace underway::harness
