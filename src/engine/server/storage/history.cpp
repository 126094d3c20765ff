#include "server/storage/history.hpp"

#include <algorithm>

#include "base/json/json.hpp"

namespace underway::server {
namespace {

/// A node that was away for more starts of the server than this takes what the server forgot meanwhile for orphans.
constexpr std::size_t kKept = 256;

const Epoch* find_epoch(const History& history, const std::string& id) {
  const auto it = std::ranges::find(history, id, &Epoch::id);
  return it == history.end() ? nullptr : &*it;
}

}  // namespace

const describe::Structure& description(describe::Tag<Epoch>) {
  static const describe::Structure s =
      describe::Builder<Epoch>("epoch", "A run of a server over a store.")
          .wire<&Epoch::id>("ID", "Random; made when the server was started.")
          .wire<&Epoch::last>("Last", "Revision of the store when it ended; 0: it goes on.")
          .done();
  return s;
}

History history_of(const Tables& tables) {
  const auto setting = tables.setting(kHistorySetting);
  return setting ? parse_history(*setting) : History();
}

History parse_history(const boost::json::value& setting) { return json::decode<History>(setting, kHistorySetting); }

boost::json::value to_setting(const History& history) { return json::to_value(history); }

void begin_epoch(std::vector<Change>& changes, const Tables& tables, const std::string& epoch, const Context& context) {
  History history = history_of(tables);
  if (!history.empty() && history.back().id == epoch) return;
  if (!history.empty() && history.back().last == 0) history.back().last = context.revision - 1;
  history.push_back({epoch});
  if (history.size() > kKept) history.erase(history.begin(), history.end() - kKept);
  changes.push_back(tables::PutSetting{kHistorySetting, to_setting(history)});
}

std::map<std::string, model::Revision> reached(const History& history,
                                               const std::vector<protocol::OrderedAllocation>& ordered,
                                               model::Revision revision) {
  std::map<std::string, model::Revision> out;
  for (const auto& order : ordered) {
    if (out.contains(order.origin.epoch)) continue;
    if (const auto* epoch = find_epoch(history, order.origin.epoch))
      out.emplace(epoch->id, epoch->last == 0 ? revision : epoch->last);
  }
  return out;
}

History with_restored(const History& current, History restored, model::Revision revision) {
  for (auto& epoch : restored) {
    if (epoch.last == 0) epoch.last = revision;
    if (const auto* here = find_epoch(current, epoch.id)) epoch.last = std::max(epoch.last, here->last);
  }
  // In their order, so that what begins next goes on from what this server is in.
  std::erase_if(restored, [&](const Epoch& epoch) {
    const auto* here = find_epoch(current, epoch.id);
    return here != nullptr && here->last == 0;
  });
  for (const auto& epoch : current) {
    if (find_epoch(restored, epoch.id) == nullptr) restored.push_back(epoch);
  }
  return restored;
}

}  // namespace underway::server
