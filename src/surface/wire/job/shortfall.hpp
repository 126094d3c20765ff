#pragma once
/// @file
/// How what runs of a job differs from what is registered of it, and from what is asked for.

#include "base/json/describe.hpp"

namespace underway::wire {

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

const describe::Structure& description(describe::Tag<Shortfall>);

}  // namespace underway::wire
