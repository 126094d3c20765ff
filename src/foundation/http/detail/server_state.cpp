#include "http/detail/server_state.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/text.hpp"

namespace underway::http::detail {
namespace {

/// "10.0.0.7:51442" without the port: a client's connections are one client's.
std::string without_port(const std::string& address) { return address.substr(0, address.rfind(':')); }

std::string party_of(const Peer& peer) {
  return peer.uid ? fmt::format("uid {}", *peer.uid) : without_port(peer.address);
}

}  // namespace

const std::string& ServerState::date() {
  const std::time_t now = std::time(nullptr);
  if (now != date_of_) {
    date_of_ = now;
    date_ = http_date(now);
  }
  return date_;
}

Budget::Share ServerState::place_for(const Peer& peer) {
  // Who could end this program anyway must get in when others have taken all there is.
  if (peer.uid && (*peer.uid == 0 || *peer.uid == ::geteuid())) return {};
  return {places, party_of(peer)};
}

Budget::Share ServerState::share_of(const Sender& sender, const Peer& peer) {
  if (sender.kind == Sender::Kind::trusted) return {};
  std::string party = sender.name.empty() ? party_of(peer) : sender.name;
  return {sender.kind == Sender::Kind::known ? bodies : strangers, std::move(party)};
}

/// Before any of it is taken: what will not fit is not asked for.
void ServerState::check_room(const Sender& sender, const Peer& peer, std::size_t declared) const {
  if (sender.kind == Sender::Kind::trusted) return;
  const auto& budget = sender.kind == Sender::Kind::known ? bodies : strangers;
  const std::string party = sender.name.empty() ? party_of(peer) : sender.name;
  if (declared > budget.total() / 2)
    throw Refused{413, fmt::format("request's body is too large{}: it has {}, and one sender may have {} under way",
                                   sender.kind == Sender::Kind::stranger ? " for one that shows no token" : "",
                                   human_bytes(declared), human_bytes(budget.total() / 2))};
  if (!budget.fits(party, declared)) throw no_room(sender);
}

Refused ServerState::no_room(const Sender& sender) const {
  const auto& budget = sender.kind == Sender::Kind::known ? bodies : strangers;
  return {503,
          fmt::format("there is no room for this request's body: {} of {} are held for bodies that are under way{}; "
                      "try again in a moment",
                      human_bytes(budget.held()), human_bytes(budget.total()),
                      sender.kind == Sender::Kind::stranger ? " of those who show no token" : "")};
}

}  // namespace underway::http::detail
