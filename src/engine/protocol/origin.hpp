#pragma once
/// @file
/// Which orders a server may take back: those that its own store has been through.

#include "protocol/messages.hpp"

namespace underway::protocol {

/// Whether what was ordered at `origin` is in the history of a server whose store has been in `epochs` (by id) up to
/// their revisions. One that names no epoch counts as in it: no server has told its own yet.
bool is_in_history(const Origin& origin, const std::map<std::string, model::Revision>& epochs);

}  // namespace underway::protocol
