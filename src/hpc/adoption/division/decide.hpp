#pragma once
/// @file
/// The rules: from what was gathered of a service to its verdict. Pure.

#include "adoption/division/gather.hpp"

namespace underway::adoption {

/// What the rules see beside the service.
struct Surroundings {
  bool host_known = false;   ///< the machine told what listens
  std::int64_t packets = 0;  ///< of the whole traffic
  std::int64_t lost = 0;
  Duration span{0};  ///< that the traffic covers
};

/// Sets verdict, rule, reason and confidence by the first rule that fits. Dependencies are not looked at.
void decide(Gathered& gathered, const Surroundings& around);

/// Where somebody needs a service more than its own traffic shows, it gets their verdict. Fills needs and needed_by.
void inherit(Gathering& gathering);

/// What could be better than moving it.
void advise(Gathered& gathered, const inspection::HostSurvey* host, const Surroundings& around);

}  // namespace underway::adoption
