#include <filesystem>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "cli/capsule/files.hpp"
#include "cli/capsule/follow_capsule.hpp"
#include "cli/capsule/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"
#include "image/image_file.hpp"
#include "os/file.hpp"
#include "wire/capsule/capsule.hpp"

namespace underway::cli {
namespace {

constexpr std::size_t kLargestScript = std::size_t{1} << 20;

/// What the job is to ask for. A file goes into the server's store first, and is asked for by its digest, as `apply`
/// does it.
std::string image_of(sdk::Client& client, const std::string& given) {
  if (!std::filesystem::is_regular_file(given)) return given;
  const std::string digest = image::ImageFile::open(given).digest();
  push_capsule_files(client, {{given, digest}});
  return digest;
}

std::vector<model::RehearsalScript> scripts_of(const Arguments& arguments) {
  std::vector<model::RehearsalScript> out;
  for (const auto& path : arguments.all("script"))
    out.push_back({std::filesystem::path(path).filename().string(), os::read_file(path, kLargestScript)});
  return out;
}

/// Draws until the upgrade is over.
model::Capsule watch_upgrade(sdk::Client& client, const std::string& name, const std::string& upgrade_id) {
  const OnInterrupt interrupted(
      fmt::format("The upgrade goes on without being watched.\n"
                  "  see how far it is: underway capsule status {0}\n"
                  "  give it up:        underway capsule upgrade -cancel {0}",
                  name));
  Progress progress;
  auto capsule = follow_capsule(client, name, [&](const model::Capsule& now) {
    const bool ours = now.upgrade && now.upgrade->id == upgrade_id;
    if (ours) progress.draw(upgrade_lines(*now.upgrade, now.description));
    return ours;
  });
  progress.finish();
  if (capsule.last_upgrade && capsule.last_upgrade->id == upgrade_id) return capsule;
  throw overtaken("upgrade", name);
}

void tell_success(const model::Capsule& capsule, const model::CapsuleUpgrade& upgrade) {
  say(fmt::format("==> Capsule \"{}\" runs {}; it was away for {}", capsule.name, upgrade.to_image,
                  human_duration(upgrade.gap)));
  say(
      fmt::format("Its job \"{}\" asks for {} now. Let its job file say so, too: else the next apply or run of it goes "
                  "back to what the file says, without the data from then.",
                  capsule.job, upgrade.to_image));
  if (capsule.way_back) say(fmt::format("To take it back: underway capsule upgrade -revert {}", capsule.name));
}

int follow_upgrade(sdk::Client& client, const std::string& name, const std::string& upgrade_id) {
  const auto capsule = watch_upgrade(client, name, upgrade_id);
  const auto& upgrade = *capsule.last_upgrade;
  if (upgrade.rehearsal) print(verdict_table(*upgrade.rehearsal));
  for (const auto& line : upgrade_lines(upgrade, "")) say(line);
  if (!upgrade.error.empty()) {
    say(fmt::format("==> Capsule \"{}\" {}", name,
                    upgrade.rolled_back ? fmt::format("is back at {}, with the data from before", upgrade.back_image)
                                        : "was not touched"));
    return kFailed;
  }
  if (upgrade.rehearse_only)
    say(fmt::format("==> Capsule \"{}\" would work with {}; nothing was changed", name, upgrade.to_image));
  else
    tell_success(capsule, upgrade);
  return kDone;
}

int begin(sdk::Client& client, const Arguments& arguments, const std::string& name,
          const wire::UpgradeCapsule& request) {
  const auto upgrade_id = client.upgrade_capsule(name, request);
  if (arguments.has("detach")) {
    print(fmt::format("The upgrade of capsule \"{}\" has begun\n", name));
    return kDone;
  }
  return follow_upgrade(client, name, upgrade_id);
}

int revert(sdk::Client& client, const Arguments& arguments, const std::string& name) {
  const auto capsule = client.capsule(name).value;
  if (!capsule.way_back)
    throw Error(Code::conflict, fmt::format("there is no upgrade of capsule '{}' to be taken back", name))
        .advise("`underway capsule snapshots` on its node lists what else it could go back to");
  const auto& way = *capsule.way_back;
  const std::string written =
      fmt::format("what it wrote since {} ({})", format_time(from_unix_nanos(way.at)), ago(way.at));
  if (!arguments.has("yes") &&
      !confirm(fmt::format("Capsule \"{}\" goes back to {} and to the snapshot {}: {} is lost. Go on?", name, way.image,
                           way.snapshot, written)))
    throw Error(Code::conflict, "nothing was changed").advise("-yes answers the question");
  say(fmt::format("==> Taking capsule \"{}\" back to {}; {} is lost to it, and kept as a snapshot", name, way.image,
                  written));
  wire::UpgradeCapsule request;
  request.revert = true;
  request.loses = arguments.has("lose");
  request.any_slurm_version = arguments.has("any-slurm-version");
  return begin(client, arguments, name, request);
}

int run_capsule_upgrade(const Arguments& arguments) {
  const std::string& name = arguments.positional().front();
  auto client = make_client(arguments);
  if (arguments.has("cancel")) {
    client.cancel_capsule_move(name);
    say(fmt::format("The upgrade of capsule \"{}\" is given up; what has stopped goes back", name));
    return kDone;
  }
  if (arguments.has("revert")) return revert(client, arguments, name);
  const auto given = arguments.find("image");
  if (!given)
    throw Error(Code::invalid, "no image is named")
        .advise(fmt::format("underway capsule upgrade {} -image NAME:VERSION", name));
  wire::UpgradeCapsule request{.image = {}, .scripts = scripts_of(arguments)};
  request.any_slurm_version = arguments.has("any-slurm-version");
  request.rehearse_only = arguments.has("rehearse-only");
  request.image = image_of(client, *given);
  say(fmt::format("==> {} capsule \"{}\" {} {}", request.rehearse_only ? "Rehearsing" : "Upgrading", name,
                  request.rehearse_only ? "with" : "to", *given));
  return begin(client, arguments, name, request);
}

}  // namespace

const Command& capsule_upgrade_command() {
  static const Command command{
      .name = "capsule upgrade",
      .arguments = "NAME",
      .summary = "Starts a capsule from another image, after a rehearsal, and keeps the way back.",
      .details =
          "The new image is tried first: a clone starts from it with a copy of the capsule's data, in networks that "
          "lead nowhere; its services have to come up, its check has to pass, and so has each of your scripts, which "
          "run in "
          "the clone. If anything fails there, nothing has happened to the capsule. Then it stops, its overlay is "
          "saved, and it starts from the new image; if it does not start, or its check does not pass, image and "
          "overlay go back together. An image whose Slurm does not go with that of the nodes is refused at once. The "
          "upgrade is the server's: it goes on when this command is interrupted, and "
          "when the server is restarted.\n"
          "Exit codes: 0 it runs the new image, or would; 1 it was refused, or went back.",
      .examples = {"underway capsule upgrade slurm-services -image slurm-services:23.02 -script accounting-sums.sh",
                   "underway capsule upgrade slurm-services -image new.capsule -rehearse-only",
                   "underway capsule upgrade -revert slurm-services"},
      .flags = {{"image", "IMAGE", "The new one: NAME:VERSION or a digest of the server's store, or a file."},
                {"script", "FILE", "A program of yours that has to succeed in the clone.", true},
                {"rehearse-only", "", "Stops at the verdict."},
                {"revert", "", "Takes the last upgrade back: image and overlay, with what was written since."},
                {"lose", "", "With -revert: even if the capsule says that something would be lost."},
                {"any-slurm-version", "", "Even if its Slurm does not go with that of the nodes."},
                {"cancel", "", "Gives the upgrade up; what has stopped goes back."},
                {"detach", "", "Returns at once."},
                {"yes", "", "Does not ask."}},
      .least = 1,
      .most = 1,
      .run = run_capsule_upgrade};
  return command;
}

}  // namespace underway::cli
