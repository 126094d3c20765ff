// Defaults, types and flow, Sprig's.
#include "base/error.hpp"
#include "gotemplate/functions/library.hpp"

#include <algorithm>

namespace underway::gotemplate {

namespace {

Value coalesce(const Call& call) {
  const auto found = std::ranges::find_if(call.arguments, [](const Value& value) { return value.truth(); });
  return found == call.arguments.end() ? Value() : *found;
}

}  // namespace

std::vector<Function> default_functions() {
  constexpr Origin kSprig = Origin::sprig;
  return {
      {"default", "fallback any, value ...any", "The value, or the fallback when it is empty.", kSprig,
       [](const Call& c) { return c.size() > 1 && c[1].truth() ? c[1] : c[0]; }},
      {"empty", "value any", "Whether the value is nothing, 0, false or has no elements.", kSprig,
       [](const Call& c) -> Value { return !c[0].truth(); }},
      {"coalesce", "values ...any", "The first value that is not empty.", kSprig, coalesce},
      {"all", "values ...any", "Whether no value is empty.", kSprig,
       [](const Call& c) -> Value {
         return std::ranges::all_of(c.arguments, [](const Value& v) { return v.truth(); });
       }},
      {"any", "values ...any", "Whether some value is not empty.", kSprig,
       [](const Call& c) -> Value {
         return std::ranges::any_of(c.arguments, [](const Value& v) { return v.truth(); });
       }},
      {"ternary", "yes any, no any, condition bool", "The first when the condition holds, else the second.", kSprig,
       [](const Call& c) { return c.boolean(2) ? c[0] : c[1]; }},
      {"fail", "message string", "Ends the rendering with this error.", kSprig,
       [](const Call& c) -> Value { throw Error(Code::invalid, c.string(0)); }},
      {"typeOf", "value any", "Its type in Go: \"string\", \"[]interface {}\", …", kSprig,
       [](const Call& c) -> Value { return c[0].type_name(); }},
      {"typeIs", "type string, value any", "Whether typeOf is this.", kSprig,
       [](const Call& c) -> Value { return c[1].type_name() == c.text(0); }},
      {"typeIsLike", "type string, value any", "Whether typeOf is this, or a pointer to it.", kSprig,
       [](const Call& c) -> Value {
         const std::string type = c[1].type_name();
         return type == c.text(0) || type == "*" + c.string(0);
       }},
      {"kindOf", "value any", "Its kind in Go: \"string\", \"slice\", \"map\", \"int\", …", kSprig,
       [](const Call& c) -> Value { return c[0].kind_name(); }},
      {"kindIs", "kind string, value any", "Whether kindOf is this.", kSprig,
       [](const Call& c) -> Value { return c[1].kind_name() == c.text(0); }},
      {"deepEqual", "a any, b any", "Whether both are equal, with all inside them.", kSprig,
       [](const Call& c) -> Value { return deep_equal(c[0], c[1], c.run); }},
      {"hello", "", "\"Hello!\"", kSprig, [](const Call&) -> Value { return "Hello!"; }},
  };
}

}  // namespace underway::gotemplate
