#include "gotemplate/execute.hpp"

#include "gotemplate/executor.hpp"
#include "gotemplate/format.hpp"

namespace underway::gotemplate {

Error Executor::located(Code code, const std::string& message) const {
  if (node_ == nullptr) return {code, fmt::format("template: {}: {}", program_.name, message)};
  const std::string source = to_source(*node_);
  Error error(code, fmt::format("template: {}:{}:{}: executing {} at <{}>: {}", program_.name,
                                line_of(program_.text, node_->position), column_of(program_.text, node_->position),
                                quote(template_), shortened(source), message));
  error.because(excerpt(program_.text, node_->position, source.size()));
  return error;
}

void Executor::wrap(const Error& error, std::string_view function) const {
  Error outer = located(error.code(), fmt::format("error calling {}: {}", function, error.message()));
  // A template that executes itself fails a thousand levels deep: the innermost places are those that help.
  constexpr std::size_t kMostReasons = 8;
  for (const auto& reason : error.reasons())
    if (outer.reasons().size() < kMostReasons) outer.because(reason);
  if (!error.advice().empty()) outer.advise(error.advice());
  throw outer;
}

void Executor::write(std::string_view text) {
  if (out_.size() + text.size() > inputs().limits.output)
    throw located(Code::too_large, fmt::format("the text is larger than {} bytes", inputs().limits.output))
        .advise("look for a loop that does not end");
  out_ += text;
}

void Executor::write_value(const ActionNode& node, const Value& value) {
  at(node);
  switch (value.kind()) {
    case Kind::nil:
      return write("<no value>");
    case Kind::text:
      return write(value.as_text());
    case Kind::function:
      fail(fmt::format("can't print {} of type {}", to_source(node), value.type_name()));
    default:
      return write(to_text(value, *this));
  }
}

std::string Executor::execute_all() {
  const auto& root = program_.templates.find(program_.name)->second;
  try {
    run_template(program_.name, root, inputs().data);
  } catch (const Error& error) {
    // Limits are reached anywhere; where they are, the place is known here.
    if (error.message().starts_with("template: ")) throw;
    Error outer = located(error.code(), error.message());
    if (!error.advice().empty()) outer.advise(error.advice());
    throw outer;
  }
  return std::move(out_);
}

void Executor::run_template(std::string_view name, const NodeList& nodes, const Value& dot) {
  const Level level(*this);
  const Scope scope(variables_);
  const std::string_view outer = std::exchange(template_, name);
  const std::size_t outer_first = std::exchange(first_variable_, variables_.size());
  variables_.push_back({"$", dot});
  walk(nodes, dot);
  first_variable_ = outer_first;
  template_ = outer;
}

std::string Executor::execute(std::string_view name, const Value& dot) {
  const auto found = program_.templates.find(name);
  if (found == program_.templates.end())
    throw Error(Code::invalid,
                fmt::format("template: no template {} associated with template {}", quote(name), quote(program_.name)));
  const Node* node = node_;
  std::string outer = std::exchange(out_, {});
  run_template(found->first, found->second, dot);
  node_ = node;
  std::string text = std::exchange(out_, std::move(outer));
  make(text.size());
  return text;
}

Executor::Flow Executor::walk(const NodeList& nodes, const Value& dot) {
  for (const auto& node : nodes) {
    const Flow flow = walk(*node, dot);
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Executor::Flow Executor::walk(const Node& node, const Value& dot) {
  at(node);
  step();
  switch (node.kind) {
    case NodeKind::text:
      write(static_cast<const TextNode&>(node).text);
      return Flow::next;
    case NodeKind::action: {
      const auto& action = static_cast<const ActionNode&>(node);
      const Value value = pipeline(*action.pipeline, dot);
      if (action.pipeline->variables.empty()) write_value(action, value);
      return Flow::next;
    }
    case NodeKind::branch_if:
    case NodeKind::branch_with:
      return branch(static_cast<const BranchNode&>(node), dot);
    case NodeKind::branch_range:
      return range(static_cast<const BranchNode&>(node), dot);
    case NodeKind::call_template:
      call_template(static_cast<const CallNode&>(node), dot);
      return Flow::next;
    case NodeKind::break_loop:
      return Flow::break_loop;
    case NodeKind::continue_loop:
      return Flow::continue_loop;
    default:
      fail("unknown node");
  }
}

Executor::Flow Executor::branch(const BranchNode& node, const Value& dot) {
  const Level level(*this);
  const Scope scope(variables_);
  const Value value = pipeline(*node.pipeline, dot);
  if (!value.truth()) return walk(node.otherwise, dot);
  return walk(node.body, node.kind == NodeKind::branch_with ? value : dot);
}

Executor::Flow Executor::range(const BranchNode& node, const Value& dot) {
  const Level level(*this);
  const Scope scope(variables_);
  const Value value = pipeline(*node.pipeline, dot);
  if (!range_over(node, value)) return walk(node.otherwise, dot);
  return Flow::next;
}

bool Executor::range_over(const BranchNode& node, const Value& value) {
  if (value.is_nil()) return false;
  if (const Map* map = value.members()) {
    // A copy: the body may change the map.
    make_elements(map->size() * 2);
    const std::vector<std::pair<std::string, Value>> members(map->begin(), map->end());
    for (const auto& [key, member] : members)
      if (!iterate(node, Value(key), member)) break;
    return !members.empty();
  }
  switch (value.kind()) {
    case Kind::list: {
      const List& items = value.as_list();
      for (std::size_t i = 0; i < items.size(); ++i)
        if (!iterate(node, Value(static_cast<std::int64_t>(i)), items[i])) break;
      return !items.empty();
    }
    case Kind::integer: {
      const std::int64_t count = value.as_integer();
      if (node.pipeline->variables.size() > 1)
        fail(fmt::format("can't use {} to iterate over more than one variable", count));
      for (std::int64_t i = 0; i < count; ++i)
        if (!iterate(node, Value(), Value(i))) break;
      return count > 0;
    }
    default:
      if (value.kind() == Kind::boolean || value.kind() == Kind::real)
        fail(fmt::format("range can't iterate over {}", to_text(value, *this)));
      // Go prints any value; a text may be a secret.
      fail(fmt::format("range can't iterate over a value of type {}", value.type_name()));
  }
}

bool Executor::iterate(const BranchNode& node, const Value& index, const Value& item) {
  step();
  const Value element = item.is_nil() ? Value::nil_interface() : item;
  const auto& names = node.pipeline->variables;
  if (node.pipeline->assigns) {
    if (names.size() > 1) variable(names[0]) = index;
    variable(names.back()) = element;
  } else if (!names.empty()) {
    variables_.back().value = element;
    if (names.size() > 1) variables_[variables_.size() - 2].value = index;
  }
  const Scope scope(variables_);
  return walk(node.body, element) != Flow::break_loop;
}

void Executor::call_template(const CallNode& node, const Value& dot) {
  const auto found = program_.templates.find(node.name);
  if (found == program_.templates.end()) fail(fmt::format("template {} not defined", quote(node.name)));
  const Value data = node.pipeline ? pipeline(*node.pipeline, dot) : Value();
  run_template(found->first, found->second, data);
}

Rendering render(const Template& entry, const Inputs& inputs) {
  Executor executor(entry.program(), inputs);
  Rendering rendering;
  try {
    rendering.text = executor.execute_all();
  } catch (const Error& error) {
    if (executor.all_missing().empty() || error.code() == Code::too_large) throw;
  }
  if (!executor.all_missing().empty()) rendering.text.reset();
  rendering.missing = executor.all_missing();
  rendering.dependencies = std::move(executor.dependencies());
  return rendering;
}

}  // namespace underway::gotemplate
