#pragma once
/// @file
/// Decisions about the key that signs manifests. A rotation has two steps: nodes learn to believe the new key while the
/// old one signs; once every node that is alive has said that it does, the new one signs and the old one is withdrawn.
/// A node that was away takes the steps when it is back.

#include "files/masters/build.hpp"
#include "server/decision.hpp"

namespace underway::files {

using model::FileKeyState;

/// Nothing: there is no key yet.
std::optional<FileKeyState> key_state(const tables::Tables& tables);

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

}  // namespace underway::files
