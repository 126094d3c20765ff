#include "yaml/yaml.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace underway::yaml {

namespace {

constexpr std::string_view kPrefix = "tag:yaml.org,2002:";
constexpr std::array<std::string_view, 11> kTrue = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                    "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> kFalse = {"n",     "N",     "no",  "No",  "NO", "false",
                                                     "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null", "NULL"};

template <std::size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

/// The words of YAML 1.1: whatever else a plain text may be, it may be one of these.
std::optional<Scalar> word(std::string_view text) {
  if (is_one_of(text, kNull)) return Scalar{.kind = Scalar::Kind::null};
  if (is_one_of(text, kTrue)) return Scalar{.kind = Scalar::Kind::boolean, .truth = true};
  if (is_one_of(text, kFalse)) return Scalar{.kind = Scalar::Kind::boolean};
  const bool negative = text.starts_with('-');
  const std::string_view magnitude = negative || text.starts_with('+') ? text.substr(1) : text;
  if (magnitude == ".inf" || magnitude == ".Inf" || magnitude == ".INF")
    return Scalar{.kind = Scalar::Kind::infinity, .negative = negative};
  return std::nullopt;
}

bool begins_like_a_number(std::string_view text) {
  return !text.empty() && (text[0] == '+' || text[0] == '-' || text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
}

[[noreturn]] void misfit(const Node& node, std::string_view tag) {
  throw Error(Code::invalid, fmt::format("line {}: '{}' is no !!{}", node.line, node.text.substr(0, 40), tag));
}

Scalar by_tag(const Node& node, std::string_view tag) {
  if (tag == "str") return {.kind = Scalar::Kind::text, .text = node.text};
  if (tag == "binary") return {.kind = Scalar::Kind::text, .text = node.text};
  if (tag == "null") return {.kind = Scalar::Kind::null};
  auto found = word(node.text);
  if (tag == "bool") {
    if (!found || found->kind != Scalar::Kind::boolean) misfit(node, tag);
    return std::move(*found);
  }
  if (tag == "int" || tag == "float") {
    if (found) return std::move(*found);
    return {.kind = Scalar::Kind::number, .text = node.text};
  }
  if (tag == "timestamp") {
    auto time = timestamp(node.text);
    if (!time) misfit(node, tag);
    return {.kind = Scalar::Kind::timestamp, .text = std::move(*time)};
  }
  throw Error(Code::invalid, fmt::format("line {}: the tag '!!{}' is not known", node.line, tag.substr(0, 40)));
}

}  // namespace

Scalar scalar_of(const Node& node) {
  const std::string_view tag = node.tag;
  if (!tag.empty() && !tag.starts_with(kPrefix))
    throw Error(Code::invalid, fmt::format("line {}: the tag '{}' is not known", node.line, tag.substr(0, 40)));
  if (!tag.empty() && !node.quoted()) return by_tag(node, tag.substr(kPrefix.size()));
  if (!tag.empty()) {
    const std::string_view name = tag.substr(kPrefix.size());
    if (name == "str" || name == "binary") return by_tag(node, name);
  }
  if (node.quoted()) return {.kind = Scalar::Kind::text, .text = node.text};
  if (auto found = word(node.text)) return std::move(*found);
  if (node.text == ".nan" || node.text == ".NaN" || node.text == ".NAN") return {.kind = Scalar::Kind::not_a_number};
  if (node.text == "<<") return {.kind = Scalar::Kind::merge, .text = node.text};
  if (auto time = timestamp(node.text)) return {.kind = Scalar::Kind::timestamp, .text = std::move(*time)};
  if (begins_like_a_number(node.text)) return {.kind = Scalar::Kind::number, .text = node.text};
  return {.kind = Scalar::Kind::text, .text = node.text};
}

namespace {

/// Reads the formats of a timestamp from the left.
class Clock {
 public:
  explicit Clock(std::string_view text) : text_(text) {}
  bool done() const { return at_ == text_.size(); }
  bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool skip(char c) {
    if (!at(c)) return false;
    ++at_;
    return true;
  }
  /// `least` to `most` digits.
  std::optional<int> digits(std::size_t least, std::size_t most) {
    std::size_t count = 0;
    int value = 0;
    while (count < most && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = value * 10 + (text_[at_++] - '0');
      ++count;
    }
    return count < least ? std::nullopt : std::optional(value);
  }
  void skip_digits() {
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

bool in(const std::optional<int>& value, int least, int most) { return value && *value >= least && *value <= most; }

}  // namespace

std::optional<std::string> timestamp(std::string_view text) {
  Clock clock(text);
  const auto year = clock.digits(4, 4);
  if (!year || !clock.skip('-')) return std::nullopt;
  const auto month = clock.digits(1, 2);
  if (!in(month, 1, 12) || !clock.skip('-')) return std::nullopt;
  const auto day = clock.digits(1, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const std::string begin = fmt::format("{:04}-{:02}-{:02}T", *year, *month, *day);
  if (clock.done()) return begin + "00:00:00Z";
  const bool with_zone = clock.skip('T') || clock.skip('t');
  if (!with_zone && !clock.skip(' ')) return std::nullopt;
  const auto hour = clock.digits(1, 2);
  if (!in(hour, 0, 23) || !clock.skip(':')) return std::nullopt;
  const auto minute = clock.digits(1, 2);
  if (!in(minute, 0, 59) || !clock.skip(':')) return std::nullopt;
  const auto second = clock.digits(1, 2);
  if (!in(second, 0, 59)) return std::nullopt;
  if (clock.at('.') || clock.at(',')) {
    clock.skip('.') || clock.skip(',');
    if (!clock.digits(1, 1)) return std::nullopt;
    clock.skip_digits();
  }
  const std::string time = fmt::format("{}{:02}:{:02}:{:02}", begin, *hour, *minute, *second);
  if (!with_zone) return clock.done() ? std::optional(time + "Z") : std::nullopt;
  if (clock.skip('Z')) return clock.done() ? std::optional(time + "Z") : std::nullopt;
  const char sign = clock.at('-') ? '-' : '+';
  if (!clock.skip('+') && !clock.skip('-')) return std::nullopt;
  const auto hours = clock.digits(2, 2);
  if (!in(hours, 0, 24) || !clock.skip(':')) return std::nullopt;
  const auto minutes = clock.digits(2, 2);
  if (!in(minutes, 0, 60) || !clock.done()) return std::nullopt;
  if (*hours == 0 && *minutes == 0) return time + "Z";
  return fmt::format("{}{}{:02}:{:02}", time, sign, *hours, *minutes);
}

}  // namespace underway::yaml
