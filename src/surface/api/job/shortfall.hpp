#pragma once
/// @file
/// How what runs of a job differs from what is registered of it, and from what is asked for: a rollout that failed,
/// stands still or goes on, and allocations that failed. Pure.

#include "tables/tables.hpp"

namespace underway::api {

/// A job that does not run as it is declared, although nothing is left to be declared.
struct Shortfall {
  std::string job;
  std::int64_t version = 0;  ///< the registered one
  bool needs_you = false;    ///< false: it is on its way
  bool goes_on = false;      ///< its rollout has no verdict yet
  std::string what;          ///< "version 3 failed on c1; 5 of 6 run version 2"
  std::string why;           ///< the first cause
  std::string advice;        ///< the next step
  bool operator==(const Shortfall&) const = default;
};

/// Nothing when all that runs of the job is of its version, and nothing of that failed. Batch work is not looked at.
std::optional<Shortfall> shortfall_of(const tables::Tables& tables, const model::Job& job, TimePoint now);

/// Whether its canaries wait to be promoted, and nothing but a person does that.
bool waits_for_person(const model::Deployment& rollout);

/// What became of an earlier version of the job that was specified as `proposed` is, where its rollout failed: it is
/// about to be brought again. Nothing when there was none.
std::optional<Shortfall> failed_before(const tables::Tables& tables, const model::Job& proposed);

const describe::Structure& description(describe::Tag<Shortfall>);

}  // namespace underway::api
