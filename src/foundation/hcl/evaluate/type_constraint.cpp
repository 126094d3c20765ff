#include "hcl/expression.hpp"
#include "hcl/parse/parser.hpp"
#include "hcl/type.hpp"

#include <fmt/format.h>

namespace underway::hcl {

namespace {

const std::vector<std::string> kTypeWords = {"string", "number", "bool",  "any",    "list",
                                             "set",    "map",    "tuple", "object", "optional"};

class TypeReader {
 public:
  TypeReader(TypeRules rules, Diagnostics& diagnostics) : rules_(rules), diagnostics_(diagnostics) {}

  std::optional<Type> read(const Expression& expression) {
    if (const auto word = expression.keyword()) return named(*word, expression);
    if (const auto called = expression.call()) return constructed(called->first, called->second, expression);
    return refuse(expression, "a type is required, such as string or list(string)");
  }

 private:
  std::nullopt_t refuse(const Expression& at, std::string summary, std::string detail = {},
                        std::string suggestion = {}) {
    diagnostics_.error(at.range(), std::move(summary), std::move(detail), std::move(suggestion));
    return std::nullopt;
  }

  std::optional<Type> named(const std::string& word, const Expression& at) {
    if (word == "string") return Type{.form = Type::Form::string};
    if (word == "number") return Type{.form = Type::Form::number};
    if (word == "bool") return Type{.form = Type::Form::boolean};
    if (word == "any") {
      if (rules_ == TypeRules::liberal) return Type{};
      return refuse(at, "'any' is no exact type", "a variable of a job has an exact type",
                    "name the type, or leave it out");
    }
    if (word == "list" || word == "set" || word == "map") {
      if (rules_ == TypeRules::exact) {
        return refuse(at, fmt::format("'{}' needs the type of its elements", word), {},
                      fmt::format("write '{}(string)', say", word));
      }
      return collection(word, Type{});
    }
    if (word == "tuple" || word == "object") {
      return refuse(
          at, fmt::format("'{}' needs the types it holds", word), {},
          word == "tuple" ? "write 'tuple([string, number])', say" : "write 'object({ name = string })', say");
    }
    return refuse(at, fmt::format("unknown type '{}'", word), {}, suggest(word, kTypeWords));
  }

  static Type collection(std::string_view word, Type element) {
    Type type{.form = word == "list" ? Type::Form::list : word == "set" ? Type::Form::set : Type::Form::map};
    type.elements.push_back(std::move(element));
    return type;
  }

  std::optional<Type> constructed(const std::string& word, const std::vector<Expression>& arguments,
                                  const Expression& at) {
    if (word == "optional") return refuse(at, "'optional' stands only in an object's attributes");
    const bool known = word == "list" || word == "set" || word == "map" || word == "tuple" || word == "object";
    if (!known) {
      const bool scalar = word == "string" || word == "number" || word == "bool" || word == "any";
      return refuse(at, scalar ? fmt::format("'{}' takes no arguments", word) : fmt::format("unknown type '{}'", word),
                    {}, scalar ? "" : suggest(word, kTypeWords));
    }
    if (arguments.size() != 1)
      return refuse(at, fmt::format("'{}' takes one argument, {} given", word, arguments.size()));
    if (word == "tuple") return tuple(arguments[0]);
    if (word == "object") return object(arguments[0]);
    auto element = read(arguments[0]);
    return element ? std::optional(collection(word, std::move(*element))) : std::nullopt;
  }

  std::optional<Type> tuple(const Expression& argument) {
    const auto elements = argument.elements();
    if (!elements) return refuse(argument, "'tuple' needs a list of types", {}, "write 'tuple([string, number])', say");
    Type type{.form = Type::Form::tuple};
    bool good = true;
    for (const auto& element : *elements) {
      auto inner = read(element);
      good = good && inner;
      if (inner) type.elements.push_back(std::move(*inner));
    }
    return good ? std::optional(std::move(type)) : std::nullopt;
  }

  std::optional<Type> object(const Expression& argument) {
    const auto members = argument.members();
    if (!members)
      return refuse(argument, "'object' needs attributes and their types", {},
                    "write 'object({ name = string })', say");
    Type type{.form = Type::Form::object};
    bool good = true;
    for (const auto& [key, value] : *members) {
      const auto name = key.literal_string();
      if (!name) return refuse(key, "an attribute's name is a bare word");
      auto member = this->member(value);
      good = good && member;
      if (member && !type.members.emplace(*name, std::move(*member)).second) {
        return refuse(key, fmt::format("the attribute '{}' is declared twice", *name));
      }
    }
    return good ? std::optional(std::move(type)) : std::nullopt;
  }

  std::optional<Type::Member> member(const Expression& expression) {
    const auto called = expression.call();
    if (!called || called->first != "optional") {
      auto type = read(expression);
      return type ? std::optional(Type::Member{std::move(*type), false, std::nullopt}) : std::nullopt;
    }
    if (rules_ == TypeRules::exact)
      return refuse(expression, "'optional' is no exact type", "a variable of a job has an exact type");
    if (called->second.empty() || called->second.size() > 2)
      return refuse(expression, "'optional' takes a type and a default");
    auto type = read(called->second[0]);
    if (!type) return std::nullopt;
    Type::Member made{std::move(*type), true, std::nullopt};
    if (called->second.size() == 1) return made;
    const auto standard = called->second[1].evaluate(Context(), diagnostics_);
    if (!standard) return std::nullopt;
    try {
      made.standard = convert(*standard, made.type);
    } catch (const Error& e) {
      return refuse(called->second[1], fmt::format("the default does not fit: {}", e.message()));
    }
    return made;
  }

  TypeRules rules_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::optional<Type> parse_type(const Expression& expression, TypeRules rules, Diagnostics& diagnostics) {
  const auto text = expression.literal_string();
  if (!text) return TypeReader(rules, diagnostics).read(expression);
  // HCL-JSON, and files of the first HCL, have the type in quotes; places inside it are reported at the string.
  Diagnostics inner;
  const Expression parsed = parse_expression(*text, "type", inner);
  std::optional<Type> type;
  if (!inner.has_errors()) type = TypeReader(rules, inner).read(parsed);
  for (auto diagnostic : inner.all()) {
    diagnostic.range = expression.range();
    diagnostics.add(std::move(diagnostic));
  }
  return type;
}

}  // namespace underway::hcl
