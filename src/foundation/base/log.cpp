#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cctype>

namespace underway::log {
namespace {

spdlog::level::level_enum native(Level level) {
  switch (level) {
    case Level::trace:
      return spdlog::level::trace;
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("underway", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    made->set_level(spdlog::level::info);
    return made;
  }();
  return *instance;
}

}  // namespace

void set_level(Level level) { logger().set_level(native(level)); }

bool parse_level(std::string_view text, Level& level) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower == "trace")
    level = Level::trace;
  else if (lower == "debug")
    level = Level::debug;
  else if (lower == "info")
    level = Level::info;
  else if (lower == "warn" || lower == "warning")
    level = Level::warn;
  else if (lower == "error" || lower == "err")
    level = Level::error;
  else
    return false;
  return true;
}

bool enabled(Level level) { return logger().should_log(native(level)); }

void write(Level level, std::string_view message) { logger().log(native(level), message); }

}  // namespace underway::log
