#include "hcl/context.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

namespace underway::hcl {

void Budget::step(std::uint64_t count) {
  steps_ += count;
  if (steps_ > limits_.steps || count > limits_.steps) {
    throw Error(Code::too_large, "the expressions take too long to evaluate")
        .because(fmt::format("the limit is {} steps", limits_.steps));
  }
}

void Budget::produce(std::uint64_t bytes) {
  bytes_ += bytes;
  if (bytes_ > limits_.bytes || bytes > limits_.bytes) {
    throw Error(Code::too_large, "the expressions produce too much")
        .because(fmt::format("the limit is {}", human_bytes(limits_.bytes)));
  }
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
  return *this;
}

const Value* Context::find(std::string_view name) const {
  const auto found = roots_->find(name);
  return found == roots_->end() ? nullptr : &found->second;
}

}  // namespace underway::hcl
