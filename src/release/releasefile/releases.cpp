#include "releasefile/releases.hpp"

#include <algorithm>

namespace underway::releasefile {
namespace {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

template <class T>
const T* find_named(const std::vector<T>& all, std::string_view name) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const T& it) { return it.name == name; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace

const Mirror* Releases::find_mirror(std::string_view name) const { return find_named(mirrors, name); }
const Repository* Releases::find_repository(std::string_view name) const { return find_named(repositories, name); }
const Tier* Releases::find_tier(std::string_view name) const { return find_named(tiers, name); }

const Enumeration& description(Tag<Format>) {
  static const Enumeration e = describe::enumeration<Format>("format of packages");
  return e;
}

const Structure& description(Tag<Mirror>) {
  static const Structure s =
      Builder<Mirror>("mirror", "A copy of an upstream repository.")
          .label<&Mirror::name>("name", "Name", "Its name.")
          .attribute<&Mirror::format>("format", "Format", "`deb` or `rpm`.")
          .attribute<&Mirror::url>("url", "URL",
                                   "Where upstream has it: of deb what has `dists/` below it, of rpm what has "
                                   "`repodata/`; https, http, or file for a directory of the server.")
          .attribute<&Mirror::suites>("suites", "Suites", "Of deb: the suites, as `bookworm`.")
          .attribute<&Mirror::components>("components", "Components", "Of deb: the components.")
          .attribute<&Mirror::architectures>("architectures", "Architectures",
                                             "Those that are taken; packages for all are taken with any.")
          .attribute<&Mirror::keys>(
              "keys", "Keys",
              "Files with OpenPGP keys, beside this file or with an absolute path. One of them has "
              "to have signed what is taken.")
          .attribute<&Mirror::filter>("filter", "Filter",
                                      "A query of the packages that are taken; without it everything is.")
          .attribute<&Mirror::with_dependencies>("with_dependencies", "WithDependencies",
                                                 "Whether what those depend on is taken, too.")
          .attribute<&Mirror::leave>("leave", "Leave",
                                     "Queries of packages that are never taken, as `Name (% linux-image-*)`.")
          .attribute<&Mirror::schedule>("schedule", "Schedule",
                                        "When upstream is looked at, as cron has it; empty: when somebody says so.")
          .attribute<&Mirror::max_age>("max_age", "MaxAge",
                                       "How old upstream's signature may be where it does not say itself until when "
                                       "it holds; 0: as old as it is.")
          .attribute<&Mirror::proxy>("proxy", "Proxy", "The proxy that leads there, as `http://proxy:3128`.")
          .done();
  return s;
}

const Structure& description(Tag<Repository>) {
  static const Structure s =
      Builder<Repository>("repository", "Packages of the site's own: what it patches, builds or pins.")
          .label<&Repository::name>("name", "Name", "Its name.")
          .attribute<&Repository::format>("format", "Format", "`deb` or `rpm`.")
          .attribute<&Repository::description>("description", "Description", "What it is for.")
          .attribute<&Repository::priority>("priority", "Priority",
                                            "Among the sources of a tier; mirrors have 500, and more goes before less, "
                                            "whatever the versions.")
          .done();
  return s;
}

const Structure& description(Tag<Tier>) {
  static const Structure s =
      Builder<Tier>("tier", "Nodes that get the same releases at the same time.")
          .label<&Tier::name>("name", "Name", "Its name.")
          .attribute<&Tier::from>(
              "from", "From",
              "The tier whose releases it takes, and no others; without it the tier takes mirrors and "
              "repositories as they are.")
          .attribute<&Tier::sources>("sources", "Sources",
                                     "Mirrors and repositories; where `from` is given they are those of that tier.")
          .attribute<&Tier::pools>("pools", "Pools", "Whose hosts follow it.")
          .attribute<&Tier::valid_for>(
              "valid_for", "ValidFor",
              "How long what is published holds: a node that is shown nothing newer refuses it "
              "then. It is signed anew long before.")
          .attribute<&Tier::keep>("keep", "Keep", "Releases that can be gone back to.")
          .done();
  return s;
}

const Structure& description(Tag<Releases>) {
  static const Structure s =
      Builder<Releases>("releases", "Where packages come from, and the tiers that they flow through.")
          .block<&Releases::mirrors>("mirror", "Mirrors", "Copies of upstream's repositories.")
          .block<&Releases::repositories>("repository", "Repositories", "Packages of the site's own.")
          .block<&Releases::tiers>("tier", "Tiers", "Build, test and production, or as a site has them.")
          .done();
  return s;
}

}  // namespace underway::releasefile
