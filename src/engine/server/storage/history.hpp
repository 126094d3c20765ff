#pragma once
/// @file
/// Through which runs of servers a store has been. Each run of a server over a store is an epoch, with a random id, and
/// the store says how far it has been in each.
///
/// An administrator puts the copy of Monday in the place of a store that went on until Wednesday: the same revisions
/// are reached again, with other rows. A node that was ordered something on Tuesday names the epoch and the revision of
/// that order; the server sees that its store has never been there, and what runs goes on as an orphan instead of being
/// stopped as unknown. The same is true of a server of another cluster.

#include <map>

#include "protocol/messages.hpp"
#include "server/decision.hpp"

namespace underway::server {

struct Epoch {
  std::string id;
  model::Revision last = 0;  ///< how far the store was when it ended; 0: it goes on
};
using History = std::vector<Epoch>;  ///< oldest first

/// The setting that holds it.
inline constexpr const char* kHistorySetting = "store/epochs";

History history_of(const Tables&);
History parse_history(const boost::json::value& setting);
boost::json::value to_setting(const History&);

/// The server's run `epoch` is the last of the history; the one before it ended with the newest commit before this one.
/// Of very many, the oldest are forgotten. Without effect when it is so already.
void begin_epoch(std::vector<Change>& changes, const Tables&, const std::string& epoch, const Context&);

/// How far the store, now at `revision`, has been in each epoch that `ordered` names.
std::map<std::string, model::Revision> reached(const History&, const std::vector<protocol::OrderedAllocation>& ordered,
                                               model::Revision revision);

/// The history of a store in which a snapshot of `revision`, with the history `restored`, takes the place of what there
/// is: whoever follows either of them may follow it.
History with_restored(const History& current, History restored, model::Revision revision);

const describe::Structure& description(describe::Tag<Epoch>);

}  // namespace underway::server
