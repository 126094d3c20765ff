#pragma once
/// @file
/// Through which runs of servers a store has been. Each run of a server over a store is an epoch, with a random id, and
/// the store says how far it has been in each. So two copies of one store part as soon as servers run over them, and
/// whoever was told something at a revision of an epoch can tell whether a server's store has been there: not if it
/// was restored from a copy that is older than that, nor if it is another cluster's.

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
