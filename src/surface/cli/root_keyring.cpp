#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::string text_of(const boost::json::value& value) { return std::string(std::string_view(value.as_string())); }

void add_row(Table& table, const boost::json::value& key) {
  table.add({text_of(key.at("KeyID")), text_of(key.at("State")),
             format_time(from_unix_nanos(key.at("CreateTime").to_number<std::int64_t>()))});
}

int list(const Arguments& arguments) {
  const auto keys = make_client(arguments).root_keys();
  if (print_formatted(arguments, keys)) return kDone;
  Table table({"Key", "State", "Create Time"});
  for (const auto& key : keys.as_array()) add_row(table, key);
  table.print();
  return kDone;
}

int rotate(const Arguments& arguments) {
  const auto key = make_client(arguments).rotate_root_key(arguments.has("full"));
  Table table({"Key", "State", "Create Time"});
  add_row(table, key);
  table.print();
  return kDone;
}

int remove(const Arguments& arguments) {
  const std::string& id = arguments.positional().front();
  make_client(arguments).remove_root_key(id);
  say(fmt::format("Removed encryption key {}", id));
  return kDone;
}

}  // namespace

const Command& operator_root_keyring_list_command() {
  static const Command command{.name = "operator root keyring list",
                               .summary = "Lists the root keys under which variables are sealed.",
                               .flags = with_format_flags(),
                               .run = list};
  return command;
}

const Command& operator_root_keyring_rotate_command() {
  static const Command command{
      .name = "operator root keyring rotate",
      .summary = "Makes a new root key.",
      .details =
          "What is sealed already stays readable: old keys are kept. With -full it is all sealed anew, after "
          "which old keys can be removed. Tokens of tasks that run stay good as long as the old key is there.",
      .flags = {{"full", "", "Seals every variable anew."}},
      .run = rotate};
  return command;
}

const Command& operator_root_keyring_remove_command() {
  static const Command command{.name = "operator root keyring remove",
                               .arguments = "KEY",
                               .summary = "Forgets a root key under which nothing is sealed.",
                               .least = 1,
                               .most = 1,
                               .run = remove};
  return command;
}

}  // namespace underway::cli
