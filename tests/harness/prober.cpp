#include "harness/prober.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace underway::harness {
namespace {

const std::string kProgram = UNDERWAY_BINARY_DIR "/tests/service_prober";

/// The machine's files, the host's network.
std::vector<std::string> in_network_of(const Cluster& cluster, const std::string& host,
                                       std::vector<std::string> arguments) {
  std::vector<std::string> argv{"nsenter", "--net", "--target", std::to_string(cluster.agent_of(host)), kProgram};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

std::vector<std::string> arguments_of(const std::string& file, const std::vector<Probe>& probes,
                                      std::chrono::milliseconds every) {
  std::vector<std::string> out{file, std::to_string(every.count())};
  for (const auto& probe : probes) {
    out.insert(out.end(), {probe.name, probe.kind, probe.address, std::to_string(probe.port)});
  }
  return out;
}

}  // namespace

Prober::Prober(const Cluster& cluster, const std::string& host, const std::vector<Probe>& probes,
               std::chrono::milliseconds every)
    : process_({.argv = in_network_of(cluster, host, arguments_of(directory_.path() + "/readings", probes, every))}) {}

std::map<std::string, Reading> Prober::readings() const {
  std::map<std::string, Reading> out;
  std::istringstream in(read_text(directory_.path() + "/readings"));
  std::string name;
  long long asked = 0, failed = 0, longest = 0, since = 0, value = 0, fell = 0, returned = 0;
  while (in >> name >> asked >> failed >> longest >> since >> value >> fell >> returned) {
    out[name] = {asked, failed,  std::chrono::milliseconds(longest), std::chrono::milliseconds(since), value,
                 fell,  returned};
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

std::string Prober::report() const {
  std::string out;
  for (const auto& [name, reading] : readings()) {
    out += fmt::format("{}: asked {} times, {} without an answer; longest gap {} ms, last answer {} ms ago\n", name,
                       reading.asked, reading.failed, reading.longest.count(), reading.since.count());
  }
  return out;
}

Background serve_echo(const Cluster& cluster, const std::string& host, int port) {
  return Background({.argv = in_network_of(cluster, host, {"serve", std::to_string(port)})});
}

}  // namespace underway::harness
