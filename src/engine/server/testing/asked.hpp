#pragma once
/// @file
/// A request for a test that wants something which no request of the server does: what `function` decides.

#include "server/request.hpp"

namespace underway::server::testing {

/// `function(const Tables&, const Context&)` returns a Decision.
template <class Function>
struct Asked {
  Function function;
};

template <class Function>
auto decide(const Tables& tables, const Asked<Function>& request, const Context& context) {
  return request.function(tables, context);
}

/// What a test hands in, as a request: it is one, or a function as above.
template <Request R>
R asked(R request) {
  return request;
}
template <class Function>
  requires(!Request<Function>)
Asked<Function> asked(Function function) {
  return {std::move(function)};
}

/// Puts what it is given.
struct PutChanges {
  std::vector<Change> changes;
};
inline Decision<Nothing> decide(const Tables&, const PutChanges& request, const Context&) {
  return {request.changes, {}};
}

}  // namespace underway::server::testing
