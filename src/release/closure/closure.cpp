#include "closure/closure.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/text.hpp"
#include "package/version.hpp"

namespace underway::closure {
namespace {

using package::Comparison;
using package::Package;
using package::PackageList;
using package::Relation;
using package::RelationKind;
using package::Relations;

/// A name that somebody offers, and in which version.
struct Offer {
  const Package* by = nullptr;
  std::string version;  ///< empty: in none
  bool own_name = false;
};

bool fulfils(const Offer& offer, const Relation& relation) {
  if (relation.comparison == Comparison::any) return true;
  return !offer.version.empty() &&
         package::satisfies(offer.by->format, offer.version, relation.comparison, relation.version);
}

/// What has to be there, so that it can be installed.
Relations needs_of(const Package& package, bool recommended) {
  auto out = package::relations(package, RelationKind::depends);
  const auto add = [&](RelationKind kind) {
    for (auto& each : package::relations(package, kind)) out.push_back(std::move(each));
  };
  // Of rpm these are among the others.
  if (package.format == package::Format::deb) add(RelationKind::pre_depends);
  if (recommended) add(RelationKind::recommends);
  return out;
}

std::string to_text(const std::vector<Relation>& alternatives) {
  std::vector<std::string> words;
  for (const auto& each : alternatives) words.push_back(package::to_string(each));
  return join(words, " | ");
}

/// rpm's own: what rpm itself can, not what another package offers.
bool is_of_the_installer(const Relation& relation) {
  return relation.is_rich || relation.name.starts_with("rpmlib(") || relation.name.starts_with("config(");
}

}  // namespace

struct Offers::Index {
  PackageList list;  // keeps the packages
  std::unordered_map<std::string_view, std::vector<Offer>> by_name;
  std::deque<std::string> names;  // of what is provided
};

Offers::Offers(const PackageList& list) : index_(std::make_unique<Index>()) {
  index_->list = list;
  for (const auto& each : index_->list.packages()) {
    index_->by_name[each.name].push_back({&each, each.version, true});
    for (const auto& alternatives : package::relations(each, RelationKind::provides)) {
      for (const auto& provided : alternatives) {
        const auto& name = index_->names.emplace_back(provided.name);
        index_->by_name[name].push_back({&each, provided.version, false});
      }
    }
  }
}
Offers::~Offers() = default;
Offers::Offers(Offers&&) noexcept = default;
Offers& Offers::operator=(Offers&&) noexcept = default;

std::vector<const Package*> Offers::find(const Relation& relation) const {
  std::vector<const Package*> out;
  const auto at = index_->by_name.find(relation.name);
  if (at == index_->by_name.end()) return out;
  for (const auto& offer : at->second) {
    if (fulfils(offer, relation)) out.push_back(offer.by);
  }
  // A list has the older ones first.
  std::reverse(out.begin(), out.end());
  return out;
}

PackageList with_dependencies(const PackageList& all, const PackageList& wanted) {
  const Offers offers(all);
  std::set<std::string> taken;
  std::vector<const Package*> next;
  const auto take = [&](const Package& package) {
    if (taken.insert(package.reference()).second) next.push_back(&package);
  };
  for (const auto& each : wanted.packages()) take(each);
  while (!next.empty()) {
    const auto* package = next.back();
    next.pop_back();
    for (const auto& alternatives : needs_of(*package, true)) {
      for (const auto& relation : alternatives) {
        std::set<std::string_view> names;  // of each the newest
        for (const auto* found : offers.find(relation)) {
          if (names.insert(found->name).second) take(*found);
        }
      }
    }
  }
  return all.filter([&](const Package& package) { return taken.contains(package.reference()); });
}

namespace {

/// Grows from what is missing: who needs one that is broken is broken.
class Breaking {
 public:
  Breaking(const PackageList& kept, const PackageList& all) : kept_(kept), offers_(kept), before_(all) {}

  std::vector<Broken> run() {
    bool more = true;
    while (more) {
      more = false;
      for (const auto& each : kept_.packages()) {
        if (broken_.contains(&each)) continue;
        if (auto found = look(each)) {
          broken_.emplace(&each, std::move(*found));
          gone_.insert(each.reference());
          more = true;
        }
      }
    }
    std::vector<Broken> out;
    for (const auto& each : kept_.packages()) {
      if (const auto at = broken_.find(&each); at != broken_.end()) out.push_back(std::move(at->second));
    }
    return out;
  }

 private:
  std::optional<Broken> look(const Package& package) const {
    for (const auto& alternatives : needs_of(package, false)) {
      if (std::any_of(alternatives.begin(), alternatives.end(), [&](const auto& it) { return holds(it); })) continue;
      for (const auto& relation : alternatives) {
        // What nobody offered before either is not broken by this.
        if (const auto offered = before_.find(relation); !offered.empty())
          return Broken{package.reference(), to_text(alternatives), offered.front()->reference()};
      }
    }
    return std::nullopt;
  }
  bool holds(const Relation& relation) const {
    if (is_of_the_installer(relation)) return true;
    const auto found = offers_.find(relation);
    return std::any_of(found.begin(), found.end(), [&](const auto* it) { return !gone_.contains(it->reference()); });
  }

  const PackageList& kept_;
  Offers offers_, before_;
  std::map<const Package*, Broken> broken_;
  std::set<std::string> gone_;
};

}  // namespace

std::vector<Broken> broken_by_leaving(const PackageList& kept, const PackageList& all) {
  return Breaking(kept, all).run();
}

}  // namespace underway::closure
