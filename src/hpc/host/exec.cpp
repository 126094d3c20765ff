#include "host/exec.hpp"

#include "base/error.hpp"
#include "host/detail/groups.hpp"
#include "host/detail/layout.hpp"
#include "os/process/namespaces.hpp"

namespace underway::host {

os::Child exec_in_host(const HostInfo& host, const ExecSpec& spec) {
  auto init = os::Pidfd::find(host.init);
  if (!init) {
    throw Error(Code::unavailable, fmt::format("host '{}' does not run", host.name))
        .because(fmt::format("its first process ({}) is gone", host.init.pid))
        .advise("`underway up` makes it again");
  }
  const HostGroups groups(find_hierarchies(), group_path(host.cluster, host.name));
  const auto inside = os::Namespace::of_pidfd(init->release(), os::kHostNamespaces);
  os::SpawnSpec command;
  command.argv = spec.argv;
  command.env = spec.env;
  if (command.env.empty()) {
    command.env = {fmt::format("PATH={}", os::kDefaultPath), "HOME=/root", "USER=root", "TERM=xterm-256color"};
  }
  command.cwd = spec.cwd;
  command.in = spec.in;
  command.out = spec.out;
  command.err = spec.err;
  command.terminal = spec.terminal;
  command.new_session = true;
  if (!spec.user.empty()) command.user = os::get_user(spec.user);
  command.join_cgroup = groups.late_join_files();
  command.join = {&inside};
  command.description = fmt::format("{} in host '{}'", spec.argv.empty() ? "nothing" : spec.argv[0], host.name);
  return os::spawn(command);
}

}  // namespace underway::host
