#pragma once
/// @file
/// Decisions about the key that signs manifests. A rotation has two steps: nodes learn to believe the new key while the
/// old one signs; once every node that is alive has said that it does, the new one signs and the old one is withdrawn.
/// A node that was away takes the steps when it is back.

#include "provision/sync_build.hpp"
#include "server/decision.hpp"

namespace underway::provision {

/// How the key stands, for people. Keys are said by their thumbprints.
struct KeyState {
  std::string key;
  std::int64_t since = 0;  ///< ns since the epoch; 0: from the beginning
  std::string next;        ///< that nodes learn to believe; empty: no rotation is under way
  std::int64_t next_since = 0;
  std::int64_t serial = 0;           ///< of the newest step
  std::vector<std::string> waiting;  ///< nodes that are alive and have not taken it
  std::vector<std::string> behind;   ///< nodes that are not, and will when they are back
};

/// Nothing: there is no key yet.
std::optional<KeyState> key_state(const tables::Tables& tables);

/// Begins a rotation. Errors: unavailable (no key yet), conflict (one is under way, or the key is another meanwhile).
struct IntroduceKey {
  model::FileKey next;
  model::FileKeyStep step;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const IntroduceKey& request,
                                         const server::Context& context);
/// Ends it, when every node that is alive has taken the step before; with `force` at once. The result is whether it
/// did; nothing happens when it is over already.
struct WithdrawKey {
  model::FileKeyStep step;
  bool force = false;
};
server::Decision<bool> decide(const tables::Tables& tables, const WithdrawKey& request, const server::Context& context);

const describe::Structure& description(describe::Tag<KeyState>);

}  // namespace underway::provision
