#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/acl/access_losses.hpp"
#include "cli/commands.hpp"
#include "cli/current_time.hpp"
#include "cli/impact/loss.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::string string_of(const boost::json::value& value) { return std::string(std::string_view(value.as_string())); }

void add_row(Table& table, const boost::json::value& key) {
  const auto time_of = [&](const char* name) {
    const auto nanos = key.at(name).to_number<std::int64_t>();
    return nanos == 0 ? "<none>" : format_time(from_unix_nanos(nanos));
  };
  table.add({string_of(key.at("KeyID")), string_of(key.at("State")), time_of("CreateTime"), time_of("PublishTime")});
}

int list_root_keys(const Arguments& arguments) {
  const auto keys = make_client(arguments).root_keys();
  if (print_formatted(arguments, keys)) return kDone;
  Table table({"Key", "State", "Create Time", "Publish Time"});
  for (const auto& key : keys.as_array()) add_row(table, key);
  table.print();
  return kDone;
}

int rotate_root_key(const Arguments& arguments) {
  const bool full = arguments.has("full");
  const auto later = arguments.find("prepublish");
  if (later && full) throw Error(Code::invalid, "-prepublish and -full do not go together");
  const auto span = later ? parse_duration(*later) : std::nullopt;
  if (later && (!span || *span <= Duration{0}))
    throw Error(Code::invalid, fmt::format("-prepublish '{}' is no span of time", *later)).advise("write it as 1h");
  auto client = make_client(arguments);
  const auto key = span ? client.prepublish_root_key(current_time() + *span) : client.rotate_root_key(full);
  Table table({"Key", "State", "Create Time", "Publish Time"});
  add_row(table, key);
  table.print();
  return kDone;
}

int remove_root_key(const Arguments& arguments) {
  const std::string& id = arguments.positional().front();
  if (const auto agreed = ask_before(
          {.deed = fmt::format("this forgets root key {} for good", id), .word = id, .lost = losses_of_root_key(id)},
          arguments);
      agreed != kDone)
    return agreed;
  make_client(arguments).remove_root_key(id, arguments.has("force"));
  say(fmt::format("Removed encryption key {}", id));
  return kDone;
}

}  // namespace

const Command& operator_root_keyring_list_command() {
  static const Command command{.name = "operator root keyring list",
                               .summary = "Lists the root keys under which variables are sealed.",
                               .flags = with_format_flags(),
                               .run = list_root_keys};
  return command;
}

const Command& operator_root_keyring_rotate_command() {
  static const Command command{
      .name = "operator root keyring rotate",
      .summary = "Makes a new root key.",
      .details =
          "What is sealed already stays readable: old keys are kept. With -full it is all sealed anew, after "
          "which old keys can be removed. Tokens of tasks that run stay good as long as the old key is there. A server "
          "makes a new key by itself, prepublished, before the active one is as old as "
          "server.root_key_rotation_threshold.",
      .flags = {{"full", "", "Seals every variable anew."},
                {"prepublish", "SPAN", "Others can fetch what verifies its signatures now; it is used after SPAN."}},
      .run = rotate_root_key};
  return command;
}

const Command& operator_root_keyring_remove_command() {
  static const Command command{
      .name = "operator root keyring remove",
      .arguments = "KEY",
      .summary = "Forgets a root key under which nothing is sealed.",
      .flags = {kYes, {"force", "", "Seals under the active one first what is sealed under it."}},
      .least = 1,
      .most = 1,
      .run = remove_root_key};
  return command;
}

}  // namespace underway::cli
