#pragma once
/// @file
/// Walks a program. `at` remembers the node that an error would show, at the same places as Go's executor does.

#include "gotemplate/language/program.hpp"
#include "gotemplate/run.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <boost/container/small_vector.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace underway::gotemplate {

class Executor final : public Run {
 public:
  Executor(const Program& program, const Inputs& inputs) : Run(inputs), program_(program) {}

  std::string execute_all();
  std::string execute(std::string_view name, const Value& dot) override;
  Value call(const Value& function, std::span<const Value> arguments) override;

 private:
  enum class Flow : std::uint8_t { next, break_loop, continue_loop };
  using Arguments = boost::container::small_vector<Value, 4>;
  using Operands = std::span<const NodePtr>;
  struct Variable {
    std::string_view name;
    Value value;
  };
  class Level;  ///< counts what is open inside each other
  class Scope;  ///< forgets the variables declared inside

  // Walking: execute.cpp.
  Flow walk(const NodeList& nodes, const Value& dot);
  Flow walk(const Node& node, const Value& dot);
  void run_template(std::string_view name, const NodeList& nodes, const Value& dot);
  void write(std::string_view text);
  void write_value(const ActionNode& node, const Value& value);
  Flow branch(const BranchNode& node, const Value& dot);
  Flow range(const BranchNode& node, const Value& dot);
  /// Runs the body once; false at a break.
  bool iterate(const BranchNode& node, const Value& index, const Value& element);
  /// Whether there was anything; sets `flow_stopped` by itself.
  bool range_over(const BranchNode& node, const Value& value);
  void call_template(const CallNode& node, const Value& dot);

  // Evaluating: evaluate.cpp.
  Value pipeline(const PipelineNode& node, const Value& dot);
  Value command(const CommandNode& command, const Value& dot, const Value* piped);
  Value constant(const ConstantNode& node);
  Value member(const Value& receiver, const std::string& name, const Node& node, const Value& dot, Operands arguments,
               const Value* piped);
  Value member_of_map(const Map& map, const std::string& name, bool has_arguments);
  Value members(Value receiver, std::span<const std::string> names, const Node& node, const Value& dot,
                Operands arguments, const Value* piped);
  Value variable_path(const PathNode& node, const Value& dot, Operands arguments, const Value* piped);
  Value chain(const ChainNode& node, const Value& dot, Operands arguments, const Value* piped);
  /// `shown` is what an error of the function shows: the command, or the name alone.
  Value function(const IdentifierNode& node, const Node& shown, const Value& dot, Operands arguments,
                 const Value* piped);
  Value short_circuit(const Function& function, const Value& dot, Operands arguments, const Value* piped);
  Value invoke(const Function& function, std::span<const Value> arguments);
  Value argument(const Node& node, Type type, const Value& dot);
  Value constant_argument(const Node& node, Type type);
  /// `value` as a parameter of this type takes it.
  Value fit(Value value, Type type);
  void not_a_function(const CommandNode& command, const Value* piped);

  Value& variable(std::string_view name);
  void at(const Node& node) { node_ = &node; }
  /// The error that `message` is at the current node.
  Error located(Code code, const std::string& message) const;
  [[noreturn]] void fail(const std::string& message) const { throw located(Code::invalid, message); }
  [[noreturn]] void wrap(const Error& error, std::string_view function) const;

  const Program& program_;
  std::string out_;
  std::vector<Variable> variables_;
  std::size_t first_variable_ = 0;  ///< of the template that is executed
  std::string_view template_;
  const Node* node_ = nullptr;
  std::string callee_;  ///< of `call`, as written
  unsigned depth_ = 0;
};

class Executor::Level {
 public:
  explicit Level(Executor& executor) : executor_(executor) {
    if (++executor.depth_ > executor.inputs().limits.depth) {
      --executor.depth_;
      throw executor.located(Code::too_large,
                             fmt::format("exceeded maximum template depth ({})", executor.inputs().limits.depth));
    }
  }
  ~Level() { --executor_.depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  Executor& executor_;
};

class Executor::Scope {
 public:
  explicit Scope(std::vector<Variable>& variables) : variables_(variables), mark_(variables.size()) {}
  ~Scope() { close(); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  void close() { variables_.erase(variables_.begin() + static_cast<std::ptrdiff_t>(mark_), variables_.end()); }

 private:
  std::vector<Variable>& variables_;
  std::size_t mark_;
};

}  // namespace underway::gotemplate
