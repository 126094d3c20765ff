#include "agent/config/reference.hpp"

#include "agent/config/config.hpp"
#include "agent/config/nomad_keys.hpp"
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

constexpr const char* kCompatText = R"(
## The switch `nomad_compat`

`nomad_compat = true` in the agent's configuration: what the rest of the configuration leaves open is as in Nomad where
Underway protects more, so that clients and test suites made for Nomad run as they are. What the configuration says
itself holds: `tls { http = true }` beside the switch stays TLS. When it starts, the agent tells each thing that it gave
up, whatever `log_level` says, and what gives it back.

| what | with the switch, at a loopback address | at another address | to have it back |
| --- | --- | --- | --- |
| the API on TCP, where no `tls` block says `http` or has a certificate | plain | plain, told as an error | `tls { http = true }` |
| tokens, where no `acl` block says `enabled` | none are needed | needed | `acl { enabled = true }` |
| the first token | whoever asks first makes it | root, at the socket | `acl { network_bootstrap = false }` |
| secrets of tokens | management tokens read them again | the same | `acl { readable_token_secrets = false }` |
| rights of jobs over their hosts, root by an enabled `raw_exec` among them | every namespace gives all | the same | `server { raw_exec_as_root = false }` |
| a service that is registered without a provider | `consul`, in the built-in catalogue | the same | `server { service_provider = "nomad" }` |

At an address that other machines reach, the switch alone lets nobody in who shows nothing: for servers without tokens
(`acl { enabled = false }`) and for a first token that goes to whoever asks first (`acl { network_bootstrap = true }`)
the configuration must say that very thing, and the agent tells both as errors. A cluster whose root works at the
socket has often no token yet; a file copied to its server must not give it to the first caller of the network.

It is never on by itself for `underway agent`. Called by the name `nomad`, an agent turns it on when its configuration
does not name it, at a loopback address alone,

- with `-dev`,
- with `UNDERWAY_NOMAD_COMPAT=true` in the environment: for suites that write the agent's whole configuration
  themselves, as those of Nomad's Go client do. `UNDERWAY_NOMAD_COMPAT=false` keeps it off with `-dev` too.

`nomad_compat = false` in the configuration goes before both. An agent without the server role has nothing to give up.
)";

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
             "<!-- generated from the descriptions in src/surface/agent/config/config.cpp; UNDERWAY_ACCEPT=1 with the "
             "agent "
             "tests "
             "rewrites it -->",
             describe::structure_of<Config>(), "configuration") +
         kCompatText + nomad_keys_text();
}

}  // namespace underway::agent
