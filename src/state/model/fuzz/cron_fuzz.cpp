// Cron expressions: whatever comes, and what they say of the next moment in a zone whose clocks are set twice a year.
#include <cstdlib>

#include "base/error.hpp"
#include "model/job/cron.hpp"

using namespace underway;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void try_cron(std::string_view text, const zone::TimeZone& zone) {
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
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    try_cron(text, zone::find_time_zone("Europe/Zurich").value_or(zone::TimeZone()));
  } catch (const Error&) {
  }
  return 0;
}
