#pragma once
/// @file
/// What an expression may see while it is evaluated, and how much it may cost.

#include "hcl/functions.hpp"
#include "hcl/value.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace underway::hcl {

/// What one context's evaluations may cost together; small files can otherwise describe enormous values. A step is what
/// takes about 100 ns: a node, 16 bytes that are copied, compared or hashed, so many of bcrypt's rounds.
struct Limits {
  std::uint64_t steps = 10'000'000;
  std::uint64_t bytes = 64ull * 1024 * 1024;       ///< text and elements produced
  std::size_t string_bytes = 16ull * 1024 * 1024;  ///< one string
};

/// Counts against Limits; shared by all copies of a context. Throws Error(too_large) when a limit is passed.
class Budget {
 public:
  explicit Budget(Limits limits) : limits_(limits) {}
  void step(std::uint64_t count = 1);
  void produce(std::uint64_t bytes);
  /// One string of `bytes` is about to be made: checks string_bytes, then counts it.
  void produce_string(std::uint64_t bytes);
  /// One operation on a number of so many bits, and the room that it takes. Products and quotients cost the square.
  void number(std::uint64_t bits);
  /// Steps or bytes are used up: nothing more can be evaluated.
  bool spent() const { return steps_ > limits_.steps || bytes_ > limits_.bytes; }
  const Limits& limits() const { return limits_; }

 private:
  Limits limits_;
  std::uint64_t steps_ = 0;
  std::uint64_t bytes_ = 0;
};

/// Roots of an unknown name.
enum class UnknownRoots : std::uint8_t {
  error,  ///< plain HCL
  keep,   ///< Nomad's dialect: `attr.x` becomes the string "${attr.x}", to be resolved at run time
};

/// Cheap to copy; copies share the functions and the budget. Not for use by two threads at once.
class Context {
 public:
  /// Without functions, roots or dialect.
  explicit Context(Limits limits = {}) : budget_(std::make_shared<Budget>(limits)) {}

  /// Makes `name` a known root: `var` as an object, say. Replaces an earlier one.
  Context& set(std::string name, Value value);
  /// Forgets all roots.
  Context& clear();
  Context& functions(FunctionTable table);
  Context& unknown_roots(UnknownRoots treatment);
  /// These are kept, as by UnknownRoots::keep, and other unknown ones are errors.
  Context& keep_roots(std::set<std::string, std::less<>> names);

  const Value* find(std::string_view name) const;
  const std::map<std::string, Value, std::less<>>& roots() const { return *roots_; }
  const FunctionTable& functions() const { return functions_; }
  /// Whether this one, of which nothing is known, is kept.
  bool keeps(std::string_view root) const { return unknown_roots_ == UnknownRoots::keep || kept_roots_.contains(root); }
  Budget& budget() const { return *budget_; }

 private:
  std::shared_ptr<const std::map<std::string, Value, std::less<>>> roots_ =
      std::make_shared<const std::map<std::string, Value, std::less<>>>();
  FunctionTable functions_;
  UnknownRoots unknown_roots_ = UnknownRoots::error;
  std::set<std::string, std::less<>> kept_roots_;
  std::shared_ptr<Budget> budget_;
};

}  // namespace underway::hcl
