#include "elastic/policy.hpp"

#include <algorithm>
#include <set>

namespace underway::elastic {
namespace {

constexpr std::string_view kSkiRental = "ski_rental";
/// More is a mistake, and would not fit what is computed of it.
constexpr std::int64_t kMostNodes = 1'000'000, kMostMemory = std::int64_t{1} << 30;
constexpr Duration kShortestKeepAlive = std::chrono::minutes{1};

class PolicyCheck {
 public:
  explicit PolicyCheck(const Policy& policy) : policy_(policy) {}

  std::vector<std::string> run() {
    for (const auto& pool_class : policy_.classes) check(pool_class);
    for (const auto& threshold : policy_.thresholds) {
      if (threshold.jobs < 1 || threshold.minutes < 0)
        say("threshold: jobs = {} and minutes = {}; at least 1 and 0", threshold.jobs, threshold.minutes);
    }
    if (!(policy_.boot_rate > 0) || policy_.boot_rate > 1000)
      say("boot_rate is {}; more than 0, at most 1000 in a second", policy_.boot_rate);
    if (policy_.boot_burst < 1) say("boot_burst is {}; at least 1", policy_.boot_burst);
    if (policy_.breaker.failures < 1) say("breaker: failures is {}; at least 1", policy_.breaker.failures);
    positive("gang_deadline", policy_.gang_deadline);
    positive("backoff", policy_.backoff);
    positive("breaker: window", policy_.breaker.window);
    positive("breaker: cooldown", policy_.breaker.cooldown);
    if (policy_.max_backoff < policy_.backoff)
      say("max_backoff ({}) is shorter than backoff ({})", human_duration(policy_.max_backoff),
          human_duration(policy_.backoff));
    if (policy_.max_nodes < 0) say("max_nodes is {}; 0 or more", policy_.max_nodes);
    keep_alive("keep_alive", policy_.keep_alive);
    money("budget: day", policy_.budget.day);
    money("budget: month", policy_.budget.month);
    check(policy_.forecast);
    if (policy_.promises.max_suspensions < 0 || policy_.promises.max_asleep < Duration{0})
      say("promises: max_suspensions is {} and max_asleep {}; 0 or more", policy_.promises.max_suspensions,
          human_duration(policy_.promises.max_asleep));
    return std::move(problems_);
  }

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> text, Args&&... args) {
    problems_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }
  void positive(std::string_view name, Duration value) {
    if (value <= Duration{0}) say("{} is {}; longer than 0", name, human_duration(value));
  }
  void money(std::string_view name, const std::string& text) {
    if (!text.empty() && !parse_money(text)) say("{} is '{}', which is no amount: write it as 120.50", name, text);
  }
  void keep_alive(std::string_view name, const std::string& text) {
    if (text.empty() || text == kSkiRental) return;
    const auto span = parse_duration(text);
    if (!span || *span < Duration{0}) say("{} is '{}'; write ski_rental, or a duration as 10m", name, text);
  }

  void check(const PoolClass& it) {
    if (!names_.insert(it.name).second) say("class '{}' is declared twice", it.name);
    if (it.vcpus < 1) say("class '{}': vcpus is {}; at least 1", it.name, it.vcpus);
    if (it.memory_mb < 1) say("class '{}': memory is {} MiB; at least 1", it.name, it.memory_mb);
    if (it.min_nodes < 0 || it.max_nodes < it.min_nodes)
      say("class '{}': min_nodes is {} and max_nodes {}; 0 ≤ min_nodes ≤ max_nodes", it.name, it.min_nodes,
          it.max_nodes);
    if (it.max_nodes > kMostNodes || it.vcpus > kMostNodes || it.memory_mb > kMostMemory)
      say("class '{}': max_nodes is {}, vcpus {} and memory {} MiB; at most {}, {} and {}", it.name, it.max_nodes,
          it.vcpus, it.memory_mb, kMostNodes, kMostNodes, kMostMemory);
    if (!parse_money(it.cost_per_hour))
      say("class '{}': cost_per_hour is '{}', which is no amount: write it as 0.35", it.name, it.cost_per_hour);
    if (it.start_time <= Duration{0} || it.boot_timeout < it.start_time)
      say("class '{}': start_time is {} and boot_timeout {}; longer than 0, and the second not shorter", it.name,
          human_duration(it.start_time), human_duration(it.boot_timeout));
    keep_alive(fmt::format("class '{}': keep_alive", it.name), it.keep_alive);
  }

  void check(const ForecastPolicy& it) {
    if (it.step <= Duration{0} || it.season < it.step || it.season.count() % std::max<std::int64_t>(it.step.count(), 1))
      say("forecast: season is {} and step {}; the first is a multiple of the second", human_duration(it.season),
          human_duration(it.step));
    if (!(it.weight > 0) || it.weight > 1) say("forecast: weight is {}; more than 0, at most 1", it.weight);
    if (!(it.never_worse >= 0)) say("forecast: never_worse is {}; 0 or more", it.never_worse);
  }

  const Policy& policy_;
  std::set<std::string> names_;
  std::vector<std::string> problems_;
};

}  // namespace

const PoolClass* Policy::find_class(std::string_view name) const {
  const auto it = std::find_if(classes.begin(), classes.end(), [&](const PoolClass& c) { return c.name == name; });
  return it == classes.end() ? nullptr : &*it;
}

std::vector<std::string> problems(const Policy& policy) { return PolicyCheck(policy).run(); }

Duration keep_alive_of(const Policy& policy, const PoolClass& pool_class) {
  const std::string& text = pool_class.keep_alive.empty() ? policy.keep_alive : pool_class.keep_alive;
  if (const auto span = parse_duration(text); span && text != kSkiRental) return *span;
  return std::max(pool_class.start_time, kShortestKeepAlive);
}

}  // namespace underway::elastic
