// Tokens with which new nodes join.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/current_time.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::string time_of(std::int64_t nanos) { return nanos == 0 ? "" : format_time(from_unix_nanos(nanos)); }

std::string state_of(const model::JoinToken& token) {
  if (token.used()) return fmt::format("used {} by {}", time_of(token.use_time), token.used_by_name);
  return unix_nanos(current_time()) >= token.expire_time ? "expired" : "unused";
}

int create_join_token(const Arguments& arguments) {
  wire::NewJoinToken request;
  request.name = arguments.get("name");
  request.node_pool = arguments.get("pool");
  request.cluster = arguments.get("cluster");
  if (const auto text = arguments.find("ttl")) {
    const auto ttl = parse_duration(*text);
    if (!ttl)
      throw Error(Code::invalid, fmt::format("-ttl '{}' is no duration", *text)).advise("write it as 30m or 2h");
    request.ttl = *ttl;
  }
  const auto created = make_client(arguments).create_join_token(request);
  if (print_formatted(arguments, json::to_value(created))) return kDone;
  print(created.token + "\n");
  say(
      fmt::format("One node may join with it, once, until {}. It is not shown again.\n"
                  "Put it into a file of mode 0600 on the node, and name that in client.join_token_file.\n",
                  time_of(created.row.expire_time)));
  return kDone;
}

int list_join_tokens(const Arguments& arguments) {
  const auto tokens = make_client(arguments).join_tokens();
  if (print_formatted(arguments, json::to_value(tokens))) return kDone;
  Table table({"ID", "Name", "Node Pool", "Cluster", "Expires", "State"});
  for (const auto& token : tokens)
    table.add({token.id, token.name, token.pool, token.cluster, time_of(token.expire_time), state_of(token)});
  table.print();
  return kDone;
}

int revoke_join_token(const Arguments& arguments) {
  const std::string& id = arguments.positional().front();
  make_client(arguments).revoke_join_token(id);
  print(fmt::format("Join token \"{}\" is revoked\n", id));
  return kDone;
}

}  // namespace

const Command& join_token_create_command() {
  static const Command command{
      .name = "node join-token create",
      .summary = "Makes a token with which one new node may join, once.",
      .details =
          "The token goes to standard output, and is not kept: the server has a hash of it. It names the server's "
          "authority too, so that the node knows the server before the server knows the node.\n"
          "With -cluster the node becomes a member of that cluster: it gets the files that are kept the same there, "
          "and "
          "counts wherever the cluster's nodes do. Without, it belongs to none.",
      .examples = {"underway node join-token create > token", "underway node join-token create -name c5 -ttl 10m",
                   "underway node join-token create -cluster demo > token"},
      .flags = {{"ttl", "DURATION", "How long it may be used; 1h."},
                {"pool", "NAME", "The only pool that the node may be in."},
                {"name", "NAME", "The only name that the node may have."},
                {"cluster", "NAME", "The cluster that the node becomes a member of."},
                {"json", "", "As JSON."},
                kTemplate},
      .run = create_join_token};
  return command;
}

const Command& join_token_list_command() {
  static const Command command{.name = "node join-token list",
                               .summary = "Lists join tokens, and by whom they were used.",
                               .flags = with_format_flags(),
                               .run = list_join_tokens};
  return command;
}

const Command& join_token_revoke_command() {
  static const Command command{.name = "node join-token revoke",
                               .arguments = "ID",
                               .summary = "Takes a join token back; a node that joined with it stays.",
                               .least = 1,
                               .most = 1,
                               .run = revoke_join_token};
  return command;
}

}  // namespace underway::cli
