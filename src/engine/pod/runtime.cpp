#include "pod/runtime.hpp"

#include <sys/mount.h>
#include <unistd.h>

#include <boost/json/parse.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "os/process/process.hpp"

namespace underway::pod {
namespace {

std::optional<Runtime> ask(const std::string& program) {
  if (::access(program.c_str(), X_OK) != 0) return std::nullopt;
  const auto said =
      os::run_program({.argv = {program, "--version"}, .env = {}, .fds = {}, .setup = {}, .description = {}},
                      std::chrono::seconds{10}, 1U << 16);
  if (!said.status.success()) return std::nullopt;
  // "crun version 1.8.1", "runc version 1.1.5+ds1"
  const auto words = split(split(said.out, '\n').front(), ' ');
  if (words.size() < 3 || words[1] != "version") return std::nullopt;
  return Runtime{words[0], program, words[2]};
}

}  // namespace

std::optional<Runtime> find_runtime(const std::string& wanted, std::string& why_not) {
  const std::vector<std::string> names =
      wanted.empty() ? std::vector<std::string>{"crun", "runc"} : std::vector<std::string>{wanted};
  for (const auto& name : names) {
    for (const auto& candidate : os::command_candidates(name, os::kDefaultPath)) {
      try {
        if (auto runtime = ask(candidate)) return runtime;
      } catch (const Error& e) {
        why_not = e.one_line();
      }
    }
  }
  if (why_not.empty()) why_not = fmt::format("needs {}: install the package crun, or runc", join(names, " or "));
  return std::nullopt;
}

std::vector<std::string> run_command(const Runtime& runtime, const RunPaths& paths) {
  std::vector<std::string> command = {runtime.program, "--root",       paths.state, "--log",
                                      paths.log,       "--log-format", "json"};
  // The group is made and limited by us, and the container is born in it.
  if (runtime.is_crun()) command.emplace_back("--cgroup-manager=disabled");
  for (const auto& word : {std::string("run"), std::string("--detach"), std::string("--bundle"), paths.bundle,
                           std::string("--pid-file"), paths.pid_file, paths.id})
    command.push_back(word);
  return command;
}

void prepare_cgroups(os::LaunchPlan& plan, const Runtime& runtime, const os::CgroupSystem& cgroups) {
  // crun refuses a machine whose v2 tree, beside v1, has a controller ("cgroups in hybrid mode not supported"). Without
  // that tree it takes the machine for one of v1, which is what matters here.
  if (runtime.is_crun() && cgroups.mode() == "hybrid") plan.optionally().unmount(cgroups.v2_mount(), MNT_DETACH);
  // runc makes groups in systemd's own hierarchy too, which nobody would take away: what it does not see it leaves.
  if (!runtime.is_crun() && cgroups.mode() != "v2") plan.optionally().unmount("/sys/fs/cgroup/systemd", MNT_DETACH);
}

std::string last_error(const std::string& log) {
  std::string last;
  for (const auto& line : split(log, '\n')) {
    boost::system::error_code failed;
    const auto value = boost::json::parse(line, failed);
    const auto* object = failed ? nullptr : value.if_object();
    if (object == nullptr) continue;
    const auto* level = object->if_contains("level");
    const auto* text = object->if_contains("msg");
    if (text == nullptr || !text->is_string() || (level != nullptr && *level != "error" && *level != "fatal")) continue;
    last = std::string(text->get_string());
  }
  return last;
}

}  // namespace underway::pod
