#pragma once
/// @file
/// The classes of impact, and how the parts of one change make its class.

#include <string>
#include <vector>

#include "model/impact.hpp"

namespace underway::impact {

using model::Impact;
using model::Judgement;

/// What one part of a change does: "job 'mail' is replaced, and away until the new one runs".
struct Finding {
  Impact impact = Impact::none;
  std::string text;
};

/// The worst of what was found. Findings of that class are told, the first few of them in full.
Judgement judgement_of(const std::vector<Finding>& findings);

/// "drain: 4 nodes are emptied": for people.
std::string sentence(const Judgement& judgement);

/// At most `most` bytes, and whole characters of UTF-8.
std::string shortened(std::string text, std::size_t most);

/// "1 file", "3 files".
std::string counted(std::size_t number, std::string_view what);

}  // namespace underway::impact
