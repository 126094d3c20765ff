#include "scheduler/feasibility/constraint.hpp"

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "scheduler/feasibility/version.hpp"

#include <re2/re2.h>

#include <cmath>

namespace underway::scheduler {

using model::Constraint;
using model::Node;

namespace {

enum class Operator : std::uint8_t {
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  regexp,
  contains_all,
  contains_any,
  version,
  semver,
  is_set,
  is_not_set,
  distinct_hosts,
  distinct_property
};

// Source: Nomad's structs.Constraint operands (nomad/structs/structs.go).
constexpr std::array<std::pair<std::string_view, Operator>, 20> kOperators = {
    {{"=", Operator::equal},
     {"==", Operator::equal},
     {"is", Operator::equal},
     {"!=", Operator::not_equal},
     {"not", Operator::not_equal},
     {"<", Operator::less},
     {"<=", Operator::less_equal},
     {">", Operator::greater},
     {">=", Operator::greater_equal},
     {"regexp", Operator::regexp},
     {"set_contains", Operator::contains_all},
     {"set_contains_all", Operator::contains_all},
     {"set_contains_any", Operator::contains_any},
     {"version", Operator::version},
     {"semver", Operator::semver},
     {"is_set", Operator::is_set},
     {"is_not_set", Operator::is_not_set},
     {"distinct_hosts", Operator::distinct_hosts},
     {"distinct_property", Operator::distinct_property},
     {"", Operator::equal}}};

std::optional<Operator> parse_operator(std::string_view text) {
  for (const auto& [spelling, op] : kOperators) {
    if (spelling == text) return op;
  }
  return std::nullopt;
}

/// What compiling gives, kept: a job's constraints are checked on thousands of nodes. Dropped whole when it grows, so
/// that changing jobs cannot fill the memory.
template <auto compile>
const auto& cached(const std::string& text) {
  constexpr std::size_t kMost = 512;
  thread_local std::unordered_map<std::string, decltype(compile(text))> cache;
  const auto it = cache.find(text);
  if (it != cache.end()) return it->second;
  if (cache.size() >= kMost) cache.clear();
  return cache.emplace(text, compile(text)).first->second;
}

std::unique_ptr<RE2> compile_regexp(const std::string& text) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  return std::make_unique<RE2>(text, options);
}

std::optional<VersionConstraint> compile_version(const std::string& text) {
  return VersionConstraint::parse(text, VersionDialect::loose);
}

std::optional<VersionConstraint> compile_semver(const std::string& text) {
  return VersionConstraint::parse(text, VersionDialect::semver);
}

template <class Number>
std::optional<Number> as_number(const std::string& text) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);  // a sign that Go's parsers accept
  return parse_number<Number>(digits);
}

template <class T>
bool ordered(Operator op, const T& left, const T& right) {
  switch (op) {
    case Operator::less:
      return left < right;
    case Operator::less_equal:
      return left <= right;
    case Operator::greater:
      return left > right;
    default:
      return left >= right;
  }
}

bool compare_order(Operator op, const std::string& left, const std::string& right) {
  const auto left_int = as_number<std::int64_t>(left), right_int = as_number<std::int64_t>(right);
  if (left_int && right_int) return ordered(op, *left_int, *right_int);
  const auto left_float = as_number<double>(left), right_float = as_number<double>(right);
  if (left_float && right_float) return ordered(op, *left_float, *right_float);
  return ordered(op, left, right);
}

std::vector<std::string> items(const std::string& list) {
  std::vector<std::string> out;
  for (const auto& item : split(list, ',')) out.emplace_back(trim(item));
  return out;
}

bool contains(Operator op, const std::string& left, const std::string& right) {
  const auto have = items(left), want = items(right);
  const auto has = [&](const std::string& item) { return std::find(have.begin(), have.end(), item) != have.end(); };
  return op == Operator::contains_any ? std::any_of(want.begin(), want.end(), has)
                                      : std::all_of(want.begin(), want.end(), has);
}

bool matches_regexp(const std::string& text, const std::string& expression) {
  const auto& compiled = cached<compile_regexp>(expression);
  return compiled->ok() && RE2::PartialMatch(text, *compiled);
}

bool meets_version(const std::string& text, const std::string& bounds) {
  const auto& wanted = cached<compile_version>(bounds);
  const auto version = Version::parse_loose(text);
  return wanted && version && wanted->holds(*version);
}

bool meets_semver(const std::string& text, const std::string& bounds) {
  const auto& wanted = cached<compile_semver>(bounds);
  const auto version = Version::parse_semver(text);
  return wanted && version && wanted->holds(*version);
}

bool is_target(const std::string& text) { return text.starts_with("${") && text.ends_with("}"); }

std::optional<std::string> check_right_side(Operator op, const Constraint& constraint) {
  if (is_target(constraint.rtarget)) return std::nullopt;
  if (op == Operator::regexp) {
    const auto compiled = compile_regexp(constraint.rtarget);
    if (!compiled->ok()) return fmt::format("'{}' is no regular expression: {}", constraint.rtarget, compiled->error());
  }
  if (op == Operator::version && !compile_version(constraint.rtarget))
    return fmt::format("'{}' is no version constraint such as \">= 1.2, < 2.0\" or \"~> 1.4\"", constraint.rtarget);
  if (op == Operator::semver && !compile_semver(constraint.rtarget))
    return fmt::format("'{}' is no semantic version constraint such as \">= 1.2.0\"", constraint.rtarget);
  if (op == Operator::distinct_property && !constraint.rtarget.empty() &&
      as_number<std::int64_t>(constraint.rtarget).value_or(0) < 1)
    return fmt::format("distinct_property needs a count of at least 1, not '{}'", constraint.rtarget);
  return std::nullopt;
}

}  // namespace

bool holds(const Constraint& constraint, const Node& node) {
  const auto op = parse_operator(constraint.operand);
  if (!op) return false;
  if (*op == Operator::distinct_hosts || *op == Operator::distinct_property) return true;
  const auto left = model::resolve_target(constraint.ltarget, node);
  if (*op == Operator::is_set) return left.has_value();
  if (*op == Operator::is_not_set) return !left.has_value();
  const auto right = model::resolve_target(constraint.rtarget, node);
  if (*op == Operator::not_equal) return left != right;
  if (!left || !right) return false;
  switch (*op) {
    case Operator::equal:
      return *left == *right;
    case Operator::regexp:
      return matches_regexp(*left, *right);
    case Operator::contains_all:
    case Operator::contains_any:
      return contains(*op, *left, *right);
    case Operator::version:
      return meets_version(*left, *right);
    case Operator::semver:
      return meets_semver(*left, *right);
    default:
      return compare_order(*op, *left, *right);
  }
}

std::optional<std::string> validate(const Constraint& constraint) {
  const auto op = parse_operator(constraint.operand);
  if (!op) {
    std::vector<std::string> known;
    known.reserve(kOperators.size());
    for (const auto& [spelling, unused] : kOperators) known.emplace_back(spelling);
    const std::string near = nearest(constraint.operand, known);
    return fmt::format("unknown constraint operator '{}'{}", constraint.operand,
                       near.empty() ? std::string() : fmt::format("; did you mean '{}'?", near));
  }
  if (*op == Operator::distinct_hosts) {
    if (constraint.rtarget.empty() || constraint.rtarget == "true" || constraint.rtarget == "false")
      return std::nullopt;
    return fmt::format("distinct_hosts is true or false, not '{}'", constraint.rtarget);
  }
  if (constraint.ltarget.empty()) return fmt::format("constraint '{}' names no attribute", in_words(constraint));
  const bool needs_right = *op != Operator::is_set && *op != Operator::is_not_set && *op != Operator::distinct_property;
  if (needs_right && constraint.rtarget.empty() && *op != Operator::equal && *op != Operator::not_equal)
    return fmt::format("constraint '{}' has no value to compare with", in_words(constraint));
  return check_right_side(*op, constraint);
}

std::string in_words(const Constraint& constraint) {
  const std::string op = constraint.operand.empty() ? "=" : constraint.operand;
  std::string words = constraint.ltarget.empty() ? op : fmt::format("{} {}", constraint.ltarget, op);
  // "distinct_hosts = true" is written as its bare name by Nomad.
  if (!constraint.rtarget.empty() && !constraint.ltarget.empty()) words += " " + constraint.rtarget;
  return words;
}

bool escapes_class(const Constraint& constraint) {
  // Source: Nomad's EscapedConstraints: these prefixes are left out of the computed class.
  const auto unique = [](const std::string& target) {
    return target.starts_with("${attr.unique.") || target.starts_with("${meta.unique.") ||
           target.starts_with("${node.unique.");
  };
  return unique(constraint.ltarget) || unique(constraint.rtarget);
}

bool is_distinct(const Constraint& constraint) {
  return constraint.operand == "distinct_hosts" || constraint.operand == "distinct_property";
}

}  // namespace underway::scheduler
