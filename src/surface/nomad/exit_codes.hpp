#pragma once
/// @file
/// With what the commands end that end as Nomad's do (its command package, 1.6: each Run returns it).

namespace underway::nomad {

constexpr int kFailed = 1;
constexpr int kNotPlaced = 2;         ///< of job run and the like: not all allocations found a place
constexpr int kUnknownCommand = 127;  ///< that of its library, mitchellh/cli
constexpr int kPlanFailed = 255;      ///< of job plan, whose 1 means that something would change

}  // namespace underway::nomad
