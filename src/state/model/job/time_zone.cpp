#include "model/job/time_zone.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

#include "base/error.hpp"

namespace underway::model {
namespace {

constexpr std::size_t kMostBytes = 256U << 10;   // the largest file of tzdata 2024a has 3.5 KiB
constexpr std::int64_t kMostOffset = 26 * 3600;  // RFC 8536 §3.2: more than -25 h, less than 26 h
constexpr std::string_view kDatabase = "/usr/share/zoneinfo/";

[[noreturn]] void refuse(std::string_view why) {
  throw Error(Code::invalid, "this is no file of a time zone").because(std::string(why));
}

/// Big-endian numbers from bytes that may end too early.
class Bytes {
 public:
  explicit Bytes(std::string_view rest) : rest_(rest) {}
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) refuse("it ends too early");
    const auto taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::int64_t number(std::size_t size) {
    std::uint64_t value = 0;
    const auto bytes = take(size);
    for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
    const unsigned unused = static_cast<unsigned>(64 - 8 * size);
    return unused == 64 ? 0 : static_cast<std::int64_t>(value << unused) >> unused;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

struct Header {
  char version = 0;
  std::size_t utc_flags, standard_flags, leaps, times, types, letters;

  std::size_t body(std::size_t time_size) const {
    return times * (time_size + 1) + types * 6 + letters + leaps * (time_size + 4) + standard_flags + utc_flags;
  }
};

Header read_header(Bytes& in) {
  if (in.take(4) != "TZif") refuse("it does not begin with TZif");
  Header header{};
  header.version = in.take(1).front();
  in.take(15);
  for (auto* field :
       {&header.utc_flags, &header.standard_flags, &header.leaps, &header.times, &header.types, &header.letters}) {
    const std::int64_t count = in.number(4);
    if (count < 0 || static_cast<std::size_t>(count) > kMostBytes) refuse("a count is out of all bounds");
    *field = static_cast<std::size_t>(count);
  }
  if (header.types == 0) refuse("it knows no offset");
  return header;
}

/// Of the rule's text.
class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : rest_(text) {}
  bool over() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool at_comma() const { return !rest_.empty() && rest_.front() == ','; }

  bool name() {
    const bool quoted = take('<');
    const auto letter = [&](char c) {
      const bool alphabetic = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      return alphabetic || (quoted && ((c >= '0' && c <= '9') || c == '+' || c == '-'));
    };
    std::size_t size = 0;
    while (size < rest_.size() && letter(rest_[size])) ++size;
    rest_.remove_prefix(size);
    return size >= 3 && (!quoted || take('>'));
  }
  std::optional<int> number(int least, int most) {
    int value = 0;
    std::size_t size = 0;
    while (size < rest_.size() && size < 4 && rest_[size] >= '0' && rest_[size] <= '9')
      value = value * 10 + (rest_[size++] - '0');
    rest_.remove_prefix(size);
    if (size == 0 || value < least || value > most) return std::nullopt;
    return value;
  }
  /// [+-]h[h][h][:mm[:ss]]
  std::optional<std::int64_t> seconds(int most_hours) {
    const bool negative = take('-');
    if (!negative) take('+');
    const auto hours = number(0, most_hours);
    if (!hours) return std::nullopt;
    std::int64_t value = *hours * 3600;
    for (const int unit : {60, 1}) {
      if (!take(':')) break;
      const auto part = number(0, 59);
      if (!part) return std::nullopt;
      value += *part * unit;
    }
    return negative ? -value : value;
  }
  std::optional<ZoneRule::Day> day() {
    using Kind = ZoneRule::Day::Kind;
    ZoneRule::Day out;
    if (take('M')) {
      out.kind = Kind::weekday_of_month;
      const auto month = number(1, 12);
      if (!month || !take('.')) return std::nullopt;
      const auto week = number(1, 5);
      if (!week || !take('.')) return std::nullopt;
      const auto weekday = number(0, 6);
      if (!weekday) return std::nullopt;
      out.month = *month;
      out.week = *week;
      out.day = *weekday;
    } else {
      out.kind = take('J') ? Kind::julian : Kind::zero_based;
      const auto number_of_day = out.kind == Kind::julian ? number(1, 365) : number(0, 365);
      if (!number_of_day) return std::nullopt;
      out.day = *number_of_day;
    }
    if (!take('/')) return out;
    const auto time = seconds(167);
    if (!time) return std::nullopt;
    out.seconds = *time;
    return out;
  }

 private:
  std::string_view rest_;
};

/// Seconds from the epoch to the rule's day of that year, by the clocks of the place.
std::int64_t local_time_of(const ZoneRule::Day& day, int year) {
  using namespace std::chrono;
  using Kind = ZoneRule::Day::Kind;
  const std::chrono::year y{year};
  sys_days date{y / January / 1};
  if (day.kind == Kind::zero_based) {
    date += days{day.day};
  } else if (day.kind == Kind::julian) {  // February 29 is never counted
    date += days{day.day - 1 + (y.is_leap() && day.day >= 60 ? 1 : 0)};
  } else {
    const weekday wanted{static_cast<unsigned>(day.day)};
    const month m{static_cast<unsigned>(day.month)};
    date = day.week == 5 ? sys_days{y / m / wanted[last]} : sys_days{y / m / wanted[static_cast<unsigned>(day.week)]};
  }
  return date.time_since_epoch().count() * std::int64_t{86400} + day.seconds;
}

TimeZone::Span by_rule(const ZoneRule& rule, std::int64_t time) {
  if (!rule.summer) return {rule.offset, TimeZone::kNever};
  using namespace std::chrono;
  const sys_days today{floor<days>(sys_seconds{seconds{time}})};
  const int year = static_cast<int>(year_month_day{today}.year());
  // Summer may go over the end of a year, and both ends may lie some days outside of theirs.
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;
  for (int y = year - 1; y <= year + 2; ++y) {
    changes.emplace_back(local_time_of(rule.summer->begin, y) - rule.offset, rule.summer->offset);
    changes.emplace_back(local_time_of(rule.summer->end, y) - rule.summer->offset, rule.offset);
  }
  std::sort(changes.begin(), changes.end());
  const auto next = std::upper_bound(changes.begin(), changes.end(), time,
                                     [](std::int64_t t, const auto& change) { return t < change.first; });
  return {next == changes.begin() ? rule.offset : std::prev(next)->second,
          next == changes.end() ? TimeZone::kNever : next->first};
}

std::string read_zone(const std::string& name) {
  const auto harmless = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '+' || c == '/';
  };
  const bool local = name == "Local";
  const bool sound = name.size() <= 64 && name.front() != '/' && std::all_of(name.begin(), name.end(), harmless);
  std::ifstream in;
  if (sound) in.open(local ? "/etc/localtime" : std::string(kDatabase) + name, std::ios::binary);
  std::string bytes(kMostBytes + 1, '\0');
  if (in.is_open()) in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(in.is_open() ? static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)) : 0);
  if (bytes.empty()) {
    throw Error(Code::invalid, fmt::format("unknown time zone '{}'", name))
        .because(fmt::format("there is no such file below {}", kDatabase))
        .advise("names are those of the package tzdata, as Europe/Zurich");
  }
  return bytes;
}

}  // namespace

std::optional<ZoneRule> parse_zone_rule(std::string_view text) {
  RuleReader in(text);
  ZoneRule rule;
  if (!in.name()) return std::nullopt;
  const auto west = in.seconds(24);
  if (!west) return std::nullopt;
  rule.offset = -*west;
  if (in.over()) return rule;
  ZoneRule::Summer summer;
  if (!in.name()) return std::nullopt;
  summer.offset = rule.offset + 3600;
  if (!in.at_comma()) {
    const auto summer_west = in.seconds(24);
    if (!summer_west) return std::nullopt;
    summer.offset = -*summer_west;
  }
  for (auto* day : {&summer.begin, &summer.end}) {
    if (!in.take(',')) return std::nullopt;
    const auto read = in.day();
    if (!read) return std::nullopt;
    *day = *read;
  }
  if (!in.over()) return std::nullopt;
  rule.summer = summer;
  return rule;
}

TimeZone TimeZone::parse(std::string_view bytes) {
  if (bytes.size() > kMostBytes) refuse(fmt::format("it has {} bytes, above {}", bytes.size(), kMostBytes));
  Bytes in(bytes);
  Header header = read_header(in);
  std::size_t time_size = 4;
  if (header.version >= '2') {  // the same again with 64 bits, then the rule
    in.take(header.body(4));
    header = read_header(in);
    time_size = 8;
  }
  TimeZone zone;
  std::vector<std::int64_t> times(header.times);
  for (auto& time : times) time = in.number(time_size);
  const auto kinds = in.take(header.times);
  std::vector<std::int64_t> offsets(header.types);
  for (auto& offset : offsets) {
    offset = in.number(4);
    if (offset <= -kMostOffset || offset >= kMostOffset) refuse("an offset is above a day");
    in.take(2);
  }
  in.take(header.letters + header.leaps * (time_size + 4) + header.standard_flags + header.utc_flags);
  zone.before_ = offsets.front();
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto kind = static_cast<unsigned char>(kinds[i]);
    if (kind >= offsets.size()) refuse("a change leads to no offset");
    if (i > 0 && times[i] <= times[i - 1]) refuse("its changes are not in order");
    zone.changes_.push_back({times[i], offsets[kind]});
  }
  auto footer = in.rest();
  if (footer.size() >= 2 && footer.front() == '\n') {
    footer = footer.substr(1, footer.find('\n', 1) - 1);
    if (!footer.empty()) {
      zone.rule_ = parse_zone_rule(footer);
      if (!zone.rule_) refuse("the rule at its end is none");
    }
  }
  return zone;
}

TimeZone::Span TimeZone::at(std::int64_t time) const {
  const auto next = std::upper_bound(changes_.begin(), changes_.end(), time,
                                     [](std::int64_t t, const Change& change) { return t < change.at; });
  if (next == changes_.end() && rule_) return by_rule(*rule_, time);
  return {next == changes_.begin() ? before_ : std::prev(next)->offset, next == changes_.end() ? kNever : next->at};
}

std::shared_ptr<const TimeZone> get_time_zone(const std::string& name) {
  static const auto utc = std::make_shared<const TimeZone>();
  if (name.empty() || name == "UTC") return utc;
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const TimeZone>> known;
  {
    const std::lock_guard lock(mutex);
    if (const auto it = known.find(name); it != known.end()) return it->second;
  }
  try {
    auto zone = std::make_shared<const TimeZone>(TimeZone::parse(read_zone(name)));
    const std::lock_guard lock(mutex);
    return known.emplace(name, std::move(zone)).first->second;
  } catch (Error& error) {
    error.while_doing(fmt::format("reading the time zone '{}'", name));
    throw;
  }
}

}  // namespace underway::model
