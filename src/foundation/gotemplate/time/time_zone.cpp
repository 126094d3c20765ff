// Time zones, from the machine's /usr/share/zoneinfo (RFC 8536).
#include "gotemplate/time/time.hpp"

#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

namespace underway::gotemplate {

namespace {

struct Zone {
  struct Kind {
    int offset;
    bool summer;
    std::string name;
  };
  struct Change {
    std::int64_t at;
    std::size_t kind;
  };
  std::vector<Kind> kinds;
  std::vector<Change> changes;
  std::string rule;  ///< for what is behind the last change: "CET-1CEST,M3.5.0,M10.5.0/3"
};

std::int64_t big_endian(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = size == 8 || static_cast<signed char>(bytes[at]) >= 0 ? 0 : ~std::uint64_t{0};
  for (std::size_t i = 0; i < size; ++i) value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  return static_cast<std::int64_t>(value);
}

/// The six counts of a header, in the file's order.
struct Header {
  std::size_t is_ut, is_std, leaps, changes, kinds, names;
  std::size_t body(std::size_t word) const {
    return changes * (word + 1) + kinds * 6 + names + leaps * (word + 4) + is_std + is_ut;
  }
};

constexpr std::size_t kHeaderSize = 44;

std::optional<Header> read_header(std::string_view bytes) {
  if (bytes.size() < kHeaderSize || !bytes.starts_with("TZif")) return std::nullopt;
  const auto count = [&](std::size_t i) { return static_cast<std::size_t>(big_endian(bytes, 20 + 4 * i, 4) & 0xFFFF); };
  return Header{count(0), count(1), count(2), count(3), count(4), count(5)};
}

std::optional<Zone> parse_zone(std::string_view bytes) {
  const auto first = read_header(bytes);
  if (!first || bytes[4] < '2' || bytes.size() < kHeaderSize + first->body(4)) return std::nullopt;
  bytes.remove_prefix(kHeaderSize + first->body(4));
  const auto header = read_header(bytes);
  if (!header || header->kinds == 0 || bytes.size() < kHeaderSize + header->body(8)) return std::nullopt;
  const std::string_view body = bytes.substr(kHeaderSize);
  const std::size_t kinds_at = header->changes * 9;
  const std::string_view names = body.substr(kinds_at + header->kinds * 6, header->names);
  Zone zone;
  for (std::size_t i = 0; i < header->kinds; ++i) {
    const std::size_t at = kinds_at + i * 6;
    const auto name = static_cast<unsigned char>(body[at + 5]);
    if (name >= names.size()) return std::nullopt;
    zone.kinds.push_back({static_cast<int>(big_endian(body, at, 4)), body[at + 4] != 0, names.data() + name});
  }
  for (std::size_t i = 0; i < header->changes; ++i) {
    const auto kind = static_cast<unsigned char>(body[header->changes * 8 + i]);
    if (kind >= zone.kinds.size()) return std::nullopt;
    zone.changes.push_back({big_endian(body, i * 8, 8), kind});
  }
  const std::string_view rest = body.substr(header->body(8));
  if (rest.size() > 2) zone.rule = rest.substr(1, rest.find('\n', 1) - 1);
  return zone;
}

/// A rule of POSIX's TZ, read from the front. What it does not understand leaves `ok` false.
class Rule {
 public:
  explicit Rule(std::string_view text) : rest_(text) {
    standard_ = name();
    standard_offset_ = -time();
    if (rest_.empty()) return;
    summer_ = name();
    summer_offset_ = rest_.empty() || rest_[0] == ',' ? standard_offset_ + 3600 : -time();
    begin_ = day();
    end_ = day();
    ok_ = ok_ && rest_.empty();
  }

  bool ok() const { return ok_ && !standard_.empty(); }

  void apply(Instant& time) const {
    bool in_summer = false;
    if (!summer_.empty()) {
      std::int64_t days = (time.seconds + standard_offset_) / 86'400;
      if ((time.seconds + standard_offset_) % 86'400 < 0) --days;
      const std::int64_t year = date_of(days).year;
      const std::int64_t begin = begin_.in(year)-standard_offset_;
      const std::int64_t end = end_.in(year)-summer_offset_;
      in_summer =
          begin < end ? time.seconds >= begin && time.seconds < end : time.seconds >= begin || time.seconds < end;
    }
    time.offset = in_summer ? summer_offset_ : standard_offset_;
    time.zone = in_summer ? summer_ : standard_;
  }

 private:
  struct Day {
    char kind = 'M';  ///< 'M' month.week.weekday, 'J' and '0' days of the year
    int month = 1, week = 1, weekday = 0;
    int seconds = 7200;

    std::int64_t in(std::int64_t year) const {
      const std::int64_t new_year = days_of(year, 1, 1);
      const bool leap = days_of(year + 1, 1, 1) - new_year == 366;
      if (kind == '0') return (new_year + month) * 86'400 + seconds;
      if (kind == 'J') return (new_year + month - 1 + (leap && month >= 60 ? 1 : 0)) * 86'400 + seconds;
      const std::int64_t first = days_of(year, month, 1);
      const std::int64_t next = month == 12 ? days_of(year + 1, 1, 1) : days_of(year, month + 1, 1);
      const std::int64_t first_weekday = ((first + 4) % 7 + 7) % 7;
      std::int64_t at = first + (weekday - first_weekday + 7) % 7 + (week - 1) * 7;
      while (at >= next) at -= 7;
      return at * 86'400 + seconds;
    }
  };

  std::string name() {
    const bool quoted = rest_.starts_with('<');
    const std::size_t end = quoted ? rest_.find('>') : rest_.find_first_of("+-0123456789,");
    if (quoted && end == std::string_view::npos) {
      ok_ = false;
      return {};
    }
    std::string out(quoted ? rest_.substr(1, end - 1) : rest_.substr(0, end));
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + (quoted ? 1 : 0));
    return out;
  }

  int number() {
    int value = 0;
    if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') ok_ = false;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9' && value < 100'000) {
      value = value * 10 + (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }

  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  int time() {
    const bool negative = take('-');
    if (!negative) take('+');
    int seconds = number() * 3600;
    if (take(':')) seconds += number() * 60;
    if (take(':')) seconds += number();
    return negative ? -seconds : seconds;
  }

  Day day() {
    Day out;
    ok_ = take(',') && ok_;
    out.kind = take('M') ? 'M' : take('J') ? 'J' : '0';
    out.month = number();
    if (out.kind == 'M') {
      ok_ = take('.') && ok_;
      out.week = number();
      ok_ = take('.') && ok_;
      out.weekday = number();
      ok_ = ok_ && out.month >= 1 && out.month <= 12 && out.week >= 1 && out.week <= 5 && out.weekday <= 6;
    }
    if (take('/')) out.seconds = time();
    return out;
  }

  std::string_view rest_;
  bool ok_ = true;
  std::string standard_, summer_;
  int standard_offset_ = 0, summer_offset_ = 0;
  Day begin_, end_;
};

void apply(const Zone& zone, Instant& time) {
  const auto use = [&](const Zone::Kind& kind) {
    time.offset = kind.offset;
    time.zone = kind.name;
  };
  if (zone.changes.empty() || time.seconds < zone.changes.front().at) {
    // What was before the first change: the first kind that is not summer time.
    if (zone.changes.empty() && !zone.rule.empty()) {
      if (const Rule rule(zone.rule); rule.ok()) return rule.apply(time);
    }
    const auto plain = std::ranges::find_if(zone.kinds, [](const auto& kind) { return !kind.summer; });
    return use(zone.kinds.front().summer && plain != zone.kinds.end() ? *plain : zone.kinds.front());
  }
  const auto after = std::ranges::upper_bound(zone.changes, time.seconds, {}, &Zone::Change::at);
  if (after == zone.changes.end() && !zone.rule.empty()) {
    if (const Rule rule(zone.rule); rule.ok()) return rule.apply(time);
  }
  use(zone.kinds[std::prev(after)->kind]);
}

/// A name leads to no other place than below the directory.
bool is_zone_name(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '+' || c == '/';
  };
  return !name.empty() && name.size() < 64 && name.front() != '/' && std::ranges::all_of(name, allowed);
}

std::optional<Zone> load(const std::string& name) {
  std::ifstream in("/usr/share/zoneinfo/" + name, std::ios::binary);
  constexpr std::size_t kLargest = 64 << 10;
  std::string bytes(kLargest, '\0');
  in.read(bytes.data(), kLargest);
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return parse_zone(bytes);
}

/// Read once; there are some hundreds of them.
const std::optional<Zone>& zone_of(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::optional<Zone>> zones;
  const std::scoped_lock lock(mutex);
  const auto found = zones.find(name);
  if (found != zones.end()) return found->second;
  static const std::optional<Zone> kNone;
  auto loaded = load(name);
  // Names that are none are not kept: a template could make as many as it likes.
  return loaded ? zones.emplace(name, std::move(loaded)).first->second : kNone;
}

}  // namespace

std::optional<Instant> in_zone(Instant time, const std::string& zone) {
  if (zone.empty() || zone == "UTC" || zone == "Local") {
    time.offset = 0;
    time.zone = "UTC";
    time.local = zone == "Local";
    return time;
  }
  if (!is_zone_name(zone)) return std::nullopt;
  const auto& known = zone_of(zone);
  if (!known) return std::nullopt;
  time.local = false;
  apply(*known, time);
  return time;
}

}  // namespace underway::gotemplate
