#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/terminal.hpp"
#include "cli/wire.hpp"

namespace underway::cli {
namespace {

/// Drawn on terminals only: in a pipe each step would be a line.
sdk::Client::Transferred progress_of(Progress& progress, const std::string& what) {
  if (!is_terminal(2)) return {};
  return [&progress, what](std::int64_t done, std::int64_t all) {
    progress.draw({fmt::format("{} {} {} of {}", what, bar(done, all), size_text(done), size_text(all))});
  };
}

int push(const Arguments& arguments) {
  auto client = make_client(arguments);
  boost::json::array all;
  for (const auto& path : arguments.positional()) {
    Progress progress;
    const auto image = client.push_image(path, progress_of(progress, path));
    progress.finish();
    say(fmt::format("pushed {}:{}, {}", image.name, image.version, size_text(image.size)));
    all.push_back(json::to_value(image));
    if (!arguments.has("json")) print(image.digest + "\n");
  }
  if (arguments.has("json")) print_json(all);
  return kDone;
}

int pull(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string& reference = arguments.positional().front();
  Progress progress;
  const auto image = client.pull_image(reference, arguments.get("o"), current_time(), progress_of(progress, reference));
  progress.finish();
  say(fmt::format("pulled {}:{}, {}", image.name, image.version, size_text(image.size)));
  if (arguments.has("json"))
    print_json(json::to_value(image));
  else
    print(image.digest + "\n");
  return kDone;
}

}  // namespace

const Command& capsule_push_command() {
  static const Command command{
      .name = "capsule push",
      .arguments = "IMAGE…",
      .summary = "Sends images to the server's store, from which nodes fetch them.",
      .details =
          "A push that broke off goes on where it ended. The image can be seen once the server has verified all "
          "of it, with the keys that the cluster trusts.",
      .examples = {"underway capsule push slurm-services-22.05.8.capsule"},
      .flags = {{"json", "", "As JSON."}},
      .least = 1,
      .most = 1000,
      .run = push};
  return command;
}

const Command& capsule_pull_command() {
  static const Command command{
      .name = "capsule pull",
      .arguments = "NAME[:VERSION]|DIGEST",
      .summary = "Fetches an image from the server's store into a file.",
      .details = "Without a version: the one that was pushed last. A pull that broke off goes on where it ended.",
      .flags = {{"o", "FILE", "The file; NAME-VERSION.capsule in this directory."}, {"json", "", "As JSON."}},
      .least = 1,
      .most = 1,
      .run = pull};
  return command;
}

}  // namespace underway::cli
