#include "strangers/compare.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>

namespace underway::strangers {
namespace {

using boost::json::array;
using boost::json::kind;
using boost::json::object;
using boost::json::value;

std::string_view kind_of(const value& json) {
  switch (json.kind()) {
    case kind::null:
      return "null";
    case kind::bool_:
      return "a truth";
    case kind::int64:
    case kind::uint64:
    case kind::double_:
      return "a number";
    case kind::string:
      return "a text";
    case kind::array:
      return "a list";
    case kind::object:
      return "an object";
  }
  return "";
}

std::string shown(const value& json) {
  std::string text = boost::json::serialize(json);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

class Comparison {
 public:
  explicit Comparison(const IsTold& is_told) : is_told_(is_told) {}

  void compare(const value& theirs, const value& ours, const std::string& where) {
    if (theirs.is_string() && theirs.get_string() == "*") return;
    if (theirs.is_null() != ours.is_null()) return say("null", where, theirs, ours);
    if (kind_of(theirs) != kind_of(ours)) return say("type", where, theirs, ours);
    if (theirs.is_object()) return compare_objects(theirs.get_object(), ours.get_object(), where);
    if (theirs.is_array()) return compare_lists(theirs.get_array(), ours.get_array(), where);
    const bool numbers = theirs.is_number();
    const bool equal = numbers ? theirs.to_number<double>() == ours.to_number<double>() : theirs == ours;
    if (!equal && is_told_(where)) say("value", where, theirs, ours);
  }

  std::vector<Difference> found;

 private:
  void compare_objects(const object& theirs, const object& ours, const std::string& where) {
    const auto* any = theirs.if_contains("*");
    for (const auto& [key, there] : theirs) {
      if (key == "*") continue;
      const std::string inner = inside(where, key);
      if (const auto* here = ours.if_contains(key))
        compare(there, *here, inner);
      else
        add({"missing", inner, "there it is " + shown(there)});
    }
    for (const auto& [key, here] : ours) {
      if (theirs.contains(key)) continue;
      if (any != nullptr)
        compare(*any, here, inside(where, "*"));
      else
        add({"more", inside(where, key), "here it is " + shown(here)});
    }
  }
  void compare_lists(const array& theirs, const array& ours, const std::string& where) {
    if (theirs.empty() != ours.empty()) return say("empty", where, theirs, ours);
    for (std::size_t i = 0; i < ours.size(); ++i)
      compare(theirs[std::min(i, theirs.size() - 1)], ours[i], where + "[]");
  }

  static std::string inside(const std::string& where, std::string_view key) {
    return where.empty() ? std::string(key) : where + "." + std::string(key);
  }
  void say(const char* what, const std::string& where, const value& theirs, const value& ours) {
    add({what, where, "there it is " + shown(theirs) + ", here " + shown(ours)});
  }
  void add(Difference difference) {
    const auto same = [&](const Difference& other) {
      return other.kind == difference.kind && other.where == difference.where;
    };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back(std::move(difference));
  }

  const IsTold& is_told_;
};

}  // namespace

std::vector<Difference> compare(const value& theirs, const value& ours, const IsTold& is_told) {
  Comparison comparison(is_told);
  comparison.compare(theirs, ours, "");
  return std::move(comparison.found);
}

}  // namespace underway::strangers
