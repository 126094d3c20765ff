#pragma once
/// @file
/// What is found by the beginning of an id, and by any part of a name. Source: Nomad's "Search HTTP API"; limits are
/// its defaults.

#include "api/request.hpp"
#include "wire/search/fuzzy_match.hpp"

namespace underway::api {

inline constexpr std::size_t kPrefixMatches = 20;     ///< of each context
inline constexpr std::size_t kFuzzyMatches = 100;     ///< of each context
inline constexpr std::size_t kShortestTerm = 2;       ///< characters that a fuzzy search asks for
inline constexpr std::size_t kFuzzyObjects = 20'000;  ///< objects of a kind that are looked at

template <class Match>
struct Found {
  std::map<std::string, std::vector<Match>> matches;  ///< by context
  std::map<std::string, bool> truncations;            ///< whether a context has more
};

/// Ids that begin with `prefix`, of what the caller may see. `context` "all": of every kind. Throws invalid for a
/// context that there is not, denied when the caller may see nothing of it.
Found<std::string> search(const tables::Tables& tables, const Request& request, const std::string& context,
                          const std::string& prefix);
/// Names that have `text` in them, in any case, those first that begin with it; of jobs also their groups, services,
/// tasks, images and commands. What has no name but an id is found by the beginning of that. Throws as search does, and
/// invalid when `text` is too short.
Found<wire::FuzzyMatch> fuzzy_search(const tables::Tables& tables, const Request& request, const std::string& context,
                                     const std::string& text);

}  // namespace underway::api
