#pragma once
/// @file
/// What packages need of each other, over a whole list.

#include <memory>
#include <string>
#include <vector>

#include "package/list.hpp"
#include "package/relation.hpp"

namespace underway::closure {

/// Who offers what: by name, and by what `Provides` says. Of rpm also paths, as far as primary has them.
class Offers {
 public:
  explicit Offers(const package::PackageList& list);
  ~Offers();
  Offers(Offers&&) noexcept;
  Offers& operator=(Offers&&) noexcept;

  /// Everybody who fulfils it, the newest of each name first. One that is provided without a version fulfils none
  /// (Debian policy 7.5). Architectures are not looked at: a list is of one, and of what is for all.
  std::vector<const package::Package*> find(const package::Relation& relation) const;

 private:
  struct Index;
  std::unique_ptr<Index> index_;
};

/// `wanted`, and of `all` what they need, and what that needs: of each relation every alternative's newest package that
/// fulfils it, so that whoever installs has the choice that he would have with all. `Recommends` count as apt follows
/// them by default.
package::PackageList with_dependencies(const package::PackageList& all, const package::PackageList& wanted);

/// A package that cannot be installed any more.
struct Broken {
  std::string package;  ///< "name_version_architecture"
  std::string needs;    ///< "libssl3 (>= 3.0.0) | libssl1.1"
  std::string
      offered;  ///< who did, of those that are not there: "libssl3_3.0.11-1_amd64"; empty: nobody did before either
};

/// What of `kept` needs something that nobody in `kept` offers, and somebody in `all` does: what leaving packages out
/// breaks. Transitive: who needs one that is broken is broken too, and names it. In the order of the list.
std::vector<Broken> broken_by_leaving(const package::PackageList& kept, const package::PackageList& all);

}  // namespace underway::closure
