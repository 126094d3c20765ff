// Semantic versions, as Masterminds/semver 3.2 reads and compares them.
#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/language/literal.hpp"

#include <re2/re2.h>

#include <array>
#include <compare>

namespace underway::gotemplate {

namespace {

constexpr std::string_view kTail =
    R"((?:-([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?(?:\+([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?)";

std::vector<std::string> captured(const re2::RE2& regex, std::string_view text) {
  std::array<re2::StringPiece, 8> groups;
  const int count = regex.NumberOfCapturingGroups() + 1;
  const re2::StringPiece whole(text.data(), text.size());
  if (!regex.Match(whole, 0, text.size(), re2::RE2::ANCHOR_BOTH, groups.data(), count)) return {};
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.emplace_back(groups[static_cast<std::size_t>(i)]);
  return out;
}

struct Version {
  std::array<std::uint64_t, 3> numbers{};
  std::string prerelease;
  std::string metadata;
  std::string original;

  std::string text() const {
    std::string out = fmt::format("{}.{}.{}", numbers[0], numbers[1], numbers[2]);
    if (!prerelease.empty()) out += "-" + prerelease;
    if (!metadata.empty()) out += "+" + metadata;
    return out;
  }
};

Error invalid_version() { return Error(Code::invalid, "Invalid Semantic Version").advise("write it like 1.2.3"); }

/// "01" is no number of a prerelease.
void check_prerelease(const std::string& text) {
  if (text.empty()) return;
  for (const auto& part : split(text, '.'))
    if (part.size() > 1 && part[0] == '0' && part.find_first_not_of("0123456789") == std::string::npos)
      throw Error(Code::invalid, "Version segment starts with 0");
}

Version read_version(std::string_view text) {
  static const re2::RE2 kRegex(R"(v?([0-9]+)(\.[0-9]+)?(\.[0-9]+)?)" + std::string(kTail));
  const auto parts = captured(kRegex, text);
  if (parts.empty()) throw invalid_version();
  Version version{{}, parts[4], parts[5], std::string(text)};
  for (std::size_t i = 0; i < 3; ++i) {
    std::string_view number = parts[i + 1];
    if (number.starts_with('.')) number.remove_prefix(1);
    if (number.empty()) continue;
    const auto value = parse_natural(number, 10);
    if (!value) throw Error(Code::invalid, "Error parsing version segment: value out of range");
    version.numbers[i] = *value;
  }
  check_prerelease(version.prerelease);
  return version;
}

std::strong_ordering compare_parts(const std::string& a, const std::string& b) {
  if (a == b) return std::strong_ordering::equal;
  if (a.empty()) return std::strong_ordering::less;
  if (b.empty()) return std::strong_ordering::greater;
  const auto x = parse_natural(a, 10);
  const auto y = parse_natural(b, 10);
  if (!x && !y) return a <=> b;
  if (!y) return std::strong_ordering::less;
  if (!x) return std::strong_ordering::greater;
  return *x > *y ? std::strong_ordering::greater : std::strong_ordering::less;
}

std::strong_ordering compare_prereleases(const std::string& a, const std::string& b) {
  const auto x = split(a, '.');
  const auto y = split(b, '.');
  for (std::size_t i = 0; i < std::max(x.size(), y.size()); ++i) {
    const auto order = compare_parts(i < x.size() ? x[i] : "", i < y.size() ? y[i] : "");
    if (order != 0) return order;
  }
  return std::strong_ordering::equal;
}

std::strong_ordering compare(const Version& a, const Version& b) {
  if (const auto order = a.numbers <=> b.numbers; order != 0) return order;
  if (a.prerelease.empty() || b.prerelease.empty()) return b.prerelease.size() <=> a.prerelease.size();
  return compare_prereleases(a.prerelease, b.prerelease);
}

/// One comparison: "^1.2". A part that is missing, or 'x', is a wildcard.
struct Constraint {
  std::string operation;
  Version version;
  bool major_only = false;  ///< "1", "1.x"
  bool any_patch = false;   ///< "1.2", "1.2.x"
  bool wild = false;        ///< one of both, or "*"
};

bool is_wild(std::string_view part) {
  if (part.starts_with('.')) part.remove_prefix(1);
  return part.empty() || part == "x" || part == "X" || part == "*";
}

const std::string& constraint_pattern() {
  static const std::string kPattern = R"(v?([0-9|x|X|\*]+)(\.[0-9|x|X|\*]+)?(\.[0-9|x|X|\*]+)?)" + std::string(kTail);
  return kPattern;
}

Constraint read_constraint(const std::vector<std::string>& parts) {
  Constraint out;
  out.operation = parts[1];
  const std::string tail = parts[5].empty() ? "" : "-" + parts[5];
  std::string text;
  if (is_wild(parts[2])) {
    text = "0.0.0" + tail;
    out.wild = true;
  } else if (is_wild(parts[3])) {
    text = parts[2] + ".0.0" + tail;
    out.wild = out.major_only = true;
  } else if (is_wild(parts[4])) {
    text = parts[2] + parts[3] + ".0" + tail;
    out.wild = out.any_patch = true;
  } else {
    text = parts[2] + parts[3] + parts[4] + tail;
  }
  out.version = read_version(text);
  return out;
}

bool tilde(const Version& v, const Constraint& c) {
  const auto& wanted = c.version.numbers;
  if (compare(v, c.version) < 0) return false;
  if (wanted == std::array<std::uint64_t, 3>{} && !c.major_only && !c.any_patch) return true;
  return v.numbers[0] == wanted[0] && (v.numbers[1] == wanted[1] || c.major_only);
}

bool caret(const Version& v, const Constraint& c) {
  const auto& wanted = c.version.numbers;
  if (compare(v, c.version) < 0) return false;
  if (wanted[0] > 0 || c.major_only) return v.numbers[0] == wanted[0];
  if (v.numbers[0] > 0) return false;
  if (wanted[1] > 0 || c.any_patch) return v.numbers[1] == wanted[1];
  return v.numbers[1] == 0 && v.numbers[2] == wanted[2];
}

bool differs(const Version& v, const Constraint& c) {
  const auto& wanted = c.version.numbers;
  if (!c.wild) return compare(v, c.version) != 0;
  if (v.numbers[0] != wanted[0]) return true;
  if (v.numbers[1] != wanted[1] && !c.major_only) return true;
  if (c.major_only) return false;
  if (v.numbers[2] != wanted[2] && !c.any_patch) return true;
  if (c.any_patch) return v.prerelease != c.version.prerelease;
  return compare(v, c.version) != 0;
}

bool above(const Version& v, const Constraint& c) {
  const auto& wanted = c.version.numbers;
  if (!c.wild || v.numbers[0] != wanted[0]) return c.wild ? v.numbers[0] > wanted[0] : compare(v, c.version) > 0;
  if (c.major_only) return false;
  return c.any_patch ? v.numbers[1] > wanted[1] : compare(v, c.version) > 0;
}

bool at_most(const Version& v, const Constraint& c) {
  const auto& wanted = c.version.numbers;
  if (!c.wild) return compare(v, c.version) <= 0;
  return v.numbers[0] < wanted[0] || (v.numbers[0] == wanted[0] && (v.numbers[1] <= wanted[1] || c.major_only));
}

bool holds(const Version& v, const Constraint& c) {
  const std::string& op = c.operation;
  // A prerelease is no answer to a question that names none.
  const bool prerelease_unasked = !v.prerelease.empty() && c.version.prerelease.empty();
  if (op == "!=") return c.wild && prerelease_unasked ? false : differs(v, c);
  if (prerelease_unasked) return false;
  if (op.empty() || op == "=") return c.wild ? tilde(v, c) : compare(v, c.version) == 0;
  if (op == ">") return above(v, c);
  if (op == "<") return compare(v, c.version) < 0;
  if (op == ">=" || op == "=>") return compare(v, c.version) >= 0;
  if (op == "<=" || op == "=<") return at_most(v, c);
  return op == "^" ? caret(v, c) : tilde(v, c);
}

/// "1.2 - 1.4" as ">= 1.2, <= 1.4".
std::string without_ranges(std::string text) {
  static const re2::RE2 kRange("\\s*(" + constraint_pattern() + ")\\s+-\\s+(" + constraint_pattern() + ")\\s*");
  re2::RE2::GlobalReplace(&text, kRange, ">= \\1, <= \\7");
  return text;
}

/// Whether one of the alternatives between "||" holds: all of its comparisons.
bool satisfies(std::string_view constraints, const Call& call) {
  static const std::string kOne = R"((=||!=|>|<|>=|=>|<=|=<|~|~>|\^)\s*)" + constraint_pattern();
  static const re2::RE2 kValid("(?:\\s*" + kOne + "\\s*)(?:(?:\\s+|,\\s*)" + kOne + "\\s*)*");
  static const re2::RE2 kFind(kOne);
  static const re2::RE2 kWhole("\\s*" + kOne + "\\s*");
  std::vector<std::vector<Constraint>> alternatives;
  const std::string text = without_ranges(std::string(constraints));
  call.run.step(10 + text.size());
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 2) {
    end = text.find("||", begin);
    const std::string_view part = std::string_view(text).substr(begin, end - begin);
    const re2::StringPiece piece(part.data(), part.size());
    if (!re2::RE2::FullMatch(piece, kValid)) throw Error(Code::invalid, "improper constraint");
    std::vector<Constraint>& all = alternatives.emplace_back();
    re2::StringPiece rest = piece;
    std::array<re2::StringPiece, 7> groups;
    while (kFind.Match(rest, 0, rest.size(), re2::RE2::UNANCHORED, groups.data(), 7)) {
      const auto parts = captured(kWhole, {groups[0].data(), groups[0].size()});
      if (parts.empty()) throw Error(Code::invalid, "improper constraint");
      all.push_back(read_constraint(parts));
      rest.remove_prefix(static_cast<std::size_t>(groups[0].data() + groups[0].size() - rest.data()));
    }
  }
  const Version version = read_version(call.text(1));
  return std::ranges::any_of(alternatives, [&](const auto& all) {
    return std::ranges::all_of(all, [&](const Constraint& c) { return holds(version, c); });
  });
}

Value version_value(Version version);

/// What `semver` gives: its parts, and what Go's methods say of it.
class VersionObject final : public Object {
 public:
  explicit VersionObject(Version version) : version_(std::move(version)) {}
  std::string_view type_name() const override { return "*semver.Version"; }
  std::string text() const override { return version_.text(); }
  std::vector<std::string> member_names() const override {
    return {"Major",    "Minor",    "Patch",    "Prerelease", "Metadata", "Original",    "String",
            "IncMajor", "IncMinor", "IncPatch", "Compare",    "Equal",    "GreaterThan", "LessThan"};
  }
  bool takes_arguments(std::string_view name) const override {
    return name == "Compare" || name == "Equal" || name == "GreaterThan" || name == "LessThan";
  }
  std::optional<Value> member(std::string_view name, std::span<const Value> arguments) const override {
    if (takes_arguments(name)) return compared(name, arguments);
    constexpr std::array<std::string_view, 3> kNumbers = {"Major", "Minor", "Patch"};
    for (std::size_t i = 0; i < 3; ++i) {
      if (name == kNumbers[i]) return Value(version_.numbers[i]);
      if (name == "Inc" + std::string(kNumbers[i])) return next(i);
    }
    if (name == "Prerelease") return Value(version_.prerelease);
    if (name == "Metadata") return Value(version_.metadata);
    if (name == "Original") return Value(version_.original);
    if (name == "String") return Value(version_.text());
    return std::nullopt;
  }

 private:
  Value compared(std::string_view name, std::span<const Value> arguments) const {
    const auto* other = arguments.size() == 1 && arguments[0].kind() == Kind::object
                            ? dynamic_cast<const VersionObject*>(&arguments[0].as_object())
                            : nullptr;
    if (other == nullptr) throw Error(Code::invalid, fmt::format("{} takes another version", name));
    const auto order = compare(version_, other->version_);
    if (name == "Compare") return order < 0 ? -1 : order > 0 ? 1 : 0;
    if (name == "Equal") return order == 0;
    return name == "LessThan" ? order < 0 : order > 0;
  }

  /// The release that a prerelease leads to is its next patch.
  Value next(std::size_t part) const {
    Version out = version_;
    out.prerelease.clear();
    out.metadata.clear();
    if (part < 2 || version_.prerelease.empty()) ++out.numbers[part];
    for (std::size_t i = part + 1; i < 3; ++i) out.numbers[i] = 0;
    out.original = (version_.original.starts_with('v') ? "v" : "") + out.text();
    return version_value(std::move(out));
  }

  Version version_;
};

Value version_value(Version version) { return Value::object(std::make_shared<VersionObject>(std::move(version))); }

}  // namespace

std::vector<Function> version_functions() {
  constexpr Origin kSprig = Origin::sprig;
  return {
      {"semver", "version string", "A semantic version: .Major, .Minor, .Patch, .Prerelease, .IncMinor, .Compare, …",
       kSprig, [](const Call& c) { return version_value(read_version(c.text(0))); }},
      {"semverCompare", "constraint string, version string",
       "Whether the version satisfies the constraint: \"^1.2\", \">=1.0, <2.0\", \"1.x || 3.x\".", kSprig,
       [](const Call& c) -> Value { return satisfies(c.text(0), c); }},
  };
}

}  // namespace underway::gotemplate
