#include "package/difference.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "package/version.hpp"

namespace underway::package {

namespace {

using Some = std::vector<const Package*>;

bool same_text(std::string_view a, std::string_view b) {
  return a.size() == b.size() && (a.data() == b.data() || a == b);
}

bool identical(const Package& a, const Package& b) {
  return a.version == b.version && a.digest == b.digest && a.file == b.file && a.format == b.format &&
         same_text(a.description, b.description);
}

/// Of one name: its versions on one architecture, oldest first.
Some on_architecture(std::span<const Package> packages, std::string_view architecture) {
  Some out;
  for (const auto& package : packages) {
    if (package.architecture == architecture) out.push_back(&package);
  }
  return out;
}

ChangeKind kind_of_pair(const Package& before, const Package& after) {
  const int order = compare_versions(after.format, before.version, after.version);
  // Of versions that count the same, "1.0" and "1.00", the file tells.
  if (order != 0) return order < 0 ? ChangeKind::upgraded : ChangeKind::downgraded;
  if (before.digest != after.digest) return ChangeKind::rebuilt;
  return before.file != after.file ? ChangeKind::moved : ChangeKind::described;
}

/// Compares one name on one architecture.
class Group {
 public:
  Group(Some from, Some to, std::vector<PackageChange>& changes)
      : from_(std::move(from)), to_(std::move(to)), changes_(changes) {}

  void compare() {
    Some gone = from_, come = to_;
    take_pairs(gone, come, [](const Package&, const Package&) {}, identical);
    const auto change = [this](const Package& before, const Package& after) {
      changes_.push_back({kind_of_pair(before, after), &before, &after});
    };
    take_pairs(gone, come, change, [](const Package& a, const Package& b) { return a.version == b.version; });
    compare_newest(gone, come);
    for (const Package* package : gone) changes_.push_back({ChangeKind::removed, package, nullptr});
    for (const Package* package : come) changes_.push_back({ChangeKind::added, nullptr, package});
  }

 private:
  /// Takes those out of both that belong together.
  template <class Found, class Belong>
  static void take_pairs(Some& a, Some& b, Found found, Belong belong) {
    std::erase_if(a, [&](const Package* one) {
      const auto other = std::find_if(b.begin(), b.end(), [&](const Package* two) { return belong(*one, *two); });
      if (other == b.end()) return false;
      found(*one, **other);
      b.erase(other);
      return true;
    });
  }

  /// Takes out of `gone` and `come` what it tells of.
  void compare_newest(Some& gone, Some& come) {
    if (from_.empty() || to_.empty()) return;
    const Package& before = *from_.back();
    const Package& after = *to_.back();
    const int order = compare_versions(after.format, before.version, after.version);
    const bool is_gone = std::erase(gone, &before) > 0;
    const bool is_new = std::erase(come, &after) > 0;
    if (order == 0 && !(is_gone && is_new)) {
      if (is_gone) gone.push_back(&before);
      if (is_new) come.push_back(&after);
      return;
    }
    changes_.push_back({kind_of_pair(before, after), &before, &after, order < 0 ? !is_gone : order > 0 && !is_new});
  }

  Some from_, to_;
  std::vector<PackageChange>& changes_;
};

/// The packages at the front of `packages` that have the name of the first.
std::span<const Package> same_name(std::span<const Package> packages) {
  std::size_t size = 0;
  while (size < packages.size() && packages[size].name == packages.front().name) ++size;
  return packages.first(size);
}

bool comes_before(const PackageChange& a, const PackageChange& b) {
  const Package &x = a.either(), &y = b.either();
  if (const int order = x.architecture.compare(y.architecture); order != 0) return order < 0;
  if (const int order = compare_versions(x.format, x.version, y.version); order != 0) return order < 0;
  return std::tie(x.version, a.kind, x.digest) < std::tie(y.version, b.kind, y.digest);
}

/// Compares all of one name.
void compare_name(std::span<const Package> from, std::span<const Package> to, std::vector<PackageChange>& changes) {
  if (from.size() == 1 && to.size() == 1 && from[0].architecture == to[0].architecture && identical(from[0], to[0]))
    return;
  std::vector<std::string_view> architectures;
  for (const auto packages : {from, to}) {
    for (const auto& package : packages) architectures.push_back(package.architecture);
  }
  std::sort(architectures.begin(), architectures.end());
  architectures.erase(std::unique(architectures.begin(), architectures.end()), architectures.end());
  const auto begin = static_cast<std::ptrdiff_t>(changes.size());
  for (const auto architecture : architectures)
    Group(on_architecture(from, architecture), on_architecture(to, architecture), changes).compare();
  std::sort(changes.begin() + begin, changes.end(), comes_before);
}

}  // namespace

std::string_view to_string(ChangeKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"added",   "removed", "upgraded", "downgraded",
                                                      "rebuilt", "moved",   "described"};
  return kNames.at(static_cast<std::size_t>(kind));
}

ChangeCounts Difference::counts() const {
  ChangeCounts out;
  for (const auto& change : changes) ++out[change.kind];
  return out;
}

std::map<std::string, ChangeCounts> Difference::counts_by_architecture() const {
  std::map<std::string, ChangeCounts> out;
  for (const auto& change : changes) ++out[change.either().architecture][change.kind];
  return out;
}

Difference diff(const PackageList& from, const PackageList& to) {
  Difference out{from, to, {}};
  std::span<const Package> a = from.packages(), b = to.packages();
  while (!a.empty() || !b.empty()) {
    const int order = a.empty() ? 1 : b.empty() ? -1 : a.front().name.compare(b.front().name);
    const auto before = order <= 0 ? same_name(a) : std::span<const Package>();
    const auto after = order >= 0 ? same_name(b) : std::span<const Package>();
    compare_name(before, after, out.changes);
    a = a.subspan(before.size());
    b = b.subspan(after.size());
  }
  return out;
}

}  // namespace underway::package
