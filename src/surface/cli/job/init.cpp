#include <fstream>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

constexpr std::string_view kShort = R"(job "example" {
  group "web" {
    task "server" {
      driver = "raw_exec"
      user   = "nobody"
      config {
        command = "/usr/bin/python3"
        args    = ["-m", "http.server", "8000"]
      }
    }
  }
}
)";

constexpr std::string_view kLong = R"(# A job: what shall run. See docs/how-to/write-a-job-file.md.
job "example" {
  # service runs until it is stopped, batch until it is done; system and sysbatch do so on every node.
  type = "service"

  # A group's tasks are placed together on one node, `count` times.
  group "web" {
    count = 1

    # A port that the node has free: the task finds it as NOMAD_PORT_http.
    network {
      port "http" {}
    }

    # How a new version is rolled out, and what happens when it is no good.
    update {
      max_parallel = 1
      auto_revert  = true
    }

    task "server" {
      driver = "raw_exec"
      user   = "nobody"
      config {
        command = "/usr/bin/python3"
        args    = ["-m", "http.server", "${NOMAD_PORT_http}"]
      }
      resources {
        cpu    = 100 # MHz
        memory = 64  # MiB
      }
    }
  }
}
)";

int init_job(const Arguments& arguments) {
  const std::string file = arguments.positional().empty() ? "example.nomad.hcl" : arguments.positional().front();
  if (os::exists(file))
    throw Error(Code::conflict, fmt::format("'{}' is there already", file)).advise("name another file");
  os::write_file(file, arguments.has("short") ? kShort : kLong);
  print(fmt::format("Example job file written to {}\n", file));
  return kDone;
}

}  // namespace

const Command& job_init_command() {
  static const Command command{.name = "job init",
                               .arguments = "[FILE]",
                               .summary = "Writes an example of a job file, example.nomad.hcl.",
                               .flags = {{"short", "", "Without explanations."}},
                               .most = 1,
                               .talks_to_server = false,
                               .run = init_job};
  return command;
}

}  // namespace underway::cli
