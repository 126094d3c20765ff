#pragma once
/// @file
/// One rendering as the functions see it: what it may still spend, and what it knows.

#include "base/allowance.hpp"
#include "gotemplate/execute.hpp"

#include <memory>
#include <string>
#include <vector>

namespace re2 {
class RE2;
}

namespace underway::gotemplate {

class Run {
 public:
  Run(const Inputs& inputs);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  /// Takes its maps apart: templates can make maps that hold each other.
  virtual ~Run();

  /// Throws Error(too_large) when the steps are used up, or what there is to compute on this thread (Allowance).
  void step(std::uint64_t count = 1) {
    steps_ += count;
    Allowance::spend(count);
    if (steps_ > inputs_.limits.steps) out_of_steps();
  }
  /// Call it before values of this size are made. Throws Error(too_large) when too much was made.
  void make(std::size_t bytes) {
    made_ += bytes;
    if (made_ > inputs_.limits.values || bytes > inputs_.limits.values) out_of_values();
  }
  /// The same for `count` elements of a list.
  void make_elements(std::uint64_t count);

  /// A map that this rendering may change.
  Value map(Map members = {}, Element element = Element::any);
  /// Whether this rendering made `map`.
  bool owns(const Value& map) const;
  /// Throws Error(invalid) when `map` belongs to the data.
  Map& change(const Value& map) const;

  /// Throws Error(unsupported) without a clock.
  TimePoint now() const;
  /// Throws Error(unsupported) without a source.
  DataSource& source() const;
  Dependencies& dependencies() { return dependencies_; }
  void missing(std::string what);
  const std::vector<std::string>& all_missing() const { return missing_; }
  const Inputs& inputs() const { return inputs_; }
  /// Where `scratch` keeps its values; nil until it is called.
  Value& scratch() { return scratch_; }

  /// Compiled once a rendering. Throws Error(invalid) when `pattern` is none (RE2's syntax, which is Go's), and charges
  /// for matching it with `text`.
  const re2::RE2& regex(std::string_view pattern, std::string_view text);

  /// The text of the template `name`, for executeTemplate.
  virtual std::string execute(std::string_view name, const Value& dot) = 0;
  /// Calls a value that is a function, for `call`.
  virtual Value call(const Value& function, std::span<const Value> arguments) = 0;

 private:
  [[noreturn]] void out_of_steps() const;
  [[noreturn]] void out_of_values() const;

  const Inputs& inputs_;
  std::uint64_t steps_ = 0;
  std::size_t made_ = 0;
  Dependencies dependencies_;
  std::vector<std::string> missing_;
  std::vector<std::shared_ptr<Value::MapNode>> maps_;
  Value scratch_;
  std::map<std::string, std::unique_ptr<re2::RE2>, std::less<>> regexes_;
};

}  // namespace underway::gotemplate
