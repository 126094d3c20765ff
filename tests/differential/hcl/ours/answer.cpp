// Our side: reads one JSON object per line, {"kind": …, "text": …}, and answers one line each, as main.go does.
#include "base/error.hpp"
#include "hcl/body.hpp"
#include "hcl/detail/access.hpp"
#include "hcl/format.hpp"
#include "hcl/parse/parser.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <iostream>
#include <string>

namespace {

using namespace underway::hcl;
namespace bj = boost::json;

bj::value shown(const Value& value) {
  const std::string kind(to_string(value.kind()));
  if (value.is_null()) return nullptr;
  if (value.is_bool()) return value.as_bool();
  if (value.is_number()) return bj::object{{"number", value.as_number().to_string()}};
  if (value.is_string()) return bj::object{{"string", value.as_string()}};
  if (value.is_sequence()) {
    bj::array items;
    for (const auto& item : value.items()) items.push_back(shown(item));
    return bj::object{{kind, std::move(items)}};
  }
  bj::object members;
  for (const auto& [name, member] : value.members()) members[name] = shown(member);
  return bj::object{{kind, std::move(members)}};
}

bj::value refusal(const Diagnostics& diagnostics) {
  const auto& first = diagnostics.all().front();
  return bj::object{{"error", first.summary + (first.detail.empty() ? "" : ": " + first.detail)}};
}

/// What expressions may refer to; main.go has the same.
Context context() {
  Context context;
  context.functions(pure_functions()).unknown_roots(UnknownRoots::keep);
  const auto tuple = [](Value::List items) { return Value::tuple(std::move(items)); };
  context.set("local", Value::object({{"x", 7}}));
  context.set("var", Value::object({{"name", "web"},
                                    {"text", "héllo wörld 👩‍👩‍👧 é"},
                                    {"count", 3},
                                    {"half", Number::binary(0.5)},
                                    {"yes", true},
                                    {"none", Value()},
                                    {"list", Value::list({"a", "b", "a"})},
                                    {"set", Value::set({"x", "y"})},
                                    {"tags", Value::map({{"env", "prod"}, {"zone", "eu"}})},
                                    {"ports", Value::object({{"http", 80}, {"ssh", 22}})},
                                    {"mixed", tuple({1, "two", true, Value()})},
                                    {"nodes", tuple({Value::object({{"id", 1}, {"tags", tuple({"x", "y"})}}),
                                                     Value::object({{"id", 2}, {"tags", tuple({})}})})}}));
  return context;
}

bj::value evaluated(const Expression& expression, Diagnostics& diagnostics) {
  if (diagnostics.has_errors()) return refusal(diagnostics);
  const auto value = expression.evaluate(context(), diagnostics);
  return value ? bj::value(bj::object{{"value", shown(*value)}}) : refusal(diagnostics);
}

bj::object attributes_of(const Content& content) {
  bj::object attributes;
  for (const auto& attribute : content.attributes) {
    Diagnostics diagnostics;
    attributes[attribute.name] = evaluated(attribute.expression, diagnostics);
  }
  return attributes;
}

bj::value shown(const Body& body) {
  Diagnostics diagnostics;
  const Content content = detail::Access::view(body)->read(nullptr, false, {}, diagnostics, "this body");
  if (diagnostics.has_errors()) return refusal(diagnostics);
  bj::array blocks;
  for (const auto& block : content.blocks) {
    bj::array labels;
    for (const auto& label : block.labels) labels.emplace_back(label.text);
    blocks.push_back(bj::object{{"type", block.type}, {"labels", std::move(labels)}, {"body", shown(block.body)}});
  }
  bj::object out{{"attributes", attributes_of(content)}};
  if (!body.is_json()) out["blocks"] = std::move(blocks);
  return out;
}

bj::value answer(const std::string& kind, std::string text) {
  Diagnostics diagnostics;
  if (kind == "format") return bj::object{{"text", format(text)}};
  if (kind == "expression") {
    const auto expression = parse_expression(std::move(text), "x", diagnostics);
    return evaluated(expression, diagnostics);
  }
  if (kind == "template") {
    const auto expression = parse_template(std::move(text), "x", diagnostics);
    return evaluated(expression, diagnostics);
  }
  const Body body = parse(std::move(text), "x", diagnostics, Lines::strict);
  return diagnostics.has_errors() ? refusal(diagnostics) : shown(body);
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto question = bj::parse(line).as_object();
    bj::value reply;
    try {
      reply = answer(std::string(question.at("kind").as_string()), std::string(question.at("text").as_string()));
    } catch (const underway::Error& e) {
      reply = bj::object{{"error", e.message()}};
    }
    std::cout << bj::serialize(reply) << '\n' << std::flush;
  }
}
