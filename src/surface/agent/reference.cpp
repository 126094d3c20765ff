#include "agent/reference.hpp"

#include "agent/config.hpp"
#include "agent/nomad_keys.hpp"
#include "jobspec/reference.hpp"

namespace underway::agent {

namespace {

std::string nomad_keys_text() {
  std::string out =
      "\n## Keys of Nomad that set nothing here\n\nA file of Nomad can stay as it is. Of keys that have nothing to set "
      "the agent warns when it starts; what would change\nwhat a site is protected from it refuses. `config validate` "
      "tells beforehand.\n\n| key | | why |\n| --- | --- | --- |\n";
  for (const auto& key : nomad_key_list())
    out += fmt::format("| `{}` | {} | {} |\n", key.path, key.refused ? "refused" : "no effect", key.words);
  return out;
}

}  // namespace

std::string configuration_reference() {
  return jobspec::structure_reference(
             "Agent configuration",
             "`underway agent -config PATH` reads a file, or every `*.hcl` and `*.json` of a directory in the order of "
             "their "
             "names;\nwhat comes later overrides what came before, key by key, and flags override files. The keys are "
             "Nomad's. An unknown key\nis refused with the nearest one that exists. Durations are written like "
             "`\"30s\"` or "
             "`\"1h15m\"`.\n\n"
             "<!-- generated from the descriptions in src/surface/agent/config.cpp; UNDERWAY_ACCEPT=1 with the agent "
             "tests "
             "rewrites it -->",
             describe::structure_of<Config>(), "configuration") +
         nomad_keys_text();
}

}  // namespace underway::agent
