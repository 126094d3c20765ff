#include "model/elastic/policy.hpp"

#include <fmt/format.h>

namespace underway::model {
namespace {

constexpr std::string_view kSkiRental = "ski_rental";
/// Room that comes back later than that nobody waits for.
constexpr Duration kLongestNotice = std::chrono::hours{24};

class PolicyCheck {
 public:
  explicit PolicyCheck(const ElasticPolicy& policy) : policy_(policy) {}

  std::vector<std::string> run() {
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
    if (!is_keep_alive(policy_.keep_alive))
      say("keep_alive is '{}'; write ski_rental, or a duration as 10m", policy_.keep_alive);
    money("budget: day", policy_.budget.day);
    money("budget: month", policy_.budget.month);
    check(policy_.forecast);
    if (policy_.promises.notice < Duration{0} || policy_.promises.notice > kLongestNotice)
      say("promises: notice is {}; at most {}", human_duration(policy_.promises.notice),
          human_duration(kLongestNotice));
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
  void check(const ForecastPolicy& it) {
    if (it.step <= Duration{0} || it.season < it.step || it.season.count() % std::max<std::int64_t>(it.step.count(), 1))
      say("forecast: season is {} and step {}; the first is a multiple of the second", human_duration(it.season),
          human_duration(it.step));
    if (!(it.weight > 0) || it.weight > 1) say("forecast: weight is {}; more than 0, at most 1", it.weight);
    if (!(it.never_worse >= 0)) say("forecast: never_worse is {}; 0 or more", it.never_worse);
  }

  const ElasticPolicy& policy_;
  std::vector<std::string> problems_;
};

}  // namespace

bool is_keep_alive(std::string_view text) {
  if (text.empty() || text == kSkiRental) return true;
  const auto span = parse_duration(text);
  return span && *span >= Duration{0};
}

std::vector<std::string> ElasticPolicy::problems() const { return PolicyCheck(*this).run(); }

std::vector<std::string> PoolElastic::problems(const std::string& where) const {
  std::vector<std::string> out;
  const auto say = [&](std::string what) { out.push_back(where + ": " + std::move(what)); };
  if (!parse_money(cost_per_hour))
    say(fmt::format("cost_per_hour is '{}', which is no amount: write it as 0.35", cost_per_hour));
  if (start_time <= Duration{0} || boot_timeout < start_time)
    say(fmt::format("start_time is {} and boot_timeout {}; longer than 0, and the second not shorter",
                    human_duration(start_time), human_duration(boot_timeout)));
  if (up_to_nodes < 0) say(fmt::format("up_to_nodes is {}; 0 or more", up_to_nodes));
  if (!is_keep_alive(keep_alive))
    say(fmt::format("keep_alive is '{}'; write ski_rental, or a duration as 10m", keep_alive));
  return out;
}

}  // namespace underway::model
