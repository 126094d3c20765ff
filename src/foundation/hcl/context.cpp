#include "hcl/context.hpp"

#include "base/allowance.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl {

namespace {

/// Counts that were refused stay refused, and do not wrap.
std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? UINT64_MAX : out;
}

}  // namespace

void Budget::step(std::uint64_t count) {
  Allowance::spend(count);
  steps_ = sum(steps_, count);
  if (steps_ > limits_.steps) {
    throw Error(Code::too_large, "this takes too long to evaluate")
        .because(fmt::format("a file may take {} steps, about {} s of computing", limits_.steps,
                             std::max<std::uint64_t>(1, limits_.steps / 10'000'000)))
        .advise("work it out beforehand, and write the result into the file");
  }
}

void Budget::produce(std::uint64_t bytes) {
  Allowance::make(bytes);
  bytes_ = sum(bytes_, bytes);
  if (bytes_ > limits_.bytes) {
    throw Error(Code::too_large, "this makes too much")
        .because(fmt::format("what a file makes may take {}", human_bytes(limits_.bytes)));
  }
}

void Budget::number(std::uint64_t bits) {
  if (bits <= 64) return;
  const std::uint64_t words = bits / 64;
  step(8 + words * words / 16);
  produce(bits / 8);
}

void Budget::produce_string(std::uint64_t bytes) {
  if (bytes > limits_.string_bytes) {
    throw Error(Code::too_large, "a string has become too large")
        .because(fmt::format("the limit is {}", human_bytes(limits_.string_bytes)));
  }
  produce(bytes);
}

Context& Context::set(std::string name, Value value) {
  auto roots = std::make_shared<std::map<std::string, Value, std::less<>>>(*roots_);
  roots->insert_or_assign(std::move(name), std::move(value));
  roots_ = std::move(roots);
  return *this;
}

Context& Context::clear() {
  roots_ = std::make_shared<const std::map<std::string, Value, std::less<>>>();
  return *this;
}

Context& Context::functions(FunctionTable table) {
  functions_ = std::move(table);
  return *this;
}

Context& Context::unknown_roots(UnknownRoots treatment) {
  unknown_roots_ = treatment;
  kept_roots_.clear();
  return *this;
}

Context& Context::keep_roots(std::set<std::string, std::less<>> names) {
  kept_roots_ = std::move(names);
  return *this;
}

const Value* Context::find(std::string_view name) const {
  const auto found = roots_->find(name);
  return found == roots_->end() ? nullptr : &found->second;
}

}  // namespace underway::hcl
