// The keys whose images the cluster trusts.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

int list_keys(const Arguments& arguments) {
  const auto keys = make_client(arguments).capsule_keys();
  if (arguments.has("json")) {
    print_json(json::to_value(keys));
    return kDone;
  }
  Table table({"Id", "Name", "Expires", "Revoked", "Reason"});
  for (const auto& key : keys)
    table.add({key.id, key.name, key.expires == 0 ? "never" : format_time(from_unix_nanos(key.expires)),
               key.revoked == 0 ? "" : format_time(from_unix_nanos(key.revoked)), key.reason});
  table.print();
  return kDone;
}

int trust(const Arguments& arguments) {
  auto client = make_client(arguments);
  for (const auto& path : arguments.positional()) {
    const auto key = image::parse_public_key(os::read_file(path, 64U << 10));
    client.trust_capsule_key(image::to_record(key));
    say(fmt::format("images that '{}' ({}) signed are trusted now", key.name, key.id));
  }
  return kDone;
}

int revoke_key(const Arguments& arguments) {
  const std::string reason = arguments.get("reason");
  if (reason.empty()) throw Error(Code::invalid, "say why: -reason TEXT").advise("whoever is refused is told");
  const std::string& id = arguments.positional().front();
  make_client(arguments).revoke_capsule_key(id, reason);
  say(fmt::format("key {} is revoked: no image is started any more that it alone signed; what runs goes on", id));
  return kDone;
}

}  // namespace

const Command& capsule_keys_list_command() {
  static const Command command{.name = "capsule keys list",
                               .summary = "Lists the keys whose images the cluster trusts.",
                               .flags = {{"json", "", "As JSON."}},
                               .run = list_keys};
  return command;
}

const Command& capsule_keys_trust_command() {
  static const Command command{.name = "capsule keys trust",
                               .arguments = "FILE.pub…",
                               .summary = "Has the cluster trust images that a key signed.",
                               .details = "Nodes learn it at once. Only who has management rights may do this.",
                               .least = 1,
                               .most = 100,
                               .run = trust};
  return command;
}

const Command& capsule_keys_revoke_command() {
  static const Command command{.name = "capsule keys revoke",
                               .arguments = "ID",
                               .summary = "Has the cluster trust a key no longer, for good.",
                               .flags = {{"reason", "TEXT", "Why: told to who is refused."}},
                               .least = 1,
                               .most = 1,
                               .run = revoke_key};
  return command;
}

}  // namespace underway::cli
