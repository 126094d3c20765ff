#pragma once
// What the tests of this library share: evaluating a text and showing what came of it.
#include "hcl/functions.hpp"
#include "hcl/parse/parser.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <string>

namespace underway::hcl::test {

inline Context plain_context() {
  Context context;
  context.functions(pure_functions());
  context.set("var",
              Value::object({{"name", "web"},
                             {"count", 3},
                             {"list", Value::list({"a", "b", "c"})},
                             {"ports", Value::object({{"http", 80}, {"ssh", 22}})},
                             {"nothing", Value()},
                             {"nodes", Value::tuple({Value::object({{"id", 1}, {"tags", Value::tuple({"x", "y"})}}),
                                                     Value::object({{"id", 2}, {"tags", Value::tuple({})}})})}}));
  return context;
}

inline Context nomad_context() { return plain_context().unknown_roots(UnknownRoots::keep); }

/// The value in HCL's literal syntax, or "error: " and the first summary.
inline std::string shown(const Expression& expression, const Context& context, Diagnostics& diagnostics) {
  std::optional<Value> value;
  if (!diagnostics.has_errors()) value = expression.evaluate(context, diagnostics);
  if (value) return describe(*value, 100'000);
  return diagnostics.empty() ? "error without a diagnostic" : "error: " + diagnostics.all().front().summary;
}

inline std::string eval(const std::string& text, const Context& context = plain_context()) {
  Diagnostics diagnostics;
  const Expression expression = parse_expression(text, "test", diagnostics);
  return shown(expression, context, diagnostics);
}

inline std::string eval_template(const std::string& text, const Context& context = plain_context()) {
  Diagnostics diagnostics;
  const Expression expression = parse_template(text, "test", diagnostics);
  return shown(expression, context, diagnostics);
}

/// The attribute `x` of a body.
inline std::string eval_x(const std::string& body, const Context& context = plain_context()) {
  Diagnostics diagnostics;
  const Body parsed = parse(body, "test.hcl", diagnostics);
  for (const auto& attribute : parsed.just_attributes(diagnostics)) {
    if (attribute.name == "x") return shown(attribute.expression, context, diagnostics);
  }
  return diagnostics.empty() ? "no attribute x" : "error: " + diagnostics.all().front().summary;
}

struct Pair {
  const char* text;
  const char* expect;
};

}  // namespace underway::hcl::test
