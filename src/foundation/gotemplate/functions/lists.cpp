// Lists, Sprig's. A function and its "must" twin do the same: both fail with the reason.
#include "base/error.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/time/time.hpp"

#include <algorithm>

namespace underway::gotemplate {

namespace {

Value part(const List& list, std::size_t begin, std::size_t end, Run& run, Element element = Element::any) {
  run.make_elements(end - begin);
  return Value::list(
      List(list.begin() + static_cast<std::ptrdiff_t>(begin), list.begin() + static_cast<std::ptrdiff_t>(end)),
      element);
}

/// The list with `value` at one end.
Value extended(const Call& call, bool at_end) {
  const List& list = call.list(0);
  call.run.make_elements(list.size() + 1);
  List out;
  out.reserve(list.size() + 1);
  if (!at_end) out.push_back(call[1]);
  out.insert(out.end(), list.begin(), list.end());
  if (at_end) out.push_back(call[1]);
  return Value::list(std::move(out));
}

bool contains(std::span<const Value> list, const Value& wanted, Run& run) {
  return std::ranges::any_of(list, [&](const Value& item) { return deep_equal(item, wanted, run); });
}

template <class F>
Value filtered(const List& list, Run& run, F keeps) {
  List out;
  for (const Value& item : list) {
    run.make_elements(1);
    if (keeps(item, out)) out.push_back(item);
  }
  return Value::list(std::move(out));
}

Value slice_list(const Call& call) {
  const List& list = call.list(0);
  const auto size = static_cast<std::int64_t>(list.size());
  const std::int64_t begin = call.size() > 1 ? cast_integer(call[1]) : 0;
  const std::int64_t end = call.size() > 2 ? cast_integer(call[2]) : size;
  if (size == 0) return {};
  if (begin < 0 || begin > end || end > size)
    throw Error(Code::invalid, "reflect.Value.Slice: slice index out of bounds");
  return part(list, static_cast<std::size_t>(begin), static_cast<std::size_t>(end), call.run, call[0].element());
}

Value chunk(const Call& call) {
  const std::int64_t size = call.integer(0);
  const List& list = call.list(1);
  if (size < 1) {
    // Sprig divides, with these results.
    const auto count = static_cast<std::int64_t>(list.size());
    if (count == 1 && size < -1) return Value::list({part(list, 0, 1, call.run)}, Element::list);
    const bool none = size < 0 && count > 1 && count - 1 <= -size;
    if (!none) throw Error(Code::invalid, "a chunk has at least one element");
    return Value::list({}, Element::list);
  }
  const auto step = static_cast<std::size_t>(size);
  List out;
  for (std::size_t at = 0; at < list.size(); at += std::min(step, list.size() - at)) {
    call.run.make_elements(1);
    out.push_back(part(list, at, at + std::min(step, list.size() - at), call.run));
  }
  return Value::list(std::move(out), Element::list);
}

Value concat(const Call& call) {
  List out;
  for (std::size_t i = 0; i < call.size(); ++i) {
    call.run.make_elements(call.list(i).size());
    out.insert(out.end(), call.list(i).begin(), call.list(i).end());
  }
  return out.empty() ? Value::null_list() : Value::list(std::move(out));
}

Value make_list(const Call& call) {
  call.run.make_elements(call.size());
  return Value::list(List(call.arguments.begin(), call.arguments.end()));
}

Value reverse(const Call& call) {
  call.run.make_elements(call.list(0).size());
  return Value::list(List(call.list(0).rbegin(), call.list(0).rend()));
}

Value without(const Call& call) {
  return filtered(call.list(0), call.run,
                  [&](const Value& item, const List&) { return !contains(call.arguments.subspan(1), item, call.run); });
}

Value uniq(const Call& call) {
  return filtered(call.list(0), call.run,
                  [&](const Value& item, const List& seen) { return !contains(seen, item, call.run); });
}

}  // namespace

bool deep_equal(const Value& a, const Value& b, Run& run, unsigned depth) {
  run.step();
  if (depth > Value::kMaxDepth) throw Error(Code::too_large, "values that are to be compared are nested too deeply");
  if (a.kind() != b.kind() || a.kind_name() != b.kind_name() || a.element() != b.element()) return false;
  switch (a.kind()) {
    case Kind::boolean:
      return a.as_bool() == b.as_bool();
    case Kind::integer:
      return a.as_integer() == b.as_integer();
    case Kind::natural:
      return a.as_natural() == b.as_natural();
    case Kind::real:
      return a.as_real() == b.as_real();
    case Kind::text:
      run.step(std::min(a.as_text().size(), b.as_text().size()) / 256);
      return a.as_text() == b.as_text();
    case Kind::list:
      return a.is_null_list() == b.is_null_list() &&
             std::ranges::equal(a.as_list(), b.as_list(),
                                [&](const Value& x, const Value& y) { return deep_equal(x, y, run, depth + 1); });
    case Kind::map:
      return std::ranges::equal(a.as_map(), b.as_map(), [&](const auto& x, const auto& y) {
        return x.first == y.first && deep_equal(x.second, y.second, run, depth + 1);
      });
    case Kind::object: {
      const Instant* x = time_of(a);
      const Instant* y = time_of(b);
      return x != nullptr && y != nullptr ? *x == *y : &a.as_object() == &b.as_object();
    }
    default:
      return true;
  }
}

std::vector<Function> list_functions() {
  constexpr Origin kSprig = Origin::sprig;
  std::vector<Function> functions = {
      {"append", "values list, value any", "The list with the value behind it.", kSprig,
       [](const Call& c) { return extended(c, true); }},
      {"push", "values list, value any", "append by another name.", kSprig,
       [](const Call& c) { return extended(c, true); }},
      {"prepend", "values list, value any", "The list with the value before it.", kSprig,
       [](const Call& c) { return extended(c, false); }},
      {"first", "values list", "The first element, or nothing.", kSprig,
       [](const Call& c) { return c.list(0).empty() ? Value() : c.list(0).front(); }},
      {"last", "values list", "The last element, or nothing.", kSprig,
       [](const Call& c) { return c.list(0).empty() ? Value() : c.list(0).back(); }},
      {"rest", "values list", "All but the first element.", kSprig,
       [](const Call& c) {
         return c.list(0).empty() ? Value::null_list() : part(c.list(0), 1, c.list(0).size(), c.run);
       }},
      {"initial", "values list", "All but the last element.", kSprig,
       [](const Call& c) {
         return c.list(0).empty() ? Value::null_list() : part(c.list(0), 0, c.list(0).size() - 1, c.run);
       }},
      {"reverse", "values list", "The elements from last to first.", kSprig, reverse},
      {"uniq", "values list", "Each element once.", kSprig, uniq},
      {"without", "values list, unwanted ...any", "The elements but for these.", kSprig, without},
      {"has", "value any, values any", "Whether the value is in the list.", kSprig,
       [](const Call& c) -> Value {
         if (c[1].is_nil()) return false;
         if (c[1].kind() != Kind::list)
           throw Error(Code::invalid, fmt::format("Cannot find has on type {}", c[1].kind_name()));
         return contains(c.list(1), c[0], c.run);
       }},
      {"compact", "values list", "The elements that are not empty.", kSprig,
       [](const Call& c) {
         return filtered(c.list(0), c.run, [](const Value& item, const List&) { return item.truth(); });
       }},
      {"slice", "values list, indexes ...any", "The elements from the first index to before the second.", kSprig,
       slice_list},
      {"chunk", "size int, values list", "Lists of so many elements each.", kSprig, chunk},
  };
  const std::size_t count = functions.size();
  for (std::size_t i = 0; i < count; ++i) {
    Function must = functions[i];
    must.name = "must" + std::string(1, static_cast<char>(std::toupper(must.name[0]))) + must.name.substr(1);
    must.meaning = fmt::format("As {}.", functions[i].name);
    functions.push_back(std::move(must));
  }
  functions.push_back({"list", "values ...any", "A list of the values.", kSprig, make_list});
  functions.push_back({"tuple", "values ...any", "list by its old name.", kSprig, make_list});
  functions.push_back({"concat", "lists ...list", "The elements of all lists.", kSprig, concat});
  return functions;
}

}  // namespace underway::gotemplate
