#include "base/log.hpp"
#include "base/json/enumerators.hpp"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>

#include "base/json/json.hpp"
#include "base/log_tap.hpp"

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

Level ours(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
      return Level::trace;
    case spdlog::level::debug:
      return Level::debug;
    case spdlog::level::warn:
      return Level::warn;
    case spdlog::level::err:
    case spdlog::level::critical:
      return Level::error;
    default:
      return Level::info;
  }
}

struct Listening {
  const Tap* owner;
  Level lowest;
  std::function<void(const Line&)> take;
};

/// Hands lines to those who listen. Its mutex keeps a listener alive while it is told.
class TapSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void add(Listening entry) {
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
  }
  void remove(const Tap* owner) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const Listening& entry) { return entry.owner == owner; });
  }
  Level lowest(Level otherwise) {
    const std::lock_guard lock(mutex_);
    for (const auto& entry : entries_) otherwise = std::min(otherwise, entry.lowest);
    return otherwise;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (entries_.empty()) return;
    const Line line{std::chrono::time_point_cast<TimePoint::duration>(message.time), ours(message.level),
                    std::string(message.payload.data(), message.payload.size())};
    for (const auto& entry : entries_) {
      if (line.level >= entry.lowest) entry.take(line);
    }
  }
  void flush_() override {}
  std::vector<Listening> entries_;
};

struct Log {
  std::shared_ptr<spdlog::sinks::stderr_sink_mt> stderr_sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  std::shared_ptr<TapSink> taps = std::make_shared<TapSink>();
  spdlog::logger logger{"underway", {stderr_sink, taps}};
  std::mutex mutex;
  Level shown = Level::info;

  Log() {
    logger.set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    show(Level::info);
  }
  void show(Level level) {
    const std::lock_guard lock(mutex);
    shown = level;
    stderr_sink->set_level(native(level));
    logger.set_level(native(taps->lowest(level)));
  }
  /// What somebody listens to is written, whether standard error shows it or not.
  void taps_changed() {
    const std::lock_guard lock(mutex);
    logger.set_level(native(taps->lowest(shown)));
  }
};

/// Never destroyed: whatever ends last may log.
Log& the_log() {
  static Log& log = *new Log;
  return log;
}
spdlog::logger& logger() { return the_log().logger; }

}  // namespace

void set_level(Level level) { the_log().show(level); }

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

std::string text_of(const Line& line) {
  static constexpr std::string_view kMarks[] = {"[TRACE]", "[DEBUG]", "[INFO] ", "[WARN] ", "[ERROR]"};
  static_assert(std::size(kMarks) == kEnumerators<Level>);
  return fmt::format("{} {} {}", format_time_exactly(line.time), kMarks[static_cast<std::size_t>(line.level)],
                     line.message);
}

std::string json_of(const Line& line) {
  std::string out = fmt::format(R"({{"@timestamp":"{}","@level":"{}","@message":)", format_time_exactly(line.time),
                                name_of(line.level));
  json::append_string(out, line.message);
  return out + "}";
}

Tap::Tap(Level lowest, std::function<void(const Line&)> take) {
  the_log().taps->add({this, lowest, std::move(take)});
  the_log().taps_changed();
}

Tap::~Tap() {
  the_log().taps->remove(this);
  the_log().taps_changed();
}

}  // namespace underway::log
