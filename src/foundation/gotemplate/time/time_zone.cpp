#include "zone/time_zone.hpp"
#include "gotemplate/time/time.hpp"

namespace underway::gotemplate {

std::optional<Instant> in_zone(Instant time, const std::string& zone) {
  if (zone == "Local") {
    time.offset = 0;
    time.zone = "UTC";
    time.local = true;
    return time;
  }
  const auto known = zone::find_time_zone(zone);
  if (!known) return std::nullopt;
  const auto shown = known->at(time.seconds);
  time.offset = static_cast<int>(shown.offset);
  time.zone = shown.abbreviation;
  time.local = false;
  return time;
}

}  // namespace underway::gotemplate
