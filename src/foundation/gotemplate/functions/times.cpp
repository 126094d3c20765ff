// Times, Sprig's. All are in UTC.
#include "base/error.hpp"
#include "gotemplate/detail/library.hpp"
#include "gotemplate/detail/literal.hpp"
#include "gotemplate/detail/time.hpp"

#include <array>

namespace underway::gotemplate::detail {

namespace {

using namespace std::chrono;

/// Go's time.Time.
class Time final : public Object {
 public:
  explicit Time(TimePoint time) : time_(time) {}
  TimePoint time() const { return time_; }

  std::string_view type_name() const override { return "time.Time"; }
  std::string text() const override { return format_layout(time_, "2006-01-02 15:04:05.999999999 -0700 MST"); }
  Value plain() const override { return {format_time_exactly(time_)}; }
  std::vector<std::string> member_names() const override {
    return {"Format", "Unix",   "UnixNano", "Year",    "Month",   "Day",
            "Hour",   "Minute", "Second",   "Weekday", "YearDay", "UTC"};
  }
  bool takes_arguments(std::string_view name) const override { return name == "Format"; }

  std::optional<Value> member(std::string_view name, std::span<const Value> arguments) const override {
    if (name == "Format") {
      if (arguments.size() != 1 || !arguments[0].is_text()) throw Error(Code::invalid, "Format takes a layout");
      return Value(format_layout(time_, arguments[0].as_text()));
    }
    if (name == "Unix") return Value::int64(floor<seconds>(time_).time_since_epoch().count());
    if (name == "UnixNano") return Value::int64(unix_nanos(time_));
    if (name == "UTC") return time_value(time_);
    struct Field {
      std::string_view name;
      std::string_view layout;
    };
    for (const auto& [field, layout] : {Field{"Month", "January"}, Field{"Weekday", "Monday"}})
      if (name == field) return Value(format_layout(time_, layout));
    for (const auto& [field, layout] : {Field{"Year", "2006"}, Field{"Day", "2"}, Field{"Hour", "15"},
                                        Field{"Minute", "4"}, Field{"Second", "5"}, Field{"YearDay", "002"}})
      if (name == field) return Value(parse_integer(format_layout(time_, layout), 10).value_or(0));
    return std::nullopt;
  }

 private:
  TimePoint time_;
};

/// Times and spans end where 64 bits of nanoseconds do.
Duration saturated(std::int64_t a, std::int64_t b, bool minus) {
  std::int64_t out = 0;
  const bool beyond = minus ? __builtin_sub_overflow(a, b, &out) : __builtin_add_overflow(a, b, &out);
  if (!beyond) return Duration{out};
  return Duration{a < 0 ? INT64_MIN + 1 : INT64_MAX};
}
Duration between(TimePoint later, TimePoint earlier) { return saturated(unix_nanos(later), unix_nanos(earlier), true); }

/// As Sprig: what is no time is now.
TimePoint time_or_now(const Value& value, Run& run) {
  const auto time = time_of(value);
  return time ? *time : run.now();
}

TimePoint needed(const Value& value) {
  if (const auto time = time_of(value)) return *time;
  throw Error(Code::invalid, fmt::format("wrong type for value; expected time.Time; got {}", value.type_name()));
}

void check_zone(std::string_view zone) {
  if (zone.empty() || zone == "UTC" || zone == "Local" || zone == "GMT") return;
  throw Error(Code::unsupported, fmt::format("the time zone '{}' is not offered", zone)).advise("use \"UTC\"");
}

Value in_zone(const Call& call, std::string_view layout, const Value& time, std::string_view zone) {
  check_zone(zone);
  return format_layout(time_or_now(time, call.run), layout);
}

Value modify(const Call& call) {
  const auto by = parse_duration(call.text(0));
  if (!by) throw Error(Code::invalid, "time: invalid duration");
  return time_value(TimePoint{saturated(unix_nanos(needed(call[1])), by->count(), false)});
}

Value to_date(const Call& call) {
  const auto time = parse_layout(call.text(1), call.text(0));
  if (!time) throw Error(Code::invalid, "the text is no time in this layout");
  return time_value(*time);
}

/// "3h", "2d", "5mo": the largest unit only.
Value duration_round(const Call& call) {
  Duration span{};
  if (call[0].is_text())
    span = parse_duration(call.text(0)).value_or(Duration{});
  else if (call[0].kind() == Kind::integer)
    span = Duration{call[0].as_integer()};
  else if (const auto time = time_of(call[0]))
    span = between(call.run.now(), *time);
  const std::uint64_t size =
      span.count() < 0 ? 0 - static_cast<std::uint64_t>(span.count()) : static_cast<std::uint64_t>(span.count());
  struct Unit {
    std::uint64_t seconds;
    std::string_view name;
  };
  constexpr std::array<Unit, 6> kUnits = {
      {{31'536'000, "y"}, {2'592'000, "mo"}, {86'400, "d"}, {3'600, "h"}, {60, "m"}, {1, "s"}}};
  for (const auto& [length, name] : kUnits)
    if (size > length * 1'000'000'000) return fmt::format("{}{}", size / (length * 1'000'000'000), name);
  return "0s";
}

Value duration_text(const Call& call) {
  const std::int64_t count = call[0].is_text()                 ? parse_integer(call.text(0), 10).value_or(0)
                             : call[0].kind() == Kind::integer ? call[0].as_integer()
                                                               : 0;
  constexpr std::int64_t kLongest = INT64_MAX / 1'000'000'000;
  return format_duration(seconds{std::clamp(count, -kLongest, kLongest)});
}

}  // namespace

Value time_value(TimePoint time) { return Value::object(std::make_shared<Time>(time)); }

std::optional<TimePoint> time_of(const Value& value) {
  if (value.kind() == Kind::object) {
    if (const auto* time = dynamic_cast<const Time*>(&value.as_object())) return time->time();
    return std::nullopt;
  }
  constexpr std::int64_t kLongest = INT64_MAX / 1'000'000'000;
  if (value.kind() != Kind::integer) return std::nullopt;
  return TimePoint{seconds{std::clamp(value.as_integer(), -kLongest, kLongest)}};
}

std::vector<Function> time_functions() {
  constexpr Origin kSprig = Origin::sprig;
  return {
      {"now", "", "The time; .Format, .Unix, .Year and so on.", kSprig,
       [](const Call& c) { return time_value(c.run.now()); }},
      {"date", "layout string, time any", "The time in Go's layout, in UTC; seconds since 1970 are a time too.", kSprig,
       [](const Call& c) { return in_zone(c, c.text(0), c[1], "UTC"); }},
      {"dateInZone", "layout string, time any, zone string", "date; zones other than UTC are refused.", kSprig,
       [](const Call& c) { return in_zone(c, c.text(0), c[1], c.text(2)); }},
      {"date_in_zone", "layout string, time any, zone string", "dateInZone by its old name.", kSprig,
       [](const Call& c) { return in_zone(c, c.text(0), c[1], c.text(2)); }},
      {"htmlDate", "time any", "As 2006-01-02.", kSprig,
       [](const Call& c) { return in_zone(c, "2006-01-02", c[0], "UTC"); }},
      {"htmlDateInZone", "time any, zone string", "htmlDate; zones other than UTC are refused.", kSprig,
       [](const Call& c) { return in_zone(c, "2006-01-02", c[0], c.text(1)); }},
      {"dateModify", "span string, time any", "The time and the span, which may be negative: \"-1.5h\".", kSprig,
       modify},
      {"date_modify", "span string, time any", "dateModify by its old name.", kSprig, modify},
      {"mustDateModify", "span string, time any", "As dateModify.", kSprig, modify},
      {"must_date_modify", "span string, time any", "As dateModify.", kSprig, modify},
      {"toDate", "layout string, text string", "The time that the text tells in the layout.", kSprig, to_date},
      {"mustToDate", "layout string, text string", "As toDate.", kSprig, to_date},
      {"unixEpoch", "time any", "Seconds since 1970, as text.", kSprig,
       [](const Call& c) -> Value { return fmt::to_string(floor<seconds>(needed(c[0])).time_since_epoch().count()); }},
      {"ago", "time any", "How long ago the time was: \"1h30m0s\".", kSprig,
       [](const Call& c) -> Value {
         return format_duration(std::chrono::round<seconds>(between(c.run.now(), time_or_now(c[0], c.run))));
       }},
      {"duration", "seconds any", "Seconds as \"1m35s\".", kSprig, duration_text},
      {"durationRound", "span any", "The largest unit of a span: \"2h\", \"3mo\".", kSprig, duration_round},
  };
}

}  // namespace underway::gotemplate::detail
