#pragma once
/// @file
/// What /v1/metrics tells, and how: every metric is a line of one table, from which come its help text, the reference
/// page and the test that asks for what dashboards ask for. Names, units and labels are Nomad's wherever it has the
/// thing; what Nomad has and this is not (Raft, gossip, RPC) has no line, and no number that would only look like one.
///
/// Two forms: JSON as go-metrics' DisplayMetrics, and Prometheus' text exposition format 0.0.4.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/timing.hpp"

namespace underway::api {

enum class MetricKind {
  gauge,
  counter,  ///< since the agent was started
  sample,   ///< times: count, sum, and quantiles of the newest
};

struct MetricInfo {
  std::string_view name;  ///< "nomad.client.uptime"
  MetricKind kind;
  std::string_view unit;
  std::string_view labels;  ///< of which a caller who may not read what they name sees none
  std::string_view help;
};

std::span<const MetricInfo> known_metrics();
/// "nomad.client.uptime" as "nomad_client_uptime".
std::string prometheus_name(std::string_view name);

/// Names and values, sorted by name. Shared by all that have the same.
using Labels = std::vector<std::pair<std::string_view, std::string>>;
using LabelsPtr = std::shared_ptr<const Labels>;
LabelsPtr labels(Labels those);

/// Collects what is told. Each name is one of known_metrics(), of that kind.
class Exposition {
 public:
  Exposition();
  void gauge(std::string_view name, double value, LabelsPtr labels = {});
  void counter(std::string_view name, double value, LabelsPtr labels = {});
  /// `scale`: in what the metric counts seconds: 1000 for ms.
  void sample(std::string_view name, const Timing& timing, double scale, LabelsPtr labels = {});

  std::string prometheus() const;
  /// `up`: since when counters count.
  std::string json(TimePoint now, Duration up) const;

 private:
  struct Series {
    LabelsPtr labels;
    double value = 0;
    std::shared_ptr<const Timing> timing = {};
    double scale = 1;
  };
  std::vector<Series>& series_of(std::string_view name, MetricKind kind);
  std::string list(MetricKind kind, double up) const;

  std::vector<std::vector<Series>> series_;  ///< by place in known_metrics()
};

/// The page docs/reference/metrics.md.
std::string metrics_reference();

}  // namespace underway::api
