#include "gotemplate/executor.hpp"
#include "gotemplate/format.hpp"

namespace underway::gotemplate {

namespace {

std::string_view go_name(Type type) {
  switch (type) {
    case Type::any:
      return "interface {}";
    case Type::text:
      return "string";
    case Type::integer:
      return "int";
    case Type::real:
      return "float64";
    case Type::boolean:
      return "bool";
    case Type::list:
    case Type::anys:
      return "[]interface {}";
    case Type::texts:
      return "[]string";
    case Type::map:
      return "map[string]interface {}";
  }
  return "";
}

bool takes_nil(Type type) {
  return type == Type::any || type == Type::anys || type == Type::texts || type == Type::map;
}

/// What calling a function with these arguments costs beyond the call.
std::uint64_t cost(std::span<const Value> arguments) {
  std::uint64_t steps = 1;
  for (const Value& argument : arguments) {
    if (argument.kind() == Kind::text) steps += argument.as_text().size() / 256;
    if (argument.kind() == Kind::list) steps += argument.as_list().size() / 16;
    if (const Map* map = argument.members()) steps += map->size() / 8;
  }
  return steps;
}

}  // namespace

Value& Executor::variable(std::string_view name) {
  for (std::size_t i = variables_.size(); i > first_variable_; --i)
    if (variables_[i - 1].name == name) return variables_[i - 1].value;
  fail(fmt::format("undefined variable: {}", name));
}

Value Executor::pipeline(const PipelineNode& node, const Value& dot) {
  const Level level(*this);
  at(node);
  Value value;
  const Value* piped = nullptr;
  for (const auto& each : node.commands) {
    value = command(*each, dot, piped);
    if (value.is_nil_interface()) value = Value();
    piped = &value;
  }
  for (const auto& name : node.variables) {
    if (node.assigns)
      variable(name) = value;
    else
      variables_.push_back({name, value});
  }
  return value;
}

void Executor::not_a_function(const CommandNode& command, const Value* piped) {
  if (command.operands.size() > 1 || piped != nullptr)
    fail(fmt::format("can't give argument to non-function {}", to_source(*command.operands[0])));
}

Value Executor::command(const CommandNode& command, const Value& dot, const Value* piped) {
  step();
  const Node& first = *command.operands[0];
  const Operands arguments = Operands(command.operands).subspan(1);
  switch (first.kind) {
    case NodeKind::field:
      at(first);
      return members(dot, static_cast<const PathNode&>(first).names, first, dot, arguments, piped);
    case NodeKind::chain:
      return chain(static_cast<const ChainNode&>(first), dot, arguments, piped);
    case NodeKind::identifier:
      return function(static_cast<const IdentifierNode&>(first), command, dot, arguments, piped);
    case NodeKind::pipeline:
      not_a_function(command, piped);
      return pipeline(static_cast<const PipelineNode&>(first), dot);
    case NodeKind::variable:
      return variable_path(static_cast<const PathNode&>(first), dot, arguments, piped);
    default:
      break;
  }
  at(first);
  not_a_function(command, piped);
  if (first.kind == NodeKind::dot) return dot;
  if (first.kind == NodeKind::nil) fail("nil is not a command");
  return constant(static_cast<const ConstantNode&>(first));
}

Value Executor::constant(const ConstantNode& node) {
  at(node);
  if (node.kind == NodeKind::number && node.value.is_nil()) fail(fmt::format("{} overflows int", node.source));
  return node.value;
}

Value Executor::members(Value receiver, std::span<const std::string> names, const Node& node, const Value& dot,
                        Operands arguments, const Value* piped) {
  for (const auto& name : names.first(names.size() - 1)) receiver = member(receiver, name, node, dot, {}, nullptr);
  return member(receiver, names.back(), node, dot, arguments, piped);
}

Value Executor::member_of_map(const Map& map, const std::string& name, bool has_arguments) {
  if (has_arguments) fail(fmt::format("{} is not a method but has arguments", name));
  const auto found = map.find(name);
  if (found != map.end()) return found->second.is_nil() ? Value::nil_interface() : found->second;
  if (inputs().missing_key == MissingKey::zero) return Value::nil_interface();
  if (inputs().missing_key == MissingKey::error) fail(fmt::format("map has no entry for key {}", quote(name)));
  return {};
}

Value Executor::member(const Value& receiver, const std::string& name, const Node& node, const Value& dot,
                       Operands arguments, const Value* piped) {
  const bool has_arguments = !arguments.empty() || piped != nullptr;
  if (receiver.is_nil_interface()) fail(fmt::format("nil pointer evaluating interface {{}}.{}", name));
  if (receiver.is_nil()) {
    if (inputs().missing_key == MissingKey::error) fail(fmt::format("nil data; no entry for key {}", quote(name)));
    return {};
  }
  if (receiver.kind() == Kind::object) {
    const Object& object = receiver.as_object();
    Arguments values;
    if (object.takes_arguments(name)) {
      for (const auto& operand : arguments) values.push_back(argument(*operand, Type::any, dot));
      if (piped != nullptr) values.push_back(*piped);
      step(cost(values));
      at(node);
    }
    try {
      if (auto value = object.member(name, values)) {
        if (has_arguments && values.empty())
          fail(fmt::format("{} has arguments but cannot be invoked as function", name));
        return std::move(*value);
      }
    } catch (const Error& error) {
      if (error.message().starts_with("template: ")) throw;
      wrap(error, name);
    }
  }
  if (const Map* map = receiver.members()) {
    Value value = member_of_map(*map, name, has_arguments);
    const bool absent = value.is_nil() && receiver.kind() == Kind::object;
    return absent ? receiver.as_object().absent_member() : value;
  }
  Error error = located(Code::invalid, fmt::format("can't evaluate field {} in type {}", name, receiver.type_name()));
  if (receiver.kind() == Kind::object)
    error.advise(fmt::format("it has {}", fmt::join(receiver.as_object().member_names(), ", ")));
  throw error;
}

Value Executor::variable_path(const PathNode& node, const Value& dot, Operands arguments, const Value* piped) {
  at(node);
  Value value = variable(node.names[0]);
  if (node.names.size() == 1) {
    if (!arguments.empty() || piped != nullptr)
      fail(fmt::format("can't give argument to non-function {}", to_source(node)));
    return value;
  }
  return members(value, std::span(node.names).subspan(1), node, dot, arguments, piped);
}

Value Executor::chain(const ChainNode& node, const Value& dot, Operands arguments, const Value* piped) {
  at(node);
  if (node.base->kind == NodeKind::nil) fail(fmt::format("indirection through explicit nil in {}", to_source(node)));
  Value base = argument(*node.base, Type::any, dot);
  return members(std::move(base), node.names, node, dot, arguments, piped);
}

Value Executor::function(const IdentifierNode& node, const Node& shown, const Value& dot, Operands arguments,
                         const Value* piped) {
  at(node);
  const Function& called = node.function;
  const std::size_t count = arguments.size() + (piped != nullptr ? 1 : 0);
  if (called.variadic ? count < called.fixed.size() : count != called.fixed.size())
    fail(fmt::format("wrong number of args for {}: want {}{} got {}", called.name, called.variadic ? "at least " : "",
                     called.fixed.size(), called.variadic ? arguments.size() : count));
  if (called.run == nullptr) return short_circuit(called, dot, arguments, piped);

  const auto type = [&](std::size_t i) { return i < called.fixed.size() ? called.fixed[i] : called.rest; };
  Arguments values;
  for (std::size_t i = 0; i < arguments.size(); ++i) values.push_back(argument(*arguments[i], type(i), dot));
  if (piped != nullptr) values.push_back(fit(*piped, type(arguments.size())));
  if (called.origin == Origin::go && called.name == "call")
    callee_ = arguments.empty() ? "value" : to_source(*arguments[0]);
  step(cost(values));
  try {
    return called.run(Call{{values.data(), values.size()}, *this});
  } catch (const Error& error) {
    at(shown);
    wrap(error, called.name);
  }
}

Value Executor::short_circuit(const Function& function, const Value& dot, Operands arguments, const Value* piped) {
  const bool stops_at = function.name == "or";
  Value value;
  for (const auto& operand : arguments) {
    value = argument(*operand, Type::any, dot);
    if (value.truth() == stops_at) return value;
  }
  return piped != nullptr ? *piped : value;
}

Value Executor::call(const Value& function, std::span<const Value> arguments) {
  if (function.is_nil()) throw Error(Code::invalid, "call of nil");
  if (function.kind() != Kind::function)
    throw Error(Code::invalid, fmt::format("non-function {} of type {}", callee_, function.type_name()));
  const Function& called = function.as_function();
  const std::size_t count = called.fixed.size();
  if (called.variadic ? arguments.size() < count : arguments.size() != count)
    throw Error(Code::invalid, fmt::format("wrong number of args for {}: got {} want {}{}", callee_, arguments.size(),
                                           called.variadic ? "at least " : "", count));
  Arguments values;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    values.push_back(fit(arguments[i], i < count ? called.fixed[i] : called.rest));
  return called.run(Call{{values.data(), values.size()}, *this});
}

Value Executor::argument(const Node& node, Type type, const Value& dot) {
  at(node);
  switch (node.kind) {
    case NodeKind::dot:
      return fit(dot, type);
    case NodeKind::nil:
      if (!takes_nil(type)) fail(fmt::format("cannot assign nil to {}", go_name(type)));
      return {};
    case NodeKind::field:
      return fit(members(dot, static_cast<const PathNode&>(node).names, node, dot, {}, nullptr), type);
    case NodeKind::variable:
      return fit(variable_path(static_cast<const PathNode&>(node), dot, {}, nullptr), type);
    case NodeKind::pipeline:
      return fit(pipeline(static_cast<const PipelineNode&>(node), dot), type);
    case NodeKind::identifier:
      return fit(function(static_cast<const IdentifierNode&>(node), node, dot, {}, nullptr), type);
    case NodeKind::chain:
      return fit(chain(static_cast<const ChainNode&>(node), dot, {}, nullptr), type);
    default:
      return constant_argument(node, type);
  }
}

Value Executor::constant_argument(const Node& node, Type type) {
  const auto& literal = static_cast<const ConstantNode&>(node);
  const auto expected = [&](std::string_view what) {
    fail(fmt::format("expected {}; found {}", what, literal.source));
  };
  switch (type) {
    case Type::any:
      return constant(literal);
    case Type::text:
      if (node.kind != NodeKind::string) expected("string");
      return literal.value;
    case Type::boolean:
      if (node.kind != NodeKind::boolean) expected("bool");
      return literal.value;
    case Type::integer:
      if (!literal.whole) expected("integer");
      return {*literal.whole};
    case Type::real:
      if (!literal.real) expected("float");
      return {*literal.real};
    default:
      fail(fmt::format("can't handle {} for arg of type {}", literal.source, go_name(type)));
  }
}

Value Executor::fit(Value value, Type type) {
  if (type == Type::any) return value;
  const Kind kind = value.kind();
  switch (type) {
    case Type::text:
      if (kind == Kind::text) return value;
      // Variables' items are texts here, as if .Value had been asked for.
      if (kind == Kind::object && value.type_name().starts_with("dependency.")) return {value.as_object().text()};
      break;
    case Type::integer:
      if (kind == Kind::integer || kind == Kind::natural) return value;
      break;
    case Type::real:
      if (value.is_number()) return value;
      break;
    case Type::boolean:
      if (kind == Kind::boolean) return value;
      break;
    case Type::list:
      if (kind == Kind::list) return value;
      break;
    case Type::anys:
    case Type::texts: {
      const Element wanted = type == Type::anys ? Element::any : Element::text;
      if (kind == Kind::nil || (kind == Kind::list && value.element() == wanted)) return value;
      break;
    }
    default:
      if (kind == Kind::nil || (value.members() != nullptr && value.element() == Element::any)) return value;
  }
  if (kind == Kind::nil) fail(fmt::format("invalid value; expected {}", go_name(type)));
  fail(fmt::format("wrong type for value; expected {}; got {}", go_name(type), value.type_name()));
}

}  // namespace underway::gotemplate
