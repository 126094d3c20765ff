#pragma once
/// @file
/// What a decision is: a pure function of the tables, a request and a Context; it returns the changes that the request
/// makes, or throws a refusal, and touches nothing. The Writer runs decisions one after another and makes their changes
/// durable together.

#include "base/random.hpp"
#include "tables/tables.hpp"

namespace underway::server {

using tables::Change;
using tables::Tables;

struct Context {
  TimePoint now;
  IdSource& ids;
  model::Revision revision = 0;  ///< of the commit that this decision will be part of
  /// Whether tasks may run as root by raw_exec in namespaces that do not say so: `agent -dev`, and tests.
  bool root_by_raw_exec = false;
};

template <class Result>
struct Decision {
  std::vector<Change> changes;
  Result result{};
};

struct Nothing {};

}  // namespace underway::server
