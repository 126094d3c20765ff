#include "hcl/module.hpp"

#include "hcl/parse/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace underway::hcl {

namespace {

const Schema& top_schema() {
  static const Schema kSchema{
      .blocks = {{.type = "variable", .labels = {"name"}}, {.type = "variables"}, {.type = "locals"}}};
  return kSchema;
}

const Schema& variable_schema() {
  static const Schema kSchema{.attributes = {{"type"}, {"default"}, {"description"}, {"sensitive"}, {"nullable"}},
                              .blocks = {{.type = "validation"}}};
  return kSchema;
}

const Schema& validation_schema() {
  static const Schema kSchema{.attributes = {{"condition", true}, {"error_message", true}}};
  return kSchema;
}

/// What defaults and values from outside are evaluated in.
Context without_names(Context base) { return base.clear().functions({}).unknown_roots(UnknownRoots::error); }

/// Collects the values from outside, in order of precedence.
class InputReader {
 public:
  InputReader(const std::vector<Variable>& variables, const Inputs& inputs, const Context& plain,
              Diagnostics& diagnostics)
      : variables_(variables), inputs_(inputs), plain_(plain), diagnostics_(diagnostics) {
    for (const auto& variable : variables) index_.emplace(variable.name, &variable);
  }

  Value::Object read() {
    for (const auto& variable : variables_) {
      if (variable.standard) set_value(variable.name, *variable.standard);
    }
    for (const auto& [key, text] : inputs_.environment) {
      if (!key.starts_with(inputs_.prefix)) continue;
      if (const Variable* variable = find(key.substr(inputs_.prefix.size()))) read_text(*variable, text, key);
    }
    for (const auto& file : inputs_.files) read_file(file);
    for (const auto& [name, text] : inputs_.arguments) {
      if (const Variable* variable = find(name)) {
        read_text(*variable, text, fmt::format("-var {}", name));
      } else if (inputs_.strict) {
        diagnostics_.error({}, fmt::format("-var sets '{}', which is no variable", name), declared(),
                           suggest(name, names()));
      }
    }
    for (const auto& variable : variables_) {
      if (values_.contains(variable.name) || failed_.contains(variable.name)) continue;
      diagnostics_.error(variable.range, fmt::format("the variable '{}' has no value", variable.name),
                         "it has no default",
                         fmt::format("give -var {0}=…, or set {1}{0}", variable.name, inputs_.prefix));
    }
    return std::move(values_);
  }

 private:
  const Variable* find(std::string_view name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : found->second;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& variable : variables_) all.push_back(variable.name);
    return all;
  }
  std::string declared() const {
    std::string out;
    for (const auto& name : names()) out += (out.empty() ? "declared: " : ", ") + name;
    return out.empty() ? "no variables are declared" : out;
  }

  void set_value(const std::string& name, Value value) { values_.insert_or_assign(name, std::move(value)); }

  void convert_and_set(const Variable& variable, const Value& value, const Range& range, std::string_view origin) {
    try {
      set_value(variable.name, convert(value, variable.type));
    } catch (const Error& e) {
      failed_.insert(variable.name);
      diagnostics_.error(range, fmt::format("{}: the value does not fit the variable '{}'", origin, variable.name),
                         fmt::format("its type is {}; {}", variable.type.to_string(), e.message()));
    }
  }

  /// Strings are taken literally; everything else is an expression.
  void read_text(const Variable& variable, const std::string& text, const std::string& origin) {
    const Type::Form form = variable.type.form;
    const bool literal = form == Type::Form::string || (form == Type::Form::any && !variable.standard);
    if (literal) return set_value(variable.name, Value(text));
    const std::size_t before = diagnostics_.error_count();
    const Expression expression = parse_expression(text, fmt::format("<{}>", origin), diagnostics_);
    if (diagnostics_.error_count() > before) {
      failed_.insert(variable.name);
      return;
    }
    const auto value = expression.evaluate(plain_, diagnostics_);
    if (!value) {
      failed_.insert(variable.name);
      return;
    }
    convert_and_set(variable, *value, expression.range(), origin);
  }

  void read_file(const Body& file) {
    for (const auto& attribute : file.just_attributes(diagnostics_, "a variable file")) {
      const Variable* variable = find(attribute.name);
      if (variable == nullptr) {
        if (inputs_.strict) {
          diagnostics_.error(attribute.name_range, fmt::format("'{}' is no variable", attribute.name), declared(),
                             suggest(attribute.name, names()));
        }
        continue;
      }
      const auto value = attribute.expression.evaluate(plain_, diagnostics_);
      if (!value) {
        failed_.insert(variable->name);
        continue;
      }
      convert_and_set(*variable, *value, attribute.expression.range(), attribute.name_range.where());
    }
  }

  const std::vector<Variable>& variables_;
  const Inputs& inputs_;
  const Context& plain_;
  Diagnostics& diagnostics_;
  std::map<std::string_view, const Variable*> index_;
  Value::Object values_;
  std::set<std::string, std::less<>> failed_;
};

void validate(const Variable& variable, const Context& context, Diagnostics& diagnostics) {
  for (const auto& rule : variable.validations) {
    const auto condition = rule.condition.evaluate(context, diagnostics);
    if (!condition) continue;
    const auto holds = to_bool(*condition);
    if (!holds) {
      diagnostics.error(rule.condition.range(),
                        fmt::format("the condition of the variable '{}' is not true or false", variable.name));
      continue;
    }
    if (*holds) continue;
    const auto message = rule.error_message.evaluate(context, diagnostics);
    const auto text = message ? to_text(*message) : std::nullopt;
    diagnostics.error(variable.range, fmt::format("the value of the variable '{}' is not allowed", variable.name),
                      text.value_or(std::string(rule.condition.text())));
  }
}

/// Evaluates locals after those that they refer to. Depth first with its own stack: chains may be long.
class LocalsResolver {
 public:
  LocalsResolver(const std::vector<Attribute>& locals, Context& context, Diagnostics& diagnostics)
      : locals_(locals), context_(context), diagnostics_(diagnostics), states_(locals.size()) {
    for (std::size_t i = 0; i < locals.size(); ++i) index_.emplace(locals[i].name, i);
  }

  void run() {
    for (std::size_t i = 0; i < locals_.size(); ++i) {
      try {
        resolve(i);
      } catch (const Error& e) {  // a limit was passed
        diagnostics_.error(locals_[i].range, e.message(), e.reasons().empty() ? "" : e.reasons().front(), e.advice());
        break;
      }
    }
    context_.set("local", Value::object(values_));
  }

 private:
  enum class State : std::uint8_t { untouched, waiting, done, failed };
  struct Frame {
    std::size_t local;
    std::vector<std::size_t> needs;
    std::size_t next = 0;
  };

  void resolve(std::size_t start) {
    if (states_[start] != State::untouched) return;
    std::vector<Frame> stack;
    enter(start, stack);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next == frame.needs.size()) {
        finish(frame);
        stack.pop_back();
        continue;
      }
      const std::size_t need = frame.needs[frame.next++];
      if (states_[need] == State::untouched) {
        enter(need, stack);
      } else if (states_[need] == State::waiting) {
        report_cycle(stack, need);
      }
    }
  }

  void enter(std::size_t local, std::vector<Frame>& stack) {
    states_[local] = State::waiting;
    Frame frame{local, {}};
    for (const auto& traversal : locals_[local].expression.variables()) {
      if (traversal.root != "local") continue;
      const bool named = !traversal.steps.empty() && traversal.steps[0].is_string();
      if (named) {
        const auto found = index_.find(traversal.steps[0].as_string());
        if (found != index_.end()) frame.needs.push_back(found->second);
      } else {  // local[…]: any of them
        context_.budget().step(locals_.size());
        context_.budget().produce(locals_.size() * sizeof(std::size_t));
        for (std::size_t i = 0; i < locals_.size(); ++i) frame.needs.push_back(i);
      }
    }
    stack.push_back(std::move(frame));
  }

  void report_cycle(const std::vector<Frame>& stack, std::size_t first) {
    std::string path;
    bool inside = false;
    for (const auto& frame : stack) {
      inside = inside || frame.local == first;
      if (!inside) continue;
      path += fmt::format("local.{} → ", locals_[frame.local].name);
      states_[frame.local] = State::failed;
    }
    path += fmt::format("local.{}", locals_[first].name);
    diagnostics_.error(locals_[first].range, fmt::format("the local '{}' refers to itself", locals_[first].name), path);
  }

  void finish(const Frame& frame) {
    State& state = states_[frame.local];
    const bool broken =
        std::any_of(frame.needs.begin(), frame.needs.end(), [&](std::size_t i) { return states_[i] == State::failed; });
    if (state == State::failed || broken) {  // its cause was reported
      state = State::failed;
      return;
    }
    context_.budget().step(frame.needs.size());
    // Only what it needs: giving each of many locals the object of all of them would be quadratic.
    Value::Object visible;
    for (const std::size_t need : frame.needs) {
      const auto value = values_.find(locals_[need].name);
      if (value != values_.end()) visible.insert(*value);
    }
    if (frame.needs.empty()) visible = suggestions();
    context_.set("local", Value::object(std::move(visible)));
    auto value = locals_[frame.local].expression.evaluate(context_, diagnostics_);
    state = value ? State::done : State::failed;
    if (value) values_.insert_or_assign(locals_[frame.local].name, std::move(*value));
  }

  /// A misspelt local has no dependency; what is known so far then helps to find the right name.
  Value::Object suggestions() const {
    Value::Object some;
    for (const auto& [name, value] : values_) {
      if (some.size() == 32) break;
      some.emplace(name, value);
    }
    return some;
  }

  const std::vector<Attribute>& locals_;
  Context& context_;
  Diagnostics& diagnostics_;
  std::vector<State> states_;
  std::map<std::string, std::size_t, std::less<>> index_;
  Value::Object values_;
};

}  // namespace

Module::Module(Body body, ModuleOptions options, Diagnostics& diagnostics)
    : options_(std::move(options)), plain_(without_names(options_.base)) {
  auto [content, rest] = body.partial_content(top_schema(), diagnostics, "the file");
  rest_ = std::move(rest);
  for (const auto& block : content.blocks) {
    if (block.type == "locals") {
      read_locals(block, diagnostics);
    } else if (block.type == "variable") {
      read_variable(block, diagnostics);
    } else {
      read_defaults(block, diagnostics);
    }
  }
}

void Module::declare(Variable variable, Diagnostics& diagnostics) {
  const auto [twin, fresh] = variable_places_.try_emplace(variable.name, variable.range);
  if (fresh) return variables_.push_back(std::move(variable));
  diagnostics.error(variable.range, fmt::format("the variable '{}' is declared twice", variable.name),
                    fmt::format("first declared at {}", twin->second.where()));
}

void Module::read_variable(const Block& block, Diagnostics& diagnostics) {
  Variable variable;
  variable.name = block.label(0);
  variable.range = block.range;
  const Content content =
      block.body.content(variable_schema(), diagnostics, fmt::format("the variable '{}'", variable.name));
  if (const Attribute* type = content.find("type")) {
    if (auto parsed = parse_type(type->expression, options_.types, diagnostics)) {
      variable.type = std::move(*parsed);
      variable.typed = true;
    }
  }
  if (const Attribute* description = content.find("description")) {
    const auto value = description->expression.evaluate(plain_, diagnostics);
    if (value) variable.description = to_text(*value).value_or("");
  }
  if (const Attribute* standard = content.find("default")) read_default(*standard, variable, diagnostics);
  for (const Block* rule : content.blocks_of("validation")) {
    const Content fields = rule->body.content(validation_schema(), diagnostics, "a validation");
    const Attribute* condition = fields.find("condition");
    const Attribute* message = fields.find("error_message");
    if (condition != nullptr && message != nullptr)
      variable.validations.push_back({condition->expression, message->expression});
  }
  declare(std::move(variable), diagnostics);
}

/// A default without a type sets it, if it is a scalar: the environment's text is then read accordingly.
void Module::read_default(const Attribute& standard, Variable& variable, Diagnostics& diagnostics) {
  const auto value = standard.expression.evaluate(plain_, diagnostics);
  if (!value) return;
  if (!variable.typed && value->depth() == 0) variable.type = type_of(*value);
  try {
    variable.standard = convert(*value, variable.type);
  } catch (const Error& e) {
    diagnostics.error(standard.expression.range(),
                      fmt::format("the default does not fit the variable '{}'", variable.name),
                      fmt::format("its type is {}; {}", variable.type.to_string(), e.message()));
  }
}

void Module::read_defaults(const Block& block, Diagnostics& diagnostics) {
  for (const auto& attribute : block.body.just_attributes(diagnostics, "'variables'")) {
    Variable variable;
    variable.name = attribute.name;
    variable.range = attribute.name_range;
    read_default(attribute, variable, diagnostics);
    declare(std::move(variable), diagnostics);
  }
}

void Module::read_locals(const Block& block, Diagnostics& diagnostics) {
  for (auto& attribute : block.body.just_attributes(diagnostics, "'locals'")) {
    const auto [twin, fresh] = local_places_.try_emplace(attribute.name, attribute.name_range);
    if (!fresh) {
      diagnostics.error(attribute.name_range, fmt::format("the local '{}' is defined twice", attribute.name),
                        fmt::format("first defined at {}", twin->second.where()));
      continue;
    }
    locals_.push_back(std::move(attribute));
  }
}

Context Module::context(const Inputs& inputs, Diagnostics& diagnostics) const {
  Context context = options_.base;
  try {
    context.set("var", Value::object(InputReader(variables_, inputs, plain_, diagnostics).read()));
    for (const auto& variable : variables_) {
      if (context.find("var")->find(variable.name) != nullptr) validate(variable, context, diagnostics);
    }
    LocalsResolver(locals_, context, diagnostics).run();
  } catch (const Error& e) {  // the values together pass a limit
    diagnostics.error({}, e.message(), e.reasons().empty() ? "" : e.reasons().front());
  }
  return context;
}

}  // namespace underway::hcl
