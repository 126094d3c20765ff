#include "scheduler/feasibility/version.hpp"

#include "base/numbers.hpp"
#include "base/text.hpp"

#include <re2/re2.h>

namespace underway::scheduler {

namespace {

// The two expressions of go-version (version.go), which differ only in the optional hyphen of a prerelease.
constexpr const char* kLoose =
    R"(v?([0-9]+(?:\.[0-9]+)*)(?:-([0-9]+[0-9A-Za-z\-~]*(?:\.[0-9A-Za-z\-~]+)*)|-?([A-Za-z\-~]+[0-9A-Za-z\-~]*(?:\.[0-9A-Za-z\-~]+)*))?(?:\+[0-9A-Za-z\-~]+(?:\.[0-9A-Za-z\-~]+)*)?\??)";
constexpr const char* kSemver =
    R"(v?([0-9]+(?:\.[0-9]+)*)(?:-([0-9]+[0-9A-Za-z\-~]*(?:\.[0-9A-Za-z\-~]+)*)|-([A-Za-z\-~]+[0-9A-Za-z\-~]*(?:\.[0-9A-Za-z\-~]+)*))?(?:\+[0-9A-Za-z\-~]+(?:\.[0-9A-Za-z\-~]+)*)?\??)";
// Far beyond any real version; bounds the work on untrusted text.
constexpr std::size_t kLongest = 256;

std::optional<Version> parse(std::string_view text, const RE2& syntax) {
  if (text.size() > kLongest) return std::nullopt;
  re2::StringPiece numbers, numeric_pre, alpha_pre;
  if (!RE2::FullMatch(re2::StringPiece(text.data(), text.size()), syntax, &numbers, &numeric_pre, &alpha_pre))
    return std::nullopt;
  Version version;
  for (const auto& part : split(std::string_view(numbers.data(), numbers.size()), '.')) {
    const auto segment = parse_number<std::int64_t>(part);
    if (!segment) return std::nullopt;
    version.segments.push_back(*segment);
  }
  version.given_segments = version.segments.size();
  while (version.segments.size() < 3) version.segments.push_back(0);
  const re2::StringPiece& pre = alpha_pre.empty() ? numeric_pre : alpha_pre;
  version.prerelease.assign(pre.data(), pre.size());
  return version;
}

std::int64_t segment_at(const Version& version, std::size_t i) {
  return i < version.segments.size() ? version.segments[i] : 0;
}

int compare_segments(const Version& a, const Version& b) {
  for (std::size_t i = 0; i < std::max(a.segments.size(), b.segments.size()); ++i) {
    if (segment_at(a, i) != segment_at(b, i)) return segment_at(a, i) < segment_at(b, i) ? -1 : 1;
  }
  return 0;
}

/// Semantic Versioning 2.0.0, section 11: numbers below words, fewer fields below more. go-version differs in one
/// case, which we follow: a missing field is above a word ("1.0-1" is newer than "1.0-1.a").
int compare_part(const std::string& a, const std::string& b) {
  if (a == b) return 0;
  const auto a_number = parse_number<std::int64_t>(a), b_number = parse_number<std::int64_t>(b);
  if (a.empty()) return b_number ? -1 : 1;
  if (b.empty()) return a_number ? 1 : -1;
  if (a_number && b_number) return *a_number < *b_number ? -1 : (*a_number > *b_number ? 1 : 0);
  if (a_number) return -1;
  if (b_number) return 1;
  return a < b ? -1 : 1;
}

int compare_prereleases(const std::string& a, const std::string& b) {
  if (a == b) return 0;
  if (a.empty()) return 1;
  if (b.empty()) return -1;
  const auto as = split(a, '.'), bs = split(b, '.');
  for (std::size_t i = 0; i < std::max(as.size(), bs.size()); ++i) {
    const int order = compare_part(i < as.size() ? as[i] : "", i < bs.size() ? bs[i] : "");
    if (order != 0) return order;
  }
  return 0;
}

}  // namespace

std::optional<Version> Version::parse_loose(std::string_view text) {
  static const RE2 syntax(kLoose);
  return parse(text, syntax);
}

std::optional<Version> Version::parse_semver(std::string_view text) {
  static const RE2 syntax(kSemver);
  return parse(text, syntax);
}

int Version::compare(const Version& other) const {
  const int order = compare_segments(*this, other);
  return order != 0 ? order : compare_prereleases(prerelease, other.prerelease);
}

std::optional<VersionConstraint> VersionConstraint::parse(std::string_view text, VersionDialect dialect) {
  static constexpr std::array<std::pair<std::string_view, Bound>, 7> kBounds = {{{">=", Bound::greater_equal},
                                                                                 {"<=", Bound::less_equal},
                                                                                 {"!=", Bound::not_equal},
                                                                                 {"~>", Bound::pessimistic},
                                                                                 {"=", Bound::equal},
                                                                                 {">", Bound::greater},
                                                                                 {"<", Bound::less}}};
  if (text.size() > 4 * kLongest) return std::nullopt;
  VersionConstraint out;
  out.dialect_ = dialect;
  for (const auto& piece : split(text, ',')) {
    std::string_view rest = trim(piece);
    Bound bound = Bound::equal;
    for (const auto& [spelling, meaning] : kBounds) {
      if (!rest.starts_with(spelling)) continue;
      bound = meaning;
      rest = trim(rest.substr(spelling.size()));
      break;
    }
    if (bound == Bound::pessimistic && dialect == VersionDialect::semver) return std::nullopt;
    auto version = dialect == VersionDialect::semver ? Version::parse_semver(rest) : Version::parse_loose(rest);
    if (!version) return std::nullopt;
    out.clauses_.push_back({bound, std::move(*version)});
  }
  return out;
}

bool VersionConstraint::holds(const Version& version) const {
  return std::all_of(clauses_.begin(), clauses_.end(), [&](const Clause& c) { return clause_holds(c, version); });
}

bool VersionConstraint::clause_holds(const Clause& clause, const Version& version) const {
  const Version& wanted = clause.version;
  const int order = version.compare(wanted);
  if (clause.bound == Bound::equal) return order == 0;
  if (clause.bound == Bound::not_equal) return order != 0;
  // go-version's prereleaseCheck: a prerelease satisfies only bounds on prereleases of the same release.
  if (dialect_ == VersionDialect::loose && !version.prerelease.empty() &&
      (wanted.prerelease.empty() || compare_segments(version, wanted) != 0))
    return false;
  switch (clause.bound) {
    case Bound::greater:
      return order > 0;
    case Bound::less:
      return order < 0;
    case Bound::greater_equal:
      return order >= 0;
    case Bound::less_equal:
      return order <= 0;
    default:
      break;
  }
  // "~> 1.2.3" lets the last written segment grow and nothing before it.
  if (order < 0 || wanted.prerelease.empty() != version.prerelease.empty()) return false;
  if (wanted.segments.size() > version.segments.size()) return false;
  for (std::size_t i = 0; i + 1 < wanted.given_segments; ++i) {
    if (wanted.segments[i] != version.segments[i]) return false;
  }
  return wanted.segments.back() <= version.segments[wanted.segments.size() - 1];
}

}  // namespace underway::scheduler
