#pragma once
/// @file
/// Nomad's commands, as that client names them. The conformance test asks this table whether a command or a flag is
/// there, and the program looks up in it what was typed.

#include "cli/command.hpp"

namespace underway::nomad {

using cli::Arguments;
using cli::Command;
using cli::Flag;

using Table = std::vector<Command>;

/// All of them, by name. A summary or the words of a flag that begin with "Refused" say that it is there to say no.
const Table& commands();
/// Another word for a command: `nomad run` for `nomad job run`.
struct Alias {
  std::string_view name, command;
};
const std::vector<Alias>& aliases();
/// By its name or alias; null when there is none.
const Command* find_command(std::string_view name);

/// The flags of every command that talks to a server, beside those of cli::server_flags().
const std::vector<Flag>& general_flags();
/// What of the environment is heard.
const std::vector<std::string_view>& environment();

inline bool is_refused(std::string_view words) { return words.starts_with("Refused"); }
/// Of a flag that is taken, and about which there is nothing to do here: whoever gives it is told so.
inline bool is_idle(std::string_view words) { return words.starts_with("Without effect"); }

// --- what the families of commands add
void add_job_commands(Table& table);
void add_job_changes(Table& table);
void add_alloc_commands(Table& table);
void add_node_commands(Table& table);
void add_deployment_commands(Table& table);
void add_eval_commands(Table& table);
void add_operator_commands(Table& table);
void add_acl_commands(Table& table);
void add_variable_commands(Table& table);
void add_service_commands(Table& table);
void add_scaling_commands(Table& table);
void add_other_commands(Table& table);
void add_refused_commands(Table& table);

/// One of ours, with what Nomad's has besides.
Command shared(const Command& ours, std::vector<Flag> more = {});
/// There to say no: whatever was typed behind it.
Command refused(std::string_view name, std::string_view words);

inline constexpr Flag kVerbose{"verbose", "", "Whole ids and exact times.", false};
inline constexpr Flag kDetach{"detach", "", "Returns at once instead of watching.", false};
inline constexpr Flag kUi{"ui", "", "Says that there is no web page to open.", false};
inline constexpr Flag kPolicyOverride{"policy-override", "", "Refused: there are no Sentinel policies to override.",
                                      false};
inline constexpr Flag kVaultNamespace{"vault-namespace", "NAME", "Refused: there is no Vault here.", false};
inline constexpr Flag kVaultToken{"vault-token", "TOKEN", "Refused: there is no Vault here.", false};
inline constexpr Flag kConsulToken{"consul-token", "TOKEN", "Refused: there is no Consul here.", false};
inline constexpr Flag kHcl1{"hcl1", "", "Refused: the former HCL is not read, which Nomad itself gave up.", false};
inline constexpr Flag kConsulNamespace{"consul-namespace", "NAME", "Refused: there is no Consul here.", false};

}  // namespace underway::nomad
