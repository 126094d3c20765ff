#pragma once
/// @file
/// Services as a host of the cluster sees them: each is asked again and again, and how long it did not answer is told.
/// The prober is a process in the host's network; it needs neither server nor agent.

#include <map>

#include "harness/cluster.hpp"

namespace underway::harness {

struct Probe {
  std::string name;
  std::string kind;  ///< tcp, held, smtp, ntp, nfs, echo, count (service_prober.cpp)
  std::string address;
  int port = 0;
};

struct Reading {
  long long asked = 0, failed = 0;
  /// Between two answers, but for what the prober itself came too late to its next question: that is no wait of the
  /// service's.
  std::chrono::milliseconds longest{0};
  std::chrono::milliseconds since{0};  ///< the last answer
  std::chrono::milliseconds late{0};   ///< by which the prober came too late, at most
  long long measurement = 0;           ///< counted by measure_anew
  // Of kind count:
  long long value = 0;     ///< the last count
  long long fell = 0;      ///< how far a count was below an earlier one
  long long returned = 0;  ///< how often a process answered after another one had
};

class Prober {
 public:
  /// Runs on `host` until it is destroyed. `cluster` must outlive it. A question waits for its answer with `patience`.
  Prober(const Cluster& cluster, const std::string& host, const std::vector<Probe>& probes,
         std::chrono::milliseconds every, std::chrono::milliseconds patience);
  /// Who asks often gives up soon, after twice `every`: an attempt that hangs would hide when the service is back. For
  /// others it is 5 s: longer than a busy machine keeps a process waiting for its turn, and less than any client's own
  /// (systemd-timesyncd has 10 s, Slurm's MessageTimeout is 10 s). What comes late is in the longest gap; a datagram
  /// that is lost stays lost.
  Prober(const Cluster& cluster, const std::string& host, const std::vector<Probe>& probes,
         std::chrono::milliseconds every = std::chrono::milliseconds(100));

  std::map<std::string, Reading> readings() const;
  /// True once every service has answered within the last second, `more` times more than now; at most `limit` is
  /// waited for that.
  bool all_answer(std::chrono::seconds limit, long long more = 5) const;
  /// `longest` and `late` count from here: what ended before is in neither.
  void measure_anew() const;
  /// The readings as a table, for the text of a failure.
  std::string report() const;

 private:
  TemporaryDirectory directory_;
  Background process_;
};

/// Echoes on `port` of a host, for probes of kind echo.
Background serve_echo(const Cluster& cluster, const std::string& host, int port);

}  // namespace underway::harness
