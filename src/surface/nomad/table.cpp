#include "nomad/table.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cli/impact/loss.hpp"

namespace underway::nomad {

const std::vector<Alias>& aliases() {
  static const std::vector<Alias> all = {{"action", "job action"},
                                         {"alloc-status", "alloc status"},
                                         {"client-config", "node config"},
                                         {"debug", "operator debug"},
                                         {"eval-status", "eval status"},
                                         {"exec", "alloc exec"},
                                         {"fs", "alloc fs"},
                                         {"init", "job init"},
                                         {"inspect", "job inspect"},
                                         {"keygen", "operator gossip keyring generate"},
                                         {"keyring", "operator gossip keyring"},
                                         {"logs", "alloc logs"},
                                         {"node-drain", "node drain"},
                                         {"node-status", "node status"},
                                         {"operator keygen", "operator gossip keyring generate"},
                                         {"operator keyring", "operator gossip keyring"},
                                         {"plan", "job plan"},
                                         {"run", "job run"},
                                         {"server-force-leave", "server force-leave"},
                                         {"server-join", "server join"},
                                         {"server-members", "server members"},
                                         {"stop", "job stop"},
                                         {"validate", "job validate"}};
  return all;
}

const std::vector<Flag>& general_flags() {
  static const std::vector<Flag> flags = {
      {"no-color", "", "No colours. Also NOMAD_CLI_NO_COLOR, NO_COLOR."},
      {"force-color", "", "Colours into pipes too. Also NOMAD_CLI_FORCE_COLOR."},
      {"ca-path", "DIR", "Certificates that are good, as a directory of PEM files. Also NOMAD_CAPATH."},
      {"insecure", "", "Believes any certificate of the server. Also NOMAD_SKIP_VERIFY."}};
  return flags;
}

const std::vector<std::string_view>& environment() {
  static const std::vector<std::string_view> names = {
      "NOMAD_ADDR",           "NOMAD_REGION",       "NOMAD_NAMESPACE",
      "NOMAD_TOKEN",          "NOMAD_CACERT",       "NOMAD_CAPATH",
      "NOMAD_CLIENT_CERT",    "NOMAD_CLIENT_KEY",   "NOMAD_TLS_SERVER_NAME",
      "NOMAD_SKIP_VERIFY",    "NOMAD_CLI_NO_COLOR", "NOMAD_CLI_FORCE_COLOR",
      "NOMAD_CLI_SHOW_HINTS", "NOMAD_HTTP_AUTH",    "NOMAD_VAR_"};
  return names;
}

Command shared(const Command& ours, std::vector<Flag> more) {
  Command command = ours;
  for (auto& flag : more) {
    const bool there =
        std::any_of(command.flags.begin(), command.flags.end(), [&](const Flag& own) { return own.name == flag.name; });
    if (!there) command.flags.push_back(flag);
  }
  return command;
}

Command refused(std::string_view name, std::string_view words) {
  Command command{.name = name, .summary = words, .least = 0, .most = 1000};
  command.run = [words](const Arguments&) -> int { throw Error(Code::invalid, std::string(words)); };
  return command;
}

namespace {

/// Nouns whose commands are ours and Nomad's alike, where nothing was said of them here.
constexpr std::string_view kNouns[] = {"acl ",       "alloc ",     "deployment ", "eval ",  "job ",     "namespace ",
                                       "node pool ", "node meta ", "operator ",   "quota ", "scaling ", "server ",
                                       "service ",   "system ",    "tls ",        "var ",   "volume "};

bool is_shared(std::string_view name) {
  return std::any_of(std::begin(kNouns), std::end(kNouns), [&](auto noun) { return name.starts_with(noun); });
}

/// Whose loss ours asks about and that client does not: a script that was written for it knows of no -yes.
constexpr std::string_view kUnasked[] = {
    "acl auth-method delete",       "acl policy delete",         "acl role delete", "acl token delete",
    "operator root keyring remove", "operator snapshot restore", "volume delete"};

/// The command, with -yes said.
std::function<int(const Arguments&)> unasked(const Command& command) {
  return [command](const Arguments& arguments) {
    std::vector<std::string> words{fmt::format("-{}", cli::kYes.name)};
    for (const auto& flag : cli::flags_of(command)) {
      for (const auto& value : arguments.all(flag.name)) words.push_back(fmt::format("-{}={}", flag.name, value));
    }
    words.insert(words.end(), arguments.positional().begin(), arguments.positional().end());
    return command.run(cli::parse(command, words));
  };
}

Table make_table() {
  Table table;
  add_job_commands(table);
  add_job_changes(table);
  add_alloc_commands(table);
  add_node_commands(table);
  add_deployment_commands(table);
  add_eval_commands(table);
  add_operator_commands(table);
  add_acl_commands(table);
  add_variable_commands(table);
  add_service_commands(table);
  add_scaling_commands(table);
  add_other_commands(table);
  add_refused_commands(table);
  const auto has = [&](std::string_view name) {
    return std::any_of(table.begin(), table.end(), [&](const Command& command) { return command.name == name; });
  };
  for (const auto* ours : cli::commands()) {
    if (is_shared(ours->name) && !has(ours->name)) table.push_back(*ours);
  }
  for (auto& command : table) {
    if (std::ranges::find(kUnasked, command.name) != std::end(kUnasked)) command.run = unasked(command);
    // As Go reads them: `-t` and `-t=false`, and what follows is the next argument.
    for (auto& flag : command.flags) {
      if (flag.value == "BOOL" || flag.value == "true|false") flag.value = {};
    }
    if (!command.talks_to_server) continue;
    command.flags.insert(command.flags.end(), general_flags().begin(), general_flags().end());
  }
  std::sort(table.begin(), table.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return table;
}

}  // namespace

const Table& commands() {
  static const Table table = make_table();
  return table;
}

const Command* find_command(std::string_view name) {
  for (const auto& alias : aliases()) {
    if (alias.name == name) return find_command(alias.command);
  }
  for (const auto& command : commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace underway::nomad
