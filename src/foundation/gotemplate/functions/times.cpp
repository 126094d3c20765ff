// Times, Sprig's. All are in UTC.
#include "base/error.hpp"
#include "gotemplate/format.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/language/literal.hpp"
#include "gotemplate/time/time.hpp"

#include <array>

namespace underway::gotemplate {

namespace {

using namespace std::chrono;

/// Go's time.Time.
class Time final : public Object {
 public:
  explicit Time(Instant time) : time_(std::move(time)) {}
  const Instant& time() const { return time_; }

  std::string_view type_name() const override { return "time.Time"; }
  std::string text() const override { return format_layout(time_, "2006-01-02 15:04:05.999999999 -0700 MST"); }
  std::string source_text() const override {
    const auto number = [&](std::string_view layout) {
      return parse_integer(format_layout(time_, layout), 10).value_or(0);
    };
    return fmt::format("time.Date({}, time.{}, {}, {}, {}, {}, {}, {})", number("2006"),
                       format_layout(time_, "January"), number("2"), number("15"), number("4"), number("5"),
                       time_.nanos,
                       time_.local           ? "time.Local"
                       : time_.zone == "UTC" ? "time.UTC"
                                             : fmt::format("time.Location({})", quote(time_.zone)));
  }
  Value plain() const override { return {format_layout(time_, "2006-01-02T15:04:05.999999999Z07:00")}; }
  std::vector<std::string> member_names() const override {
    return {"Format", "Unix",       "UnixMilli", "UnixNano", "Year", "Month",   "Day",    "Hour",  "Minute",
            "Second", "Nanosecond", "Weekday",   "YearDay",  "UTC",  "AddDate", "String", "IsZero"};
  }
  bool takes_arguments(std::string_view name) const override { return name == "Format" || name == "AddDate"; }

  std::optional<Value> member(std::string_view name, std::span<const Value> arguments) const override {
    if (name == "Format") {
      if (arguments.size() != 1 || !arguments[0].is_text()) throw Error(Code::invalid, "Format takes a layout");
      return Value(format_layout(time_, arguments[0].as_text()));
    }
    if (name == "AddDate") return add_date(arguments);
    if (name == "Unix") return Value::int64(time_.seconds);
    if (name == "UnixMilli") return Value::int64(scaled(1000));
    if (name == "UnixNano") return Value::int64(scaled(1'000'000'000));
    if (name == "Nanosecond") return Value(time_.nanos);
    if (name == "UTC") return time_value(*in_zone(time_, "UTC"));
    if (name == "String") return Value(text());
    if (name == "IsZero") return Value(time_.seconds == Instant::kYearOne && time_.nanos == 0);
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
  /// Wraps around, as Go's int64 does.
  std::int64_t scaled(std::uint64_t unit) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(time_.seconds) * unit +
                                     static_cast<std::uint64_t>(time_.nanos) / (1'000'000'000 / unit));
  }

  Value add_date(std::span<const Value> arguments) const {
    constexpr std::int64_t kMost = 1'000'000;
    const bool small = arguments.size() == 3 && std::ranges::all_of(arguments, [](const Value& value) {
                         return value.kind() == Kind::integer && std::abs(value.as_integer()) <= kMost;
                       });
    if (!small) throw Error(Code::invalid, "AddDate takes years, months and days");
    const std::int64_t local = time_.seconds + time_.offset;
    std::int64_t days = local / 86'400;
    if (local % 86'400 < 0) --days;
    const Date date = date_of(days);
    const std::int64_t months = date.month - 1 + arguments[1].as_integer();
    const std::int64_t years = months >= 0 ? months / 12 : (months - 11) / 12;
    const std::int64_t begin =
        days_of(date.year + arguments[0].as_integer() + years, static_cast<int>(months - years * 12) + 1, 1);
    Instant out = time_;
    out.seconds += (begin + date.day - 1 + arguments[2].as_integer() - days) * 86'400;
    return time_value(std::move(out));
  }

  Instant time_;
};

/// Spans end where 64 bits of nanoseconds do.
Duration between(const Instant& later, const Instant& earlier) {
  std::int64_t out = 0;
  const bool beyond = __builtin_sub_overflow(later.seconds, earlier.seconds, &out) ||
                      __builtin_mul_overflow(out, std::int64_t{1'000'000'000}, &out) ||
                      __builtin_add_overflow(out, std::int64_t{later.nanos - earlier.nanos}, &out);
  if (!beyond) return Duration{out};
  return Duration{later.seconds < earlier.seconds ? INT64_MIN : INT64_MAX};
}

/// A time, or seconds since 1970. As Sprig: what is neither is now.
Instant time_or_now(const Value& value, Run& run) {
  if (const Instant* time = time_of(value)) return *time;
  if (value.kind() != Kind::integer) return instant_of(run.now());
  Instant out;
  out.seconds = value.as_integer();
  return out;
}

const Instant& needed(const Value& value) {
  if (const Instant* time = time_of(value)) return *time;
  throw Error(Code::invalid, fmt::format("wrong type for value; expected time.Time; got {}", value.type_name()));
}

/// As Sprig: a zone that is none is UTC.
Value told_in_zone(const Call& call, std::string_view layout, const Value& value, const std::string& zone) {
  const Instant time = time_or_now(value, call.run);
  const auto moved = in_zone(time, zone);
  call.run.make(layout.size() * 4);
  return format_layout(moved ? *moved : *in_zone(time, "UTC"), layout);
}

Instant moved(Instant time, Duration by) {
  const std::int64_t nanos = time.nanos + by.count() % 1'000'000'000;
  time.seconds = static_cast<std::int64_t>(static_cast<std::uint64_t>(time.seconds) +
                                           static_cast<std::uint64_t>(by.count() / 1'000'000'000));
  time.seconds += nanos < 0 ? -1 : nanos >= 1'000'000'000 ? 1 : 0;
  time.nanos = static_cast<int>(nanos < 0 ? nanos + 1'000'000'000 : nanos % 1'000'000'000);
  return time;
}

Value modify(const Call& call, bool must) {
  const Instant& time = needed(call[1]);
  const auto by = parse_duration(call.text(0));
  if (!by && must) throw Error(Code::invalid, "time: invalid duration");
  return time_value(by ? moved(time, *by) : time);
}

Value to_date(const Call& call, bool must) {
  auto time = parse_layout(call.text(1), call.text(0));
  if (!time && must) throw Error(Code::invalid, "the text is no time in this layout");
  return time_value(time ? std::move(*time) : Instant());
}

/// "3h", "2d", "5mo": the largest unit only.
Value duration_round(const Call& call) {
  Duration span{};
  if (call[0].is_text())
    span = parse_duration(call.text(0)).value_or(Duration{});
  else if (call[0].kind_name() == "int64")
    span = Duration{call[0].as_integer()};
  else if (const Instant* time = time_of(call[0]))
    span = between(instant_of(call.run.now()), *time);
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

/// Only texts and int64 count, as in Sprig; a plain 90 is 0s. It wraps around, as Go's int64 does.
Value duration_text(const Call& call) {
  const std::int64_t count = call[0].is_text()                ? clamped_integer(call.text(0))
                             : call[0].kind_name() == "int64" ? call[0].as_integer()
                                                              : 0;
  return format_duration(
      Duration{static_cast<std::int64_t>(static_cast<std::uint64_t>(count) * std::uint64_t{1'000'000'000})});
}

}  // namespace

Value time_value(Instant time) { return Value::object(std::make_shared<Time>(std::move(time))); }
Value time_value(TimePoint time) { return time_value(instant_of(time)); }

const Instant* time_of(const Value& value) {
  if (value.kind() != Kind::object) return nullptr;
  const auto* time = dynamic_cast<const Time*>(&value.as_object());
  return time == nullptr ? nullptr : &time->time();
}

std::vector<Function> time_functions() {
  constexpr Origin kSprig = Origin::sprig;
  return {
      {"now", "", "The time; .Format, .Unix, .Year and so on.", kSprig,
       [](const Call& c) { return time_value(c.run.now()); }},
      {"date", "layout string, time any", "The time in Go's layout, in UTC; seconds since 1970 are a time too.", kSprig,
       [](const Call& c) { return told_in_zone(c, c.text(0), c[1], "UTC"); }},
      {"dateInZone", "layout string, time any, zone string",
       "date in a zone: \"Europe/Berlin\". One that is not known is UTC.", kSprig,
       [](const Call& c) { return told_in_zone(c, c.text(0), c[1], c.string(2)); }},
      {"date_in_zone", "layout string, time any, zone string", "dateInZone by its old name.", kSprig,
       [](const Call& c) { return told_in_zone(c, c.text(0), c[1], c.string(2)); }},
      {"htmlDate", "time any", "As 2006-01-02.", kSprig,
       [](const Call& c) { return told_in_zone(c, "2006-01-02", c[0], "UTC"); }},
      {"htmlDateInZone", "time any, zone string", "htmlDate in a zone.", kSprig,
       [](const Call& c) { return told_in_zone(c, "2006-01-02", c[0], c.string(1)); }},
      {"dateModify", "span string, time any", "The time and the span, which may be negative: \"-1.5h\".", kSprig,
       [](const Call& c) { return modify(c, false); }},
      {"date_modify", "span string, time any", "dateModify by its old name.", kSprig,
       [](const Call& c) { return modify(c, false); }},
      {"mustDateModify", "span string, time any", "As dateModify; a span that is none is an error.", kSprig,
       [](const Call& c) { return modify(c, true); }},
      {"must_date_modify", "span string, time any", "mustDateModify by its old name.", kSprig,
       [](const Call& c) { return modify(c, true); }},
      {"toDate", "layout string, text string",
       "The time that the text tells in the layout; the year 1 when it tells none.", kSprig,
       [](const Call& c) { return to_date(c, false); }},
      {"mustToDate", "layout string, text string", "As toDate; a text that tells none is an error.", kSprig,
       [](const Call& c) { return to_date(c, true); }},
      {"unixEpoch", "time any", "Seconds since 1970, as text.", kSprig,
       [](const Call& c) -> Value { return fmt::to_string(needed(c[0]).seconds); }},
      {"ago", "time any", "How long ago the time was: \"1h30m0s\".", kSprig,
       [](const Call& c) -> Value {
         return format_duration(
             std::chrono::round<seconds>(between(instant_of(c.run.now()), time_or_now(c[0], c.run))));
       }},
      {"duration", "seconds any", "Seconds as \"1m35s\".", kSprig, duration_text},
      {"durationRound", "span any", "The largest unit of a span: \"2h\", \"3mo\".", kSprig, duration_round},
  };
}

}  // namespace underway::gotemplate
