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
  std::chrono::milliseconds longest{0};  ///< between two answers
  std::chrono::milliseconds since{0};    ///< the last answer
  // Of kind count:
  long long value = 0;     ///< the last count
  long long fell = 0;      ///< how far a count was below an earlier one
  long long returned = 0;  ///< how often a process answered after another one had
};

class Prober {
 public:
  /// Runs on `host` until it is destroyed. `cluster` must outlive it.
  Prober(const Cluster& cluster, const std::string& host, const std::vector<Probe>& probes,
         std::chrono::milliseconds every = std::chrono::milliseconds(100));

  std::map<std::string, Reading> readings() const;
  /// True once every service has answered within the last second, `more` times more than now; at most `limit` is
  /// waited for that.
  bool all_answer(std::chrono::seconds limit, long long more = 5) const;
  /// The readings as a table, for the text of a failure.
  std::string report() const;

 private:
  TemporaryDirectory directory_;
  Background process_;
};

/// Echoes on `port` of a host, for probes of kind echo.
Background serve_echo(const Cluster& cluster, const std::string& host, int port);

}  // namespace underway::harness
