// Capsule images in the server's store.
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int list_images(const Arguments& arguments) {
  const auto images = make_client(arguments).images();
  if (arguments.has("json")) {
    print_json(json::to_value(images));
    return kDone;
  }
  Table table({"Name", "Version", "Size", "Added", "Digest"});
  for (const auto& image : images)
    table.add({image.name, image.version, human_bytes(static_cast<std::uint64_t>(image.size)), ago(image.added),
               image.digest});
  table.print();
  return kDone;
}

int image_info(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto all = client.image_info(arguments.positional().front());
  if (arguments.has("json")) {
    print_json(all);
    return kDone;
  }
  const auto image = json::decode<image::StoredImage>(all);
  const auto manifest = json::decode<image::Manifest>(all.at("Manifest"));
  std::vector<std::string> services;
  for (const auto& service : manifest.services) services.push_back(service.name);
  print(key_values({{"Image", manifest.reference()},
                    {"Description", image.description},
                    {"Digest", image.digest},
                    {"Size", human_bytes(static_cast<std::uint64_t>(image.size))},
                    {"Added", format_time(from_unix_nanos(image.added))},
                    {"Made of", manifest.source},
                    {"Packages", std::to_string(manifest.packages.size())},
                    {"Services", join(services, ", ")},
                    {"Keys", join(image.keys, ", ")}}));
  return kDone;
}

int remove_images(const Arguments& arguments) {
  auto client = make_client(arguments);
  for (const auto& reference : arguments.positional()) {
    client.remove_image(reference, arguments.has("force"));
    say(fmt::format("removed {}", reference));
  }
  return kDone;
}

int prune(const Arguments& arguments) {
  const bool dry = arguments.has("dry-run");
  const auto images = make_client(arguments).prune_images(arguments.get("older"), dry);
  std::int64_t bytes = 0;
  for (const auto& image : images) {
    print(fmt::format("{}:{} {}\n", image.name, image.version, image.digest));
    bytes += image.size;
  }
  say(fmt::format("{} images, {}, {}", images.size(), human_bytes(static_cast<std::uint64_t>(bytes)),
                  dry ? "would be removed" : "were removed"));
  return kDone;
}

}  // namespace

const Command& image_list_command() {
  static const Command command{.name = "image list",
                               .summary = "Lists the capsule images in the server's store, newest first.",
                               .flags = {{"json", "", "As JSON."}},
                               .run = list_images};
  return command;
}

const Command& image_info_command() {
  static const Command command{.name = "image info",
                               .arguments = "NAME[:VERSION]|DIGEST",
                               .summary = "Shows an image of the server's store.",
                               .flags = {{"json", "", "As JSON, with the whole manifest."}},
                               .least = 1,
                               .most = 1,
                               .run = image_info};
  return command;
}

const Command& image_prune_command() {
  static const Command command{
      .name = "image prune",
      .summary = "Removes from the server's store what no job refers to.",
      .details =
          "An image goes when it was added more than 30 days ago and no job names it, in none of the versions it "
          "could be reverted to. A node removes by itself what none of its capsules ran last, 30 days after it "
          "came.",
      .examples = {"underway image prune -dry-run", "underway image prune -older 168h"},
      .flags = {{"older", "DURATION", "Added longer ago than this (720h)."},
                {"dry-run", "", "Only shows what would be removed."}},
      .run = prune};
  return command;
}

const Command& image_remove_command() {
  static const Command command{.name = "image remove",
                               .arguments = "NAME[:VERSION]|DIGEST…",
                               .summary = "Removes images from the server's store.",
                               .details = "An image that a job refers to is not removed. Nodes that have it keep it.",
                               .flags = {{"force", "", "Whoever refers to it."}},
                               .least = 1,
                               .most = 1000,
                               .run = remove_images};
  return command;
}

}  // namespace underway::cli
