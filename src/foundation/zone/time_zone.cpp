#include "zone/time_zone.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "base/error.hpp"

namespace underway::zone {
namespace {

constexpr std::uintmax_t kMostBytes = 256U << 10;  // the largest file of tzdata 2024a has 3.5 KiB
constexpr std::string_view kDatabase = "/usr/share/zoneinfo/";

/// A name leads to no other place than below the database.
bool is_sound(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '+' || c == '/';
  };
  return !name.empty() && name.size() <= 64 && name.front() != '/' && std::ranges::all_of(name, allowed);
}

std::string path_of(const std::string& name) {
  return name == "Local" ? "/etc/localtime" : std::string(kDatabase) + name;
}

/// cctz keeps each name that it was ever asked for, also of a file that is none: a template could name as many as it
/// likes, so it is asked for those alone that it can read.
bool looks_like_a_zone(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed) || std::filesystem::file_size(path, failed) > kMostBytes)
    return false;
  std::array<char, 4> magic{};
  std::ifstream in(path, std::ios::binary);
  in.read(magic.data(), magic.size());
  return std::string_view(magic.data(), magic.size()) == "TZif";
}

}  // namespace

std::optional<TimeZone> TimeZone::find(const std::string& path) {
  cctz::time_zone zone;
  if (!looks_like_a_zone(path) || !cctz::load_time_zone(path, &zone)) return std::nullopt;
  return TimeZone(zone);
}

TimeZone::Span TimeZone::at(std::int64_t time) const {
  const cctz::time_point<cctz::seconds> moment{cctz::seconds{time}};
  const auto shown = zone_.lookup(moment);
  Span span{shown.offset, shown.abbr, kNever};
  cctz::time_zone::civil_transition next;
  // Up to the next change clocks go by the present offset: so it is told when they stop.
  if (zone_.next_transition(moment, &next)) span.until = (next.from - cctz::civil_second()) - shown.offset;
  return span;
}

std::optional<TimeZone> find_time_zone(const std::string& name) {
  if (name.empty() || name == "UTC") return TimeZone();
  static std::mutex mutex;
  static std::map<std::string, TimeZone> known;
  {
    const std::lock_guard lock(mutex);
    if (const auto it = known.find(name); it != known.end()) return it->second;
  }
  const auto zone = is_sound(name) ? TimeZone::find(path_of(name)) : std::nullopt;
  if (!zone) return std::nullopt;
  const std::lock_guard lock(mutex);
  return known.emplace(name, *zone).first->second;
}

TimeZone get_time_zone(const std::string& name) {
  if (auto zone = find_time_zone(name)) return *std::move(zone);
  const bool there = is_sound(name) && looks_like_a_zone(path_of(name));
  throw Error(Code::invalid, fmt::format("unknown time zone '{}'", name))
      .because(there ? fmt::format("'{}' is broken, or counts leap seconds", path_of(name))
                     : fmt::format("there is no such file below {}", kDatabase))
      .advise("names are those of the package tzdata, as Europe/Zurich")
      .while_doing(fmt::format("reading the time zone '{}'", name));
}

}  // namespace underway::zone
