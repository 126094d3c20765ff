#pragma once
/// @file
/// The one switch `nomad_compat`: what a configuration leaves open is then as Nomad has it where Underway protects
/// more, so that programs and test suites made for Nomad run as they are. It never opens a server to strangers: without
/// a token, and to make the first one, nobody is let in from another machine unless the configuration says that very
/// thing. A file copied from a laptop to a cluster's server gives away the secrecy of the wire, loudly, and not the
/// cluster.

#include <string>
#include <vector>

#include "agent/config/config.hpp"

namespace underway::agent {

struct CompatLine {
  bool loud = false;  ///< others than who works on this machine may do harm by it
  std::string text;   ///< what was given up, and what gives it back
};

/// What the switch gave up, a line each, and what it did not although it is on. What the configuration sets itself is
/// its own word and not told. Nothing when the switch is off, but where only the way of calling asked for it.
std::vector<CompatLine> compat_report(const Config& config);

/// What turns the switch on by the way that the program is called: by its name `nomad`, with -dev or
/// `UNDERWAY_NOMAD_COMPAT=true` in the environment, for suites that write the agent's whole configuration themselves.
CompatBy compat_by_call(bool as_nomad, bool dev, const char* environment);

}  // namespace underway::agent
