#pragma once
/// @file
/// The function library: Nomad's 83 functions and `templatefile`, as tests/differential/hcl compares them. A table is
/// chosen once and given to a Context.

#include "hcl/value.hpp"

#include "base/error.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace underway::hcl {

class Budget;
class Context;

/// What a function is called with.
struct Call {
  std::span<const Value> arguments;
  const Context& context;  ///< of the calling expression; charge what you make to context.budget()
};

/// One argument is wrong: its place is marked instead of the whole call's.
class ArgumentError : public Error {
 public:
  ArgumentError(std::size_t index, std::string what) : Error(Code::invalid, std::move(what)), index_(index) {}
  std::size_t index() const { return index_; }

 private:
  std::size_t index_;
};

/// Throw ArgumentError (or Error) to refuse; the evaluator turns it into a diagnostic at the argument or the call.
struct Function {
  std::string_view parameters;  ///< for people: "list, index"
  std::size_t min = 0;
  std::size_t max = 0;  ///< kAny: no bound
  std::function<Value(const Call&)> run;
  bool null_allowed = false;  ///< else a null argument is refused before `run`
  static constexpr std::size_t kAny = static_cast<std::size_t>(-1);
};

class FunctionTable {
 public:
  FunctionTable() = default;  ///< empty
  explicit FunctionTable(std::map<std::string, Function, std::less<>> functions)
      : functions_(std::make_shared<const std::map<std::string, Function, std::less<>>>(std::move(functions))) {}

  const Function* find(std::string_view name) const;
  bool empty() const { return functions_ == nullptr || functions_->empty(); }
  /// Sorted; includes `try`, `can` and `convert` when the table is not empty, which the evaluator itself implements.
  std::vector<std::string> names() const;
  /// This table with `name` added or replaced.
  FunctionTable with(std::string name, Function function) const;

 private:
  std::shared_ptr<const std::map<std::string, Function, std::less<>>> functions_;
};

/// All functions that touch nothing but their arguments (uuidv4 and bcrypt draw random numbers).
/// Thread: any.
const FunctionTable& pure_functions();

/// pure_functions and abspath, basename, dirname, file, filebase64, fileexists, fileset, pathexpand, templatefile.
/// Relative paths start at `base`. Only for callers on the user's own machine: these functions read its files.
/// Blocks: yes (disk), when called.
FunctionTable file_functions(std::filesystem::path base);

/// Their names, so that a parser that refuses them can say why.
const std::vector<std::string>& file_function_names();

}  // namespace underway::hcl
