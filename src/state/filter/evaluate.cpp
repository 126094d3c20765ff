// Asks an expression about one struct.
#include "base/allowance.hpp"
#include "base/error.hpp"
#include "filter/detail/reading.hpp"

#include <fmt/format.h>

namespace underway::filter::detail {
namespace {

/// So much text costs as much as one part of the expression.
constexpr std::size_t kBytesOfAStep = 32;

std::size_t steps_of(std::string_view text) { return text.size() / kBytesOfAStep; }

Error wrong(std::string what) { return Error(Code::invalid, std::move(what)); }

Error not_comparable() { return wrong("unable to find suitable primitive comparison function for matching"); }

Error not_a_number(std::string_view function, const Literal& value) {
  return wrong(fmt::format("error getting match value in expression: strconv.{}: parsing \"{}\": invalid syntax",
                           function, value.raw));
}

bool equal(const Reading& reading, const Literal& value) {
  switch (reading.is) {
    case Is::absent:
      return false;
    case Is::boolean:
      if (!value.boolean) throw not_a_number("ParseBool", value);
      return reading.boolean == *value.boolean;
    case Is::integer:
      if (!value.integer) throw not_a_number("ParseInt", value);
      return reading.integer == *value.integer;
    case Is::duration:
      if (!value.duration) throw not_a_number("ParseInt", value);
      return reading.integer == *value.duration;
    case Is::number:
      if (!value.number) throw not_a_number("ParseFloat", value);
      return reading.number == *value.number;
    case Is::string:
      return reading.text() == value.raw;
    case Is::list:
    case Is::map:
    case Is::structure:
      break;
  }
  throw not_comparable();
}

/// Whether `value` could be what a list of mixed things holds here: "true" is no number, which is no failure.
bool comparable(const Reading& reading, const Literal& value) {
  switch (reading.is) {
    case Is::boolean:
      return value.boolean.has_value();
    case Is::integer:
      return value.integer.has_value();
    case Is::duration:
      return value.duration.has_value();
    case Is::number:
      return value.number.has_value();
    default:
      return true;
  }
}

struct Variable {
  std::string_view name;
  Place place;
};

class Evaluation {
 public:
  Evaluation(const Datum& datum, Budget& budget) : datum_(datum), budget_(budget) {}

  bool ask(const Node& node) {
    budget_.spend(1);
    switch (node.kind) {
      case Node::Kind::all_of:
        return std::all_of(node.parts.begin(), node.parts.end(), [&](const Node& part) { return ask(part); });
      case Node::Kind::any_of:
        return std::any_of(node.parts.begin(), node.parts.end(), [&](const Node& part) { return ask(part); });
      case Node::Kind::negation:
        return !ask(node.parts.front());
      case Node::Kind::match:
        return match(node) != node.negated;
      case Node::Kind::every:
        return !loop(node, false);
      case Node::Kind::some:
        return loop(node, true);
    }
    return false;
  }

 private:
  Place find(const Selector& selector) {
    budget_.spend(selector.path.size());
    const std::string& first = selector.path.front();
    for (auto it = variables_.rbegin(); it != variables_.rend(); ++it) {
      if (it->name == first) return follow(it->place, selector, 1);
    }
    if (datum_.extra.type != nullptr && datum_.extra.name == first)
      return follow(place_of(*datum_.extra.type, datum_.extra.value), selector, 1);
    const Place whole = place_of(*datum_.type, datum_.value);
    // A struct that is told as JSON has the fields that it has.
    if (whole.kind == Place::Kind::json && read(whole).is == Is::map && !has_key(whole, first))
      throw wrong(fmt::format("error finding value in datum: {} at part 0: couldn't find key \"{}\"",
                              selector.pointer(), first));
    return follow(whole, selector, 0);
  }

  bool match(const Node& node) {
    const Place place = find(node.selector);
    const Reading reading = read(place);
    budget_.spend(steps_of(reading.text()));
    switch (node.operation) {
      case Operator::equal:
        return equal(reading, node.value);
      case Operator::in:
        return contains(place, reading, node);
      case Operator::is_empty:
        return is_empty(reading, node.selector);
      case Operator::matches:
        break;
    }
    if (reading.is == Is::absent) return false;
    if (reading.is != Is::string)
      throw wrong(fmt::format("Value of type {} is not convertible to []byte", name_of(reading.is)));
    // A great pattern may look at each byte as often as it has parts.
    budget_.spend(steps_of(reading.text()) * (static_cast<std::size_t>(node.value.pattern->ProgramSize()) / 64));
    return re2::RE2::PartialMatch(re2::StringPiece(reading.text().data(), reading.text().size()), *node.value.pattern);
  }

  bool contains(const Place& place, const Reading& reading, const Node& node) {
    switch (reading.is) {
      case Is::absent:
        return false;
      case Is::string:
        budget_.spend(steps_of(node.value.raw));
        return reading.text().find(node.value.raw) != std::string_view::npos;
      case Is::map:
        return has_key(place, node.value.raw);
      case Is::list:
        return list_contains(place, reading.size, node.value);
      default:
        throw wrong(fmt::format("Cannot perform in/contains operations on type {} for selector: \"{}\"",
                                name_of(reading.is), node.selector.pointer()));
    }
  }

  bool list_contains(const Place& list, std::size_t size, const Literal& value) {
    budget_.spend(size);
    for (std::size_t i = 0; i < size; ++i) {
      const Reading reading = read(element(list, i));
      if (list.kind == Place::Kind::json && !comparable(reading, value)) continue;
      if (equal(reading, value)) return true;
    }
    return false;
  }

  static bool is_empty(const Reading& reading, const Selector& selector) {
    switch (reading.is) {
      case Is::absent:
        return true;
      case Is::string:
        return reading.text().empty();
      case Is::list:
      case Is::map:
        return reading.size == 0;
      case Is::structure:
        return false;
      default:
        throw wrong(fmt::format("Cannot perform is empty operations on type {} for selector: \"{}\"",
                                name_of(reading.is), selector.pointer()));
    }
  }

  /// Whether the body is `wanted` for some element.
  bool loop(const Node& node, bool wanted) {
    const Place list = find(node.selector);
    const Reading reading = read(list);
    if (reading.is == Is::absent) return false;
    if (reading.is == Is::list) return loop_over_list(node, list, reading.size, wanted);
    if (reading.is != Is::map) throw wrong(fmt::format("{} is not a list or a map", node.selector.pointer()));
    bool found = false;
    each_member(list, [&](std::string_view key, const Place& value) {
      if (found) return;
      Place name;
      name.kind = Place::Kind::key;
      name.key = key;
      found = ask_with(node, name, value, wanted);
    });
    return found;
  }

  bool loop_over_list(const Node& node, const Place& list, std::size_t size, bool wanted) {
    for (std::size_t i = 0; i < size; ++i) {
      Place index;
      index.kind = Place::Kind::index;
      index.index = static_cast<std::int64_t>(i);
      const Place value = element(list, i);
      // One name is that of the value.
      if (node.second.empty() ? ask_with(node, value, value, wanted) : ask_with(node, index, value, wanted))
        return true;
    }
    return false;
  }

  bool ask_with(const Node& node, const Place& first, const Place& second, bool wanted) {
    const std::size_t outside = variables_.size();
    if (node.first != "_") variables_.push_back({node.first, first});
    if (!node.second.empty() && node.second != "_") variables_.push_back({node.second, second});
    const bool answer = ask(node.parts.front());
    variables_.resize(outside);
    return answer == wanted;
  }

  const Datum& datum_;
  Budget& budget_;
  std::vector<Variable> variables_;
};

}  // namespace

void Budget::begin_row() { row_ = kStepsOfOne; }

void Budget::spend(std::size_t steps) {
  if (steps > row_ || steps > all_)
    throw Error(Code::invalid, "the filter expression costs too much")
        .because(steps > row_ ? fmt::format("a single row takes more than {} steps", kStepsOfOne)
                              : fmt::format("the list takes more than {} steps", kStepsInAll))
        .advise("ask for fewer rows (namespace, prefix), or for something simpler");
  row_ -= steps;
  all_ -= steps;
  Allowance::spend(steps);
}

bool evaluate(const Node& node, const Datum& datum, Budget& budget) { return Evaluation(datum, budget).ask(node); }

}  // namespace underway::filter::detail
