#pragma once
/// @file
/// Those who are connected to the keeper: they are told the state, and may say what is to happen. libc only: part of
/// the keeper.

#include "keeper/protocol.hpp"

namespace underway::keeper {

class Clients {
 public:
  /// The newest matter: an agent that was killed leaves a closed one, and no agent opens many.
  static constexpr int kMost = 4;

  /// Of the one in this place; -1 when there is none.
  int descriptor(int place) const { return clients_[place]; }
  /// Takes who knocks, if it is root or our own user, and tells the state.
  void admit(const State& state);
  void tell(const State& state);
  /// One message of the client into `text`; its length, 0 when there is none. Who has gone is forgotten.
  std::size_t receive(int place, char (&text)[kMaxPacket]);
  void drop_all();

 private:
  void drop(int& client);
  void tell(int& client, const State& state);

  int clients_[kMost] = {-1, -1, -1, -1};
  int next_ = 0;
};

}  // namespace underway::keeper
