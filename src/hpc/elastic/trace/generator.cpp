#include "elastic/trace/generator.hpp"

#include <algorithm>
#include <cmath>

#include "elastic/detail/chance.hpp"
#include "elastic/detail/trace_lines.hpp"

namespace underway::elastic {
namespace {

constexpr double kDaySeconds = 86400;
constexpr double kSerial = 0.24, kPowerOfTwo = 0.75;  ///< shares of Lublin and Feitelson
constexpr std::int64_t kLongest = 7 * 86400;

class Generator {
 public:
  explicit Generator(const TraceSettings& settings) : settings_(settings), chance_(settings.seed) {}

  Trace run() {
    const double end = static_cast<double>(settings_.days) * kDaySeconds;
    const double peak = settings_.jobs_per_day / kDaySeconds / mean_activity();
    for (double at = chance_.exponential(peak); at < end; at += chance_.exponential(peak)) {
      if (chance_.happens(activity(at))) add(at, some_cpus(), some_run());
    }
    const double bursts = settings_.bursts_per_day / kDaySeconds;
    if (bursts > 0) {
      for (double at = chance_.exponential(bursts); at < end; at += chance_.exponential(bursts)) burst(at);
    }
    detail::finish(trace_);
    return std::move(trace_);
  }

 private:
  /// Of the busiest moment: nights are a third of the early afternoon, weekends half of the week.
  static double activity(double at) {
    const double hour = std::fmod(at, kDaySeconds) / 3600;
    const double day = std::fmod(at / kDaySeconds, 7.0);
    const double of_day = 0.66 + 0.34 * std::cos((hour - 14) / 24 * 2 * std::numbers::pi);
    return of_day * (day >= 5 ? 0.5 : 1.0);
  }
  /// Of a week.
  static double mean_activity() { return 0.66 * 6 / 7; }

  std::int64_t some_cpus() {
    if (chance_.happens(kSerial)) return 1;
    const std::int64_t largest = std::max<std::int64_t>(settings_.largest_nodes * settings_.cpus_per_node, 1);
    const double exponent = chance_.uniform() * std::log2(static_cast<double>(largest));
    const bool power = chance_.happens(kPowerOfTwo);
    const double cpus = power ? std::exp2(std::round(exponent)) : std::round(std::exp2(exponent));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(cpus), 1, largest);
  }

  std::int64_t some_run() {
    const double run = settings_.median_run * std::exp(settings_.spread * chance_.normal());
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(run), 1, kLongest);
  }

  /// Users ask for a round time that is a few times what they need (Mu'alem and Feitelson 2001).
  std::int64_t limit_of(std::int64_t run) {
    constexpr std::int64_t kRound[] = {900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, kLongest};
    const double asked = static_cast<double>(run) * (1 + 3 * chance_.uniform());
    for (const std::int64_t limit : kRound) {
      if (static_cast<double>(limit) >= asked) return limit;
    }
    return std::max(run, kLongest);
  }

  void add(double at, std::int64_t cpus, std::int64_t run) {
    TraceJob job;
    job.id = std::to_string(++number_);
    job.user = fmt::format("u{}", chance_.below(40));
    job.partition = "batch";
    job.submit = settings_.start + static_cast<std::int64_t>(at);
    job.run = run;
    job.limit = limit_of(run);
    job.cpus = cpus;
    trace_.jobs.push_back(std::move(job));
  }

  void burst(double at) {
    const std::int64_t jobs = 1 + chance_.below(2 * settings_.burst_jobs);
    const std::int64_t cpus = std::min(some_cpus(), settings_.cpus_per_node);
    const std::int64_t run = some_run();
    for (std::int64_t i = 0; i < jobs; ++i) {
      const double longer = 0.8 + 0.4 * chance_.uniform();
      add(at, cpus, std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(run) * longer), 1));
    }
  }

  const TraceSettings& settings_;
  detail::Chance chance_;
  Trace trace_;
  std::int64_t number_ = 0;
};

}  // namespace

Trace generate_trace(const TraceSettings& settings) { return Generator(settings).run(); }

}  // namespace underway::elastic
