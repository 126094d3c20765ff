#pragma once
/// @file
/// The classes of impact, and how the parts of one change make its class.

#include <string>
#include <vector>

#include "base/describe.hpp"

namespace underway::impact {

/// In order of what is noticed. `brief` is finer than the three that are counted (no-impact, drain, outage): a service
/// is away for seconds and its clients ask again; no work ends, so it needs no window, yet it is told.
enum class Impact : std::uint8_t { none, brief, drain, outage };

/// What one part of a change does: "job 'mail' is replaced, and away until the new one runs".
struct Finding {
  Impact impact = Impact::none;
  std::string text;
};

struct Judgement {
  Impact impact = Impact::none;
  std::string why;  ///< the findings of that class, in one line
};

/// The worst of what was found. Findings of that class are told, the first few of them in full.
Judgement judgement_of(const std::vector<Finding>& findings);

/// "drain: 4 nodes are emptied": for people.
std::string sentence(const Judgement& judgement);

/// At most `most` bytes, and whole characters of UTF-8.
std::string shortened(std::string text, std::size_t most);

/// "1 file", "3 files".
std::string counted(std::size_t number, std::string_view what);

const describe::Enumeration& description(describe::Tag<Impact>);
const describe::Structure& description(describe::Tag<Judgement>);

}  // namespace underway::impact
