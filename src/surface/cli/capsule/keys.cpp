// Keys that sign capsule images: files of this machine.
#include <filesystem>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/capsule/keys_local.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/terminal.hpp"
#include "os/file.hpp"

namespace underway::cli {

Flag trust_flag() {
  return {"trust", "PATH", "A public key, or a directory of them (*.pub); default: /etc/underway/capsule-keys.d.",
          true};
}

std::vector<image::TrustedKey> trusted_keys(const Arguments& arguments) {
  auto paths = arguments.all("trust");
  if (paths.empty()) paths.emplace_back(kTrustedKeysDirectory);
  std::vector<image::TrustedKey> out;
  for (const auto& path : paths) {
    if (std::filesystem::is_regular_file(path)) {
      out.push_back(image::parse_public_key(os::read_file(path, 64U << 10)));
      continue;
    }
    if (arguments.has("trust") && !std::filesystem::is_directory(path))
      throw Error(Code::not_found, fmt::format("there is no key and no directory of keys '{}'", path));
    for (auto& key : image::read_trusted_keys(path)) out.push_back(std::move(key));
  }
  return out;
}

namespace {

std::string expiry_text(const image::TrustedKey& key) {
  return key.expires == TimePoint::max() ? "never" : format_time(key.expires);
}

int generate(const Arguments& arguments) {
  const std::string& name = arguments.positional().front();
  const std::string path = arguments.get("o", name + ".key");
  TimePoint expires = TimePoint::max();
  const auto days = arguments.number("days").value_or(730);
  if (days != 0) expires = current_time() + std::chrono::hours(24) * days;
  const std::string public_path = std::filesystem::path(path).replace_extension(".pub").string();
  if (os::exists(path) || os::exists(public_path))
    throw Error(Code::conflict, fmt::format("'{}' or '{}' is there already", path, public_path))
        .advise("name another file: -o FILE");
  const auto key = image::generate_key(path, name, expires);
  os::write_file(public_path, image::write_public_key(key));
  say(fmt::format("wrote {}: keep it secret, it signs images\nwrote {}: give it to those who shall trust them", path,
                  public_path));
  print(key_values({{"Name", key.name}, {"Id", key.id}, {"Expires", expiry_text(key)}}));
  return kDone;
}

int show(const Arguments& arguments) {
  const auto key = image::read_private_key(arguments.positional().front());
  print(image::write_public_key(
      {.id = key.key.verifying().id(), .name = key.name, .key = key.key.verifying(), .expires = key.expires}));
  return kDone;
}

}  // namespace

const Command& capsule_keys_generate_command() {
  static const Command command{
      .name = "capsule keys generate",
      .arguments = "NAME",
      .summary = "Makes a key that signs capsule images.",
      .details = "The private key is a file that only its owner may read; its public half lies beside it as *.pub.",
      .examples = {"underway capsule keys generate operations", "underway capsule keys trust operations.pub"},
      .flags = {{"o", "FILE", "Where the private key goes; NAME.key."},
                number_flag("days", "N", "After which it is not trusted any more; 730, 0: never.", {0, 99'999})},
      .least = 1,
      .most = 1,
      .talks_to_server = false,
      .run = generate};
  return command;
}

const Command& capsule_keys_public_command() {
  static const Command command{.name = "capsule keys public",
                               .arguments = "FILE",
                               .summary = "Prints the public half of a private key.",
                               .least = 1,
                               .most = 1,
                               .talks_to_server = false,
                               .run = show};
  return command;
}

}  // namespace underway::cli
