/// @file
/// Any constraint on any node: no crash, no endless work, and versions that obey their own order.

#include "scheduler/feasibility/constraint.hpp"
#include "scheduler/feasibility/version.hpp"

#include "base/text.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace underway;
  // Three lines: what the node has, the operator, what it is compared with.
  const auto lines = split(std::string_view(reinterpret_cast<const char*>(data), size), '\n');
  const std::string left = lines[0];
  const std::string op = lines.size() > 1 ? lines[1] : "";
  const std::string right = lines.size() > 2 ? lines[2] : "";
  model::Node node;
  node.attributes["x"] = left;
  const model::Constraint constraint{"${attr.x}", op, right};
  const bool valid = !scheduler::validate(constraint).has_value();
  const bool held = scheduler::holds(constraint, node);
  if (scheduler::in_words(constraint).empty()) std::abort();
  // A bound that does not parse is met by nothing.
  const bool names_version = op == "version" || op == "semver";
  if (names_version && held && !valid && !right.starts_with("${")) std::abort();
  const auto a = scheduler::Version::parse_loose(left), b = scheduler::Version::parse_loose(right);
  if (a && b && a->compare(*b) != -b->compare(*a)) std::abort();
  if (a && a->compare(*a) != 0) std::abort();
  return 0;
}
