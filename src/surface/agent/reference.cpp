#include "agent/reference.hpp"

#include "agent/config.hpp"
#include "jobspec/reference.hpp"

namespace underway::agent {

std::string configuration_reference() {
  return jobspec::structure_reference(
      "Agent configuration",
      "`underway agent -config PATH` reads a file, or every `*.hcl` and `*.json` of a directory in the order of their "
      "names;\nwhat comes later overrides what came before, key by key, and flags override files. The keys are "
      "Nomad's. An unknown key\nis refused with the nearest one that exists. Durations are written like `\"30s\"` or "
      "`\"1h15m\"`.\n\n"
      "<!-- generated from the descriptions in src/surface/agent/config.cpp; UNDERWAY_ACCEPT=1 with the agent tests "
      "rewrites it -->",
      describe::structure_of<Config>(), "configuration");
}

}  // namespace underway::agent
