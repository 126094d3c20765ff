// Cron expressions, files of time zones and their rules: whatever comes, and what they say of the next moment.
#include <cstdlib>

#include "base/error.hpp"
#include "model/job/cron.hpp"

using namespace underway;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void try_cron(std::string_view text, const model::TimeZone& zone) {
  const TimePoint start{std::chrono::seconds{1'700'000'000}};
  const auto cron = model::Cron::parse(text);
  TimePoint at = start;
  for (int i = 0; i < 3; ++i) {
    const auto next = cron.next(zone, at);
    if (!next) return;
    check(*next > at);
    at = *next;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const auto end = all.find('\0');
  const auto text = all.substr(0, end);
  (void)model::parse_zone_rule(text);
  model::TimeZone zone;
  try {
    if (end != std::string_view::npos) zone = model::TimeZone::parse(all.substr(end + 1));
    for (std::int64_t time = -4'000'000'000; time < 6'000'000'000; time += 700'000'000)
      check(zone.at(time).until > time);
    try_cron(text, zone);
  } catch (const Error&) {
  }
  return 0;
}
