#include "hcl/detail/evaluator.hpp"

#include "base/json/enumerators.hpp"
#include "hcl/detail/unify.hpp"

#include "hcl/type.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl::detail {

namespace {

constexpr std::uint64_t kWeightPerStep = 16;  // bytes that compare, hash or copy in about the time of one node

std::string_view sign_of(Operator op) {
  constexpr std::string_view kSigns[] = {"+",  "-", "*",  "/",  "%",  "==", "!=", "<",
                                         "<=", ">", ">=", "&&", "||", "-",  "!"};
  static_assert(std::size(kSigns) == kEnumerators<Operator>);
  return kSigns[static_cast<std::size_t>(op)];
}

std::string reasons(const Error& e) {
  std::string why;
  for (const auto& reason : e.reasons()) why += (why.empty() ? "" : "; ") + reason;
  return why;
}

/// Empty lists of different types differ.
bool equal(const Value& left, const Value& right) {
  if (!(left == right)) return false;
  const Type* own = left.element_type();
  const Type* other = right.element_type();
  return own == nullptr || other == nullptr || same(*own, *other);
}

/// What convert() takes is stricter than what a variable may have: no `list` alone, and no optional attributes.
bool is_whole_type(const Node& node) {
  constexpr std::string_view kContainers[] = {"list", "set", "map", "object", "tuple"};
  if (node.kind == NodeKind::variable)
    return std::find(std::begin(kContainers), std::end(kContainers), as<VariableNode>(node).name) ==
           std::end(kContainers);
  if (node.kind == NodeKind::call && as<CallNode>(node).name == "optional") return false;
  if (node.kind == NodeKind::call)
    return std::ranges::all_of(as<CallNode>(node).arguments, [](const Node* inner) { return is_whole_type(*inner); });
  if (node.kind == NodeKind::tuple)
    return std::ranges::all_of(as<TupleNode>(node).items, [](const Node* inner) { return is_whole_type(*inner); });
  if (node.kind == NodeKind::object)
    return std::ranges::all_of(as<ObjectNode>(node).items,
                               [](const ObjectItem& item) { return is_whole_type(*item.value); });
  return true;
}

}  // namespace

std::optional<Number> Evaluator::number(const Node& node, const Value& value, std::string_view purpose) {
  auto converted = to_number(value);
  if (!converted) error(node.span, fmt::format("{} needs numbers, this is {}", purpose, what_it_is(value)));
  return converted;
}

std::optional<bool> Evaluator::flag(const Node& node, std::string_view purpose) {
  return flag(node, eval(node), purpose);
}

std::optional<bool> Evaluator::flag(const Node& node, const Result& value, std::string_view purpose) {
  if (!value) return std::nullopt;
  const auto converted = to_bool(*value);
  if (!converted) error(node.span, fmt::format("{} needs true or false, this is {}", purpose, what_it_is(*value)));
  return converted;
}

Evaluator::Result Evaluator::unary(const UnaryNode& node) {
  if (node.op == Operator::logical_not) {
    const auto answer = flag(*node.operand, "'!'");
    return answer ? Result(Value(!*answer)) : std::nullopt;
  }
  const auto value = eval(*node.operand);
  current_ = &node;
  const auto operand = value ? number(*node.operand, *value, "'-'") : std::nullopt;
  return operand ? Result(Value(-*operand)) : std::nullopt;
}

Evaluator::Result Evaluator::logical(const BinaryNode& node, const Result& left_value) {
  const std::string purpose = fmt::format("'{}'", sign_of(node.op));
  const auto left = flag(*node.left, left_value, purpose);
  const auto right = flag(*node.right, purpose);  // always: what is wrong in it is told whatever the left side says
  if (!left || !right) return std::nullopt;
  return Value(node.op == Operator::logical_or ? *left || *right : *left && *right);
}

/// From the innermost left operand outwards, without recursion: a chain may be as long as a file.
Evaluator::Result Evaluator::binary(const BinaryNode& node) {
  std::vector<const BinaryNode*> chain = {&node};
  while (chain.back()->left->kind == NodeKind::binary) chain.push_back(&as<BinaryNode>(*chain.back()->left));
  Result left = eval(*chain.back()->left);
  while (!chain.empty()) {
    context_.budget().step();
    left = applied(*chain.back(), left);
    if (left && left->is_number()) context_.budget().number(left->as_number().bits());
    chain.pop_back();
  }
  return left;
}

Evaluator::Result Evaluator::applied(const BinaryNode& node, const Result& left) {
  if (node.op == Operator::logical_and || node.op == Operator::logical_or) return logical(node, left);
  const auto right = eval(*node.right);
  if (!left || !right) return std::nullopt;
  current_ = &node;
  context_.budget().step((left->weight() + right->weight()) / kWeightPerStep);
  if (node.op == Operator::equal) return Value(equal(*left, *right));
  if (node.op == Operator::not_equal) return Value(!equal(*left, *right));
  const std::string purpose = fmt::format("'{}'", sign_of(node.op));
  const auto a = number(*node.left, *left, purpose);
  const auto b = number(*node.right, *right, purpose);
  if (!a || !b) return std::nullopt;
  return arithmetic(node, *a, *b);
}

Evaluator::Result Evaluator::arithmetic(const BinaryNode& node, const Number& a, const Number& b) {
  switch (node.op) {
    case Operator::add:
      return Value(a + b);
    case Operator::subtract:
      return Value(a - b);
    case Operator::multiply:
      return Value(a * b);
    case Operator::divide:
      if (b.is_zero()) {
        error(node.right->span, "division by zero");
        return std::nullopt;
      }
      return Value(a / b);
    case Operator::modulo:
      return Value(remainder(a, b));
    case Operator::less:
      return Value(a < b);
    case Operator::less_equal:
      return Value(a < b || a == b);
    case Operator::greater:
      return Value(a > b);
    case Operator::greater_equal:
      return Value(a > b || a == b);
    default:
      return std::nullopt;
  }
}

Evaluator::Result Evaluator::quietly(const Node& node) {
  Diagnostics unused;
  Diagnostics* const before = std::exchange(diagnostics_, &unused);
  struct Restore {
    Evaluator& evaluator;
    Diagnostics* diagnostics;
    ~Restore() { evaluator.diagnostics_ = diagnostics; }
  } const restore{*this, before};
  auto value = eval(node);
  return unused.has_errors() ? std::nullopt : value;
}

/// Both results are brought to one type, as `cond ? 1 : "a"` is always a string; so the other one is evaluated too, and
/// an error in it only means that it has no say.
Evaluator::Result Evaluator::conditional(const ConditionalNode& node) {
  const auto answer = flag(*node.condition, "'?'");
  if (!answer) return std::nullopt;
  const Node& chosen_node = *answer ? *node.yes : *node.no;
  auto chosen = eval(chosen_node);
  if (!chosen || chosen->is_null()) return chosen;
  const auto other = quietly(*answer ? *node.no : *node.yes);
  if (!other || other->is_null()) return chosen;
  current_ = &node;
  const bool scalars = chosen->depth() == 0 && other->depth() == 0;
  if (scalars && chosen->kind() == other->kind()) return chosen;
  context_.budget().step((chosen->weight() + other->weight()) / kWeightPerStep);
  const auto type = unify({type_of(*chosen), type_of(*other)});
  if (!type) {
    error(node.span, "the two results of '?' have no common type",
          fmt::format("one is {}, the other {}", what_it_is(*answer ? *chosen : *other),
                      what_it_is(*answer ? *other : *chosen)));
    return std::nullopt;
  }
  return convert(*chosen, *type);
}

std::optional<std::vector<Value>> Evaluator::arguments_of(const CallNode& node) {
  std::vector<Value> arguments;
  bool failed = false;
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    auto value = eval(*node.arguments[i]);
    if (!value) {
      failed = true;
    } else if (!node.expand_last || i + 1 < node.arguments.size()) {
      arguments.push_back(std::move(*value));
    } else if (value->is_sequence()) {
      context_.budget().step(value->items().size());
      arguments.insert(arguments.end(), value->items().begin(), value->items().end());
    } else {
      error(node.arguments[i]->span, fmt::format("'...' needs a list, this is {}", what_it_is(*value)));
      failed = true;
    }
  }
  return failed ? std::nullopt : std::optional(std::move(arguments));
}

Evaluator::Result Evaluator::call(const CallNode& node) {
  const Function* function = context_.functions().find(node.name);
  const bool special =
      !context_.functions().empty() && (node.name == "try" || node.name == "can" || node.name == "convert");
  if (special && function == nullptr) return special_call(node);
  if (function == nullptr) {
    const auto& files = file_function_names();
    const bool refused = std::find(files.begin(), files.end(), node.name) != files.end();
    error(node.name_span,
          fmt::format("{} '{}'", refused ? "here one may not call the function" : "unknown function", node.name),
          refused ? "functions that read files work only where the job file is" : "",
          refused ? "" : suggest(node.name, context_.functions().names()));
    return std::nullopt;
  }
  const auto arguments = arguments_of(node);
  if (!arguments) return std::nullopt;
  current_ = &node;
  if (arguments->size() < function->min || arguments->size() > function->max) {
    const std::string bound = function->max == Function::kAny  ? fmt::format("at least {}", function->min)
                              : function->min == function->max ? fmt::format("{}", function->min)
                                                               : fmt::format("{} to {}", function->min, function->max);
    error(node.span, fmt::format("{}({}) takes {} argument{}, {} given", node.name, function->parameters, bound,
                                 bound.ends_with(" 1") || bound == "1" ? "" : "s", arguments->size()));
    return std::nullopt;
  }
  return invoke(node, *function, *arguments);
}

Evaluator::Result Evaluator::invoke(const CallNode& node, const Function& function,
                                    const std::vector<Value>& arguments) {
  const auto place = [&](std::size_t i) { return i < node.arguments.size() ? node.arguments[i]->span : node.span; };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (function.null_allowed || !arguments[i].is_null()) continue;
    error(place(i), fmt::format("{}({}): an argument is null", node.name, function.parameters));
    return std::nullopt;
  }
  try {
    for (const auto& argument : arguments) context_.budget().step(1 + argument.weight() / kWeightPerStep);
    Value result = function.run({arguments, context_});
    if (result.is_string()) context_.budget().produce_string(result.as_string().size());
    return result;
  } catch (const ArgumentError& e) {
    error(place(e.index()), fmt::format("{}(): {}", node.name, e.message()), reasons(e), e.advice());
  } catch (const Error& e) {
    if (e.code() == Code::too_large) throw;
    error(node.span, fmt::format("{}(): {}", node.name, e.message()), reasons(e), e.advice());
  }
  return std::nullopt;
}

/// `can(list...)` and `try(…, list...)`: values cannot fail, so the first one is it.
Evaluator::Result Evaluator::special_call_of_values(const CallNode& node) {
  const auto last = eval(*node.arguments.back());
  if (!last) return std::nullopt;
  if (!last->is_sequence()) {
    error(node.arguments.back()->span, fmt::format("'...' needs a list, this is {}", what_it_is(*last)));
    return std::nullopt;
  }
  const std::size_t before = node.arguments.size() - 1;
  const std::size_t count = before + last->items().size();
  if (node.name == "can" && count == 1) return Value(before == 0 || quietly(*node.arguments[0]).has_value());
  if (node.name == "try" && count > 0) {
    for (std::size_t i = 0; i < before; ++i) {
      if (auto value = quietly(*node.arguments[i])) return value;
    }
    return last->items().empty() ? eval(*node.arguments[before - 1]) : Result(last->items().front());
  }
  error(node.span, fmt::format("{}() does not take {} arguments", node.name, count));
  return std::nullopt;
}

/// Functions of expressions rather than of values.
Evaluator::Result Evaluator::special_call(const CallNode& node) {
  const std::size_t count = node.arguments.size();
  if (node.expand_last) return special_call_of_values(node);
  if (node.name == "can" && count == 1) return Value(quietly(*node.arguments[0]).has_value());
  if (node.name == "convert" && count == 2) {
    const auto value = eval(*node.arguments[0]);
    if (node.arguments[1]->kind == NodeKind::text) {
      error(node.arguments[1]->span, "a type is written without quotes");
      return std::nullopt;
    }
    if (!is_whole_type(*node.arguments[1])) {
      error(node.arguments[1]->span, "a type of elements is required, as in list(string), and nothing optional");
      return std::nullopt;
    }
    const auto type =
        parse_type(Access::expression(document_, node.arguments[1], scope_), TypeRules::liberal, *diagnostics_);
    if (!value || !type) return std::nullopt;
    context_.budget().step(value->weight());  // texts may become numbers
    try {
      return convert(*value, *type);
    } catch (const Error& e) {
      if (e.code() == Code::too_large) throw;
      error(node.arguments[0]->span, fmt::format("convert(): {}", e.message()));
      return std::nullopt;
    }
  }
  if (node.name == "try" && count > 0) {
    for (std::size_t i = 0; i + 1 < count; ++i) {
      if (auto value = quietly(*node.arguments[i])) return value;
    }
    return eval(*node.arguments[count - 1]);
  }
  error(node.span, node.name == "try"   ? "try(expression, …) takes at least 1 argument, none given"
                   : node.name == "can" ? fmt::format("can(expression) takes 1 argument, {} given", count)
                                        : fmt::format("convert(value, type) takes 2 arguments, {} given", count));
  return std::nullopt;
}

}  // namespace underway::hcl::detail
