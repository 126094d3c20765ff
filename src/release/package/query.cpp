#include "package/query.hpp"

#include <algorithm>

#include "package/detail/query_tree.hpp"

namespace underway::package {

namespace {

bool matches_node(const detail::QueryNode& node, const Package& package) {
  const auto matches_part = [&](const detail::QueryNode& part) { return matches_node(part, package); };
  switch (node.kind) {
    case detail::NodeKind::term:
      return detail::matches(node.term, package);
    case detail::NodeKind::all_of:
      return std::all_of(node.parts.begin(), node.parts.end(), matches_part);
    case detail::NodeKind::any_of:
      return std::any_of(node.parts.begin(), node.parts.end(), matches_part);
    case detail::NodeKind::none_of:
      return std::none_of(node.parts.begin(), node.parts.end(), matches_part);
  }
  return false;
}

}  // namespace

bool Query::matches(const Package& package) const { return matches_node(*root_, package); }

PackageList select(const PackageList& list, const Query& query) {
  return list.filter([&](const Package& package) { return query.matches(package); });
}

}  // namespace underway::package
