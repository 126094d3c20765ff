// Metrics written down: for Prometheus, and as JSON.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "api/operator/metrics.hpp"
#include "base/error.hpp"

namespace underway::api {
namespace {

constexpr double kQuantiles[] = {0.5, 0.9, 0.99};  // those of go-metrics' sink for Prometheus

const std::unordered_map<std::string_view, std::size_t>& places() {
  static const auto map = [] {
    std::unordered_map<std::string_view, std::size_t> out;
    for (const auto& metric : known_metrics()) out.emplace(metric.name, out.size());
    return out;
  }();
  return map;
}

std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

/// {a="x",b="y"}; `more` comes last. Nothing where there is neither.
std::string in_braces(const LabelsPtr& labels, const std::string& more = {}) {
  std::string out;
  const auto add = [&out](std::string_view text) { (out += out.empty() ? "{" : ",") += text; };
  if (labels)
    for (const auto& [name, value] : *labels) add(fmt::format("{}=\"{}\"", name, escaped(value)));
  if (!more.empty()) add(more);
  return out.empty() ? out : out + "}";
}

std::string quoted(std::string_view text) { return boost::json::serialize(boost::json::string_view(text)); }

std::string as_object(const LabelsPtr& labels) {
  std::string out = "{";
  if (labels) {
    for (const auto& [name, value] : *labels)
      out += fmt::format("{}{}:{}", out.size() > 1 ? "," : "", quoted(name), quoted(value));
  }
  return out + "}";
}

/// As Go writes a time, which go-metrics does.
std::string go_time(TimePoint now) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} +0000 UTC",
                     fmt::gmtime(static_cast<std::time_t>(unix_nanos(now) / 1'000'000'000)));
}

}  // namespace

std::string prometheus_name(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '.', '_');
  return out;
}

LabelsPtr labels(Labels those) {
  std::sort(those.begin(), those.end());
  return std::make_shared<const Labels>(std::move(those));
}

Exposition::Exposition() : series_(known_metrics().size()) {}

std::vector<Exposition::Series>& Exposition::series_of(std::string_view name, MetricKind kind) {
  const auto at = places().find(name);
  if (at == places().end() || known_metrics()[at->second].kind != kind)
    throw Error(Code::internal, fmt::format("'{}' is no such metric", name));
  return series_[at->second];
}

void Exposition::gauge(std::string_view name, double value, LabelsPtr labels) {
  series_of(name, MetricKind::gauge).push_back({std::move(labels), value});
}

void Exposition::counter(std::string_view name, double value, LabelsPtr labels) {
  series_of(name, MetricKind::counter).push_back({std::move(labels), value});
}

void Exposition::sample(std::string_view name, const Timing& timing, double scale, LabelsPtr labels) {
  series_of(name, MetricKind::sample).push_back({std::move(labels), 0, std::make_shared<const Timing>(timing), scale});
}

std::string Exposition::prometheus() const {
  std::string text;
  for (std::size_t i = 0; i < series_.size(); ++i) {
    if (series_[i].empty()) continue;
    const MetricInfo& info = known_metrics()[i];
    std::string name = prometheus_name(info.name);
    // Ours as Prometheus wants it; Nomad's as go-metrics writes them.
    if (info.kind == MetricKind::counter && info.name.starts_with("underway.")) name += "_total";
    const char* type = info.kind == MetricKind::gauge     ? "gauge"
                       : info.kind == MetricKind::counter ? "counter"
                                                          : "summary";
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, info.help, type);
    for (const auto& series : series_[i]) {
      if (!series.timing) {
        text += fmt::format("{}{} {}\n", name, in_braces(series.labels), series.value);
        continue;
      }
      for (const double share : kQuantiles)
        text += fmt::format("{}{} {}\n", name, in_braces(series.labels, fmt::format("quantile=\"{}\"", share)),
                            series.timing->quantile(share) * series.scale);
      const std::string braces = in_braces(series.labels);
      text += fmt::format("{0}_sum{1} {2}\n{0}_count{1} {3}\n", name, braces, series.timing->sum * series.scale,
                          series.timing->count);
    }
  }
  return text;
}

/// A counter is a sample of ones, as Nomad's clients read it. How many they are is an integer there, and Go's client
/// refuses the whole answer otherwise: seconds that were counted are rounded up, and exact in their sum.
std::string Exposition::list(MetricKind kind, double up) const {
  std::string out;
  for (std::size_t i = 0; i < series_.size(); ++i) {
    const MetricInfo& info = known_metrics()[i];
    if (info.kind != kind) continue;
    for (const auto& series : series_[i]) {
      out += out.empty() ? "" : ",";
      out += fmt::format(R"({{"Name":{},"Labels":{},)", quoted(info.name), as_object(series.labels));
      if (kind == MetricKind::gauge) {
        out += fmt::format(R"("Value":{}}})", series.value);
        continue;
      }
      const Timing* t = series.timing.get();
      const double k = series.scale, sum = t != nullptr ? t->sum * k : series.value;
      const double some = series.value > 0 ? 1 : 0;
      const auto count = t != nullptr ? t->count : static_cast<std::uint64_t>(std::ceil(series.value));
      out += fmt::format(R"("Count":{},"Rate":{},"Sum":{},"SumSq":{},"Min":{},"Max":{},"Mean":{},"Stddev":{}}})", count,
                         up > 0 ? sum / up : 0.0, sum, t != nullptr ? t->sum_of_squares * k * k : series.value,
                         t != nullptr ? t->least * k : some, t != nullptr ? t->most * k : some,
                         t != nullptr ? t->mean() * k : some, t != nullptr ? t->deviation() * k : 0.0);
    }
  }
  return out;
}

std::string Exposition::json(TimePoint now, Duration up) const {
  const double seconds = std::chrono::duration<double>(up).count();
  return fmt::format(R"({{"Timestamp":{},"Gauges":[{}],"Points":[],"Counters":[{}],"Samples":[{}]}})",
                     quoted(go_time(now)), list(MetricKind::gauge, seconds), list(MetricKind::counter, seconds),
                     list(MetricKind::sample, seconds));
}

}  // namespace underway::api
