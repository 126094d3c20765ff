#pragma once
/// @file
/// The one dialect for a change: a request is a value that says what somebody wants, and beside it stands the function
/// that decides about it.
///
///     struct DrainNode { std::string node_id; … };
///     Decision<Nothing> decide(const Tables& tables, const DrainNode& request, const Context& context);
///
/// Whoever changes something, a route, a controller or a timer, says `co_await server.apply(request)`; whoever shows
/// what that would do says `server.preview(request)`, which asks the same function and commits nothing. So what a plan
/// shows cannot differ from what follows it.
///
/// A request owns what it is about: it may be decided after the coroutine that made it was cancelled.

#include <concepts>

#include "server/commit_hook.hpp"

namespace underway::server {

/// `decide` is found by argument-dependent look-up, so it stands in the namespace of R.
template <class R>
concept Request = requires(const R& request, const Tables& tables, const Context& context) {
  { decide(tables, request, context).changes } -> std::convertible_to<std::vector<Change>>;
  decide(tables, request, context).result;
};

/// What deciding about R answers.
template <Request R>
using ResultOf =
    decltype(decide(std::declval<const Tables&>(), std::declval<const R&>(), std::declval<const Context&>()).result);

/// The changes of `request` and what is kept beside them. Throws what either throws.
template <Request R>
Decision<ResultOf<R>> decided(const Tables& tables, const R& request, const CommitHook& hook, const Context& context) {
  auto decision = decide(tables, request, context);
  if (hook) hook(tables, context, decision.changes);
  return decision;
}

/// Changes nothing: of what is told beside a change that is made elsewhere, and of whoever waits until all that was
/// handed in before is durable.
struct ChangeNothing {};
inline Decision<Nothing> decide(const Tables&, const ChangeNothing&, const Context&) { return {}; }

}  // namespace underway::server
