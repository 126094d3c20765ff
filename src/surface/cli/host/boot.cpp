#include "guest/boot.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int run_host_boot(const Arguments& arguments) {
  const auto seed = guest::read_seed(arguments.positional().at(0));
  const bool fresh = guest::boot(seed, net::Namespace::current());
  say(fmt::format("{} is set up{}", seed.hostname, fresh ? "; it is another instance than before" : ""));
  return kDone;
}

}  // namespace

const Command& host_boot_command() {
  static const Command command{
      .name = "host boot",
      .arguments = "DIRECTORY",
      .summary = "Sets this machine up as the seed in a directory says: for the init of images without cloud-init.",
      .details =
          "The directory is the mounted disk \"cidata\" of cloud-init's data source NoCloud: meta-data, user-data "
          "(write_files and runcmd) and network-config (version 2). Links, names and routes are set at each boot; "
          "files are written and commands run once for each instance-id.",
      .examples = {"underway host boot /run/cidata"},
      .least = 1,
      .most = 1,
      .run = run_host_boot};
  return command;
}

}  // namespace underway::cli
