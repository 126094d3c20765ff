#pragma once
/// @file
/// Logging, over spdlog, which stays out of this header. One line per event, to standard error:
/// "2026-11-21T11:40:00.123Z info  server: elected". The boundary logs; libraries log at debug only.

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace underway::log {

enum class Level { trace, debug, info, warn, error };

/// Sets the lowest level written. Thread: any.
void set_level(Level level);
/// "trace" … "error", also "warning", in any case; nothing when it is no level.
bool parse_level(std::string_view text, Level& level);
bool enabled(Level level);
/// Writes one line. Thread: any.
void write(Level level, std::string_view message);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::debug)) write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::info)) write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::warn)) write(Level::warn, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::error)) write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace underway::log
