// Volumes of hosts: create, register, delete, init.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/impact/loss.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "cli/volume/text.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

constexpr const char* kDefaultFile = "volume.host.hcl";
constexpr const char* kDefaultJsonFile = "volume.host.json";

constexpr std::string_view kJsonExample = R"({
  "name": "data",
  "type": "host",
  "plugin_id": "mkdir",
  "capability": [
    {
      "access_mode": "single-node-single-writer",
      "attachment_mode": "file-system"
    }
  ],
  "parameters": {
    "mode": "0755"
  }
}
)";

constexpr std::string_view kVolumeExample =
    R"(# A directory that a node makes and lends to tasks: `underway volume create`.
name = "data"
type = "host"

# What makes it: "mkdir" makes a directory. Others are programs in host_volume_plugin_dir of the nodes.
plugin_id = "mkdir"

# Where; without any of these a node is chosen.
# node_pool = "default"
# node_id   = "…"
# constraint {
#   attribute = "${attr.kernel.name}"
#   value     = "linux"
# }

# For plugins that limit sizes.
# capacity_min = "10GiB"
# capacity_max = "20GiB"

# How it may be used; single-node-single-writer: by one allocation at a time.
capability {
  access_mode     = "single-node-single-writer"
  attachment_mode = "file-system"
}

# The plugin's own.
parameters {
  mode = "0755"
}
)";

model::HostVolume volume_of(const boost::json::value& answer) {
  return json::decode<model::HostVolume>(answer.at("Volume"), "answer");
}

/// Until it is ready; a plugin that failed has been told of already.
model::HostVolume wait_until_ready(sdk::Client& client, model::HostVolume volume) {
  while (volume.state == model::HostVolumeState::pending) {
    const auto seen = client.volume(volume.id, sdk::Wait{volume.modify_index});
    volume = json::decode<model::HostVolume>(seen, "answer");
  }
  return volume;
}

model::HostVolume read_volume(const Arguments& arguments) {
  const std::string& file = arguments.positional().front();
  return parse_volume(read_input(file), file == "-" ? "standard input" : file);
}

boost::json::value body_of(const model::HostVolume& volume) {
  auto body = json::to_value(volume);
  // The query's, then.
  if (volume.ns.empty()) body.as_object().erase("Namespace");
  return body;
}

int create_volume(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto answer = client.create_volume(body_of(read_volume(arguments)));
  auto volume = volume_of(answer);
  if (const auto& warning = answer.at("Warnings").as_string(); !warning.empty())
    say(fmt::format("warning: {}", std::string_view(warning)));
  if (!arguments.has("detach")) volume = wait_until_ready(client, volume);
  if (print_formatted(arguments, json::to_value(volume))) return kDone;
  print(fmt::format("==> Created host volume {} with ID {}\n", volume.name, volume.id));
  if (arguments.has("detach")) return kDone;
  print(fmt::format("  {} Host volume \"{}\" {}\n\n", volume.state == model::HostVolumeState::ready ? "✓" : "!",
                    short_id(volume.id), describe::spell(volume.state)));
  print(volume_text(volume, arguments.has("verbose")));
  return volume.state == model::HostVolumeState::ready ? kDone : kFailed;
}

int register_volume(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto volume = volume_of(client.register_volume(body_of(read_volume(arguments))));
  if (print_formatted(arguments, json::to_value(volume))) return kDone;
  print(fmt::format("==> Registered host volume {} with ID {}\n", volume.name, volume.id));
  return kDone;
}

int remove_volume(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = resolve_volume(client, arguments.positional().front());
  const std::string name = json::decode<model::HostVolume>(client.volume(id), "answer").name;
  if (const auto agreed = ask_before({.deed = fmt::format("this deletes volume '{}' for good", name),
                                      .word = name,
                                      .lost = {fmt::format("what is in volume '{}', {}", name, id)}},
                                     arguments);
      agreed != kDone)
    return agreed;
  client.delete_volume(id, arguments.has("force"));
  print(fmt::format("Successfully deleted volume \"{}\"!\n", id));
  return kDone;
}

int init_volume(const Arguments& arguments) {
  const bool as_json = arguments.has("json");
  const std::string file = !arguments.positional().empty() ? arguments.positional().front()
                           : as_json                       ? kDefaultJsonFile
                                                           : kDefaultFile;
  if (os::exists(file))
    throw Error(Code::conflict, fmt::format("'{}' is there already", file)).advise("name another file");
  os::write_file(file, as_json ? kJsonExample : kVolumeExample);
  print(fmt::format("Example volume specification written to {}\n", file));
  return kDone;
}

}  // namespace

const Command& volume_create_command() {
  static const Command command{
      .name = "volume create",
      .arguments = "FILE|-",
      .summary = "Has a node make a volume, and lends it to tasks.",
      .details =
          "The file says its name, what makes it, how it may be used and where it may lie; `underway volume init` "
          "writes an example. With the id of a volume that is there, that one is changed.",
      .examples = {"underway volume create volume.host.hcl"},
      .flags = with_format_flags({{"detach", "", "Does not wait until it is ready."}, {"verbose", "", "Whole ids."}}),
      .least = 1,
      .most = 1,
      .run = create_volume};
  return command;
}

const Command& volume_register_command() {
  static const Command command{.name = "volume register",
                               .arguments = "FILE|-",
                               .summary = "Lends a directory that is on a node to tasks.",
                               .details = "The file names the node (node_id) and the directory (host_path).",
                               .examples = {"underway volume register scratch.hcl"},
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = register_volume};
  return command;
}

const Command& volume_delete_command() {
  static const Command command{
      .name = "volume delete",
      .arguments = "ID",
      .summary = "Deletes a volume, with what is in it.",
      .details =
          "One that somebody mounts is not deleted. Of one that was registered the directory stays. It wants the "
          "volume's "
          "name typed, or -yes.",
      .flags = {kYes,
                {"force", "", "Forgets it also when its node cannot be asked: what it has is left there."},
                {"type", "host", "For scripts: other types are not kept here."}},
      .least = 1,
      .most = 1,
      .run = remove_volume};
  return command;
}

const Command& volume_init_command() {
  static const Command command{.name = "volume init",
                               .arguments = "[FILE]",
                               .summary = "Writes an example of a volume file, volume.host.hcl.",
                               .flags = {{"json", "", "As JSON, volume.host.json."},
                                         {"type", "host", "For scripts: other types are not kept here."}},
                               .most = 1,
                               .talks_to_server = false,
                               .run = init_volume};
  return command;
}

}  // namespace underway::cli
