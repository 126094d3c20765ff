#include "os/process/launch_plan.hpp"

#include <signal.h>
#include <sys/mount.h>

#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::os {

using launch::Op;

LaunchPlan& LaunchPlan::add(Op op, std::vector<std::string> strings, std::int64_t a, std::int64_t b, std::int64_t c) {
  steps_.push_back({op, std::exchange(next_optional_, false), a, b, c, std::move(strings)});
  return *this;
}

LaunchPlan& LaunchPlan::optionally() {
  next_optional_ = true;
  return *this;
}

LaunchPlan& LaunchPlan::write_file(const std::string& path, const std::string& text) {
  return add(Op::write_file, {path, text});
}
LaunchPlan& LaunchPlan::enter_namespaces(int fd, int kinds) { return add(Op::set_namespaces, {}, fd, kinds); }
LaunchPlan& LaunchPlan::unshare(int kinds) { return add(Op::unshare, {}, kinds); }
LaunchPlan& LaunchPlan::fork_as_sibling() { return add(Op::fork_again, {}, CLONE_PARENT); }
LaunchPlan& LaunchPlan::fork_detached(int kinds) { return add(Op::fork_again, {}, kinds); }
LaunchPlan& LaunchPlan::new_session() { return add(Op::new_session, {}); }

LaunchPlan& LaunchPlan::mount(const std::string& source, const std::string& target, const std::string& type,
                              unsigned long flags, const std::string& data) {
  return add(Op::mount, {source, target, type, data}, static_cast<std::int64_t>(flags));
}
LaunchPlan& LaunchPlan::bind(const std::string& source, const std::string& target, bool recursive) {
  return mount(source, target, "", recursive ? MS_BIND | MS_REC : MS_BIND);
}
LaunchPlan& LaunchPlan::map_mount(const std::string& source, const std::string& target, const IdMap& uids,
                                  const IdMap& gids) {
  return add(Op::map_mount, {source, target, to_text(uids), to_text(gids)});
}
LaunchPlan& LaunchPlan::make_mounts_private() { return mount("", "/", "", MS_REC | MS_PRIVATE); }
LaunchPlan& LaunchPlan::set_mount_attributes(const std::string& path, std::uint64_t attributes, bool recursive) {
  return add(Op::set_mount_attributes, {path}, static_cast<std::int64_t>(attributes), recursive ? 1 : 0);
}
LaunchPlan& LaunchPlan::move_mount(const std::string& source, const std::string& target) {
  return add(Op::move_mount, {source, target});
}
LaunchPlan& LaunchPlan::unmount(const std::string& target, int flags) { return add(Op::unmount, {target}, flags); }
LaunchPlan& LaunchPlan::make_directory(const std::string& path, mode_t mode) {
  return add(Op::make_directory, {path}, mode);
}
LaunchPlan& LaunchPlan::make_symlink(const std::string& target, const std::string& path) {
  return add(Op::make_symlink, {target, path});
}
LaunchPlan& LaunchPlan::make_node(const std::string& path, mode_t type_and_mode, dev_t device) {
  return add(Op::make_node, {path}, type_and_mode, static_cast<std::int64_t>(device));
}
LaunchPlan& LaunchPlan::touch(const std::string& path, mode_t mode) { return add(Op::touch, {path}, mode); }
LaunchPlan& LaunchPlan::change_owner(const std::string& path, uid_t uid, gid_t gid) {
  return add(Op::change_owner, {path}, uid, gid);
}
LaunchPlan& LaunchPlan::change_mode(const std::string& path, mode_t mode) { return add(Op::change_mode, {path}, mode); }
LaunchPlan& LaunchPlan::pivot_root(const std::string& new_root) { return add(Op::pivot_root, {new_root}); }
LaunchPlan& LaunchPlan::change_directory(const std::string& path) { return add(Op::change_directory, {path}); }

LaunchPlan& LaunchPlan::set_hostname(const std::string& name) { return add(Op::set_hostname, {name}); }
LaunchPlan& LaunchPlan::loopback_up() { return add(Op::loopback_up, {}); }
LaunchPlan& LaunchPlan::limit(int resource, std::uint64_t soft, std::uint64_t hard) {
  return add(Op::limit, {}, resource, static_cast<std::int64_t>(soft), static_cast<std::int64_t>(hard));
}
LaunchPlan& LaunchPlan::set_umask(mode_t mask) { return add(Op::set_umask, {}, mask); }
LaunchPlan& LaunchPlan::move_fd(int from, int to) { return add(Op::move_fd, {}, from, to); }
LaunchPlan& LaunchPlan::controlling_terminal(int fd) { return add(Op::controlling_terminal, {}, fd); }
LaunchPlan& LaunchPlan::give_fd(int fd, uid_t uid, gid_t gid) { return add(Op::give_fd, {}, fd, uid, gid); }

LaunchPlan& LaunchPlan::user_namespace(const IdMap& uids, const IdMap& gids) {
  return add(Op::user_namespace, {to_text(uids), to_text(gids)});
}
LaunchPlan& LaunchPlan::bound_capabilities(Capabilities keep) {
  return add(Op::bound_capabilities, {}, static_cast<std::int64_t>(keep));
}

LaunchPlan& LaunchPlan::become(const User& user, Capabilities ambient) {
  std::string groups(user.groups.size() * sizeof(gid_t), '\0');
  std::memcpy(groups.data(), user.groups.data(), groups.size());
  if (ambient != 0 && user.uid != 0) {
    // Keeping capabilities across setuid is a flag that the bounding step can set: everything kept, flag on.
    add(Op::bound_capabilities, {}, -1, 1);
    add(Op::become_user, {groups}, user.uid, user.gid);
    return add(Op::keep_capabilities, {}, static_cast<std::int64_t>(ambient));
  }
  return add(Op::become_user, {groups}, user.uid, user.gid);
}

LaunchPlan& LaunchPlan::no_new_privileges() { return add(Op::no_new_privileges, {}); }
LaunchPlan& LaunchPlan::seccomp(std::string_view filter) { return add(Op::seccomp, {std::string(filter)}); }
LaunchPlan& LaunchPlan::parent_death_signal(int signal) { return add(Op::parent_death_signal, {}, signal); }

LaunchPlan& LaunchPlan::exec(const std::vector<std::string>& candidates, const std::vector<std::string>& argv,
                             const std::vector<std::string>& env) {
  std::vector<std::string> strings = argv;
  strings.insert(strings.end(), env.begin(), env.end());
  strings.insert(strings.end(), candidates.begin(), candidates.end());
  // A NUL inside would silently cut what the program sees.
  for (const auto& text : strings) {
    if (text.find('\0') != std::string::npos) {
      throw Error(Code::invalid, "cannot run a program").because("a NUL byte in its arguments or environment");
    }
  }
  return add(Op::exec, std::move(strings), static_cast<std::int64_t>(argv.size()),
             static_cast<std::int64_t>(env.size()));
}

LaunchPlan& LaunchPlan::append(const LaunchPlan& other) {
  steps_.insert(steps_.end(), other.steps_.begin(), other.steps_.end());
  return *this;
}

std::string LaunchPlan::encode() const {
  const auto put = [](std::string& out, const auto& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  std::string out;
  put(out, launch::PlanHead{.steps = static_cast<std::uint32_t>(steps_.size())});
  for (const auto& step : steps_) {
    launch::StepHead head;
    head.op = static_cast<std::uint16_t>(step.op);
    head.optional = step.optional ? 1 : 0;
    head.strings = static_cast<std::uint32_t>(step.strings.size());
    head.size = sizeof head;
    for (const auto& text : step.strings) head.size += sizeof(std::uint32_t) + text.size() + 1;
    head.a = step.a;
    head.b = step.b;
    head.c = step.c;
    put(out, head);
    for (const auto& text : step.strings) {
      put(out, static_cast<std::uint32_t>(text.size()));
      out.append(text.c_str(), text.size() + 1);
    }
  }
  return out;
}

LaunchPlan LaunchPlan::decode(std::string_view bytes) {
  if (!launch::well_formed(bytes.data(), bytes.size())) {
    throw Error(Code::invalid, "cannot read a launch plan").because("malformed");
  }
  LaunchPlan plan;
  launch::PlanHead whole;
  std::memcpy(&whole, bytes.data(), sizeof whole);
  bytes.remove_prefix(sizeof whole);
  for (std::uint32_t i = 0; i < whole.steps; ++i) {
    launch::StepHead head;
    std::memcpy(&head, bytes.data(), sizeof head);
    bytes.remove_prefix(sizeof head);
    Step step{static_cast<Op>(head.op), head.optional != 0, head.a, head.b, head.c, {}};
    for (std::uint32_t s = 0; s < head.strings; ++s) {
      std::uint32_t length = 0;
      std::memcpy(&length, bytes.data(), sizeof length);
      step.strings.emplace_back(bytes.substr(sizeof length, length));
      bytes.remove_prefix(sizeof length + length + 1);
    }
    plan.steps_.push_back(std::move(step));
  }
  return plan;
}

std::string LaunchPlan::describe(std::size_t index) const {
  if (index >= steps_.size()) return "read the launch plan";
  const Step& step = steps_[index];
  const auto text = [&](std::size_t i) { return i < step.strings.size() ? step.strings[i] : std::string(); };
  switch (step.op) {
    case Op::write_file:
      return fmt::format("write '{}' into '{}'", text(1), text(0));
    case Op::set_namespaces:
      return "enter the namespaces";
    case Op::unshare:
      return "make new namespaces";
    case Op::fork_again:
      return "fork";
    case Op::new_session:
      return "begin a session";
    case Op::mount:
      if (text(0).empty()) return fmt::format("change the mount at '{}'", text(1));
      return text(2).empty() ? fmt::format("bind '{}' on '{}'", text(0), text(1))
                             : fmt::format("mount {} on '{}'", text(2), text(1));
    case Op::unmount:
      return fmt::format("unmount '{}'", text(0));
    case Op::make_directory:
      return fmt::format("make the directory '{}'", text(0));
    case Op::make_symlink:
      return fmt::format("make the link '{}'", text(1));
    case Op::make_node:
      return fmt::format("make the device '{}'", text(0));
    case Op::touch:
      return fmt::format("make the file '{}'", text(0));
    case Op::change_owner:
      return fmt::format("change the owner of '{}'", text(0));
    case Op::change_mode:
      return fmt::format("change the mode of '{}'", text(0));
    case Op::set_mount_attributes:
      return fmt::format("change the attributes of the mount '{}'", text(0));
    case Op::pivot_root:
      return fmt::format("make '{}' the root", text(0));
    case Op::change_directory:
      return fmt::format("enter the directory '{}'", text(0));
    case Op::set_hostname:
      return fmt::format("set the host name '{}'", text(0));
    case Op::loopback_up:
      return "bring up the loopback interface";
    case Op::limit:
      return fmt::format("set resource limit {} to {}", step.a, step.b);
    case Op::set_umask:
      return "set the file mode mask";
    case Op::move_fd:
      return "hand over a file descriptor";
    case Op::become_user:
      return fmt::format("become user {} group {}", step.a, step.b);
    case Op::bound_capabilities:
      return "bound the capabilities";
    case Op::keep_capabilities:
      return "grant capabilities";
    case Op::no_new_privileges:
      return "give up gaining privileges";
    case Op::seccomp:
      return "install the system call filter";
    case Op::parent_death_signal:
      return "follow the parent's death";
    case Op::controlling_terminal:
      return "take the terminal";
    case Op::exec: {
      const auto first = step.strings.begin() + step.a + step.b;
      const std::vector<std::string> paths(first, step.strings.end());
      return paths.size() == 1 ? fmt::format("run '{}'", paths[0])
                               : fmt::format("run '{}' (looked for {})", text(0), join(paths, ", "));
    }
    case Op::move_mount:
      return fmt::format("move the mount '{}' to '{}'", text(0), text(1));
    case Op::map_mount:
      return fmt::format("map the owners of '{}'", text(0));
    case Op::user_namespace:
      return "enter a user namespace of its own";
    case Op::give_fd:
      return fmt::format("give file descriptor {} to user {}", step.a, step.b);
  }
  return "take an unknown step";
}

std::vector<std::string> command_candidates(const std::string& command, std::string_view path_variable) {
  if (command.find('/') != std::string::npos) return {command};
  std::vector<std::string> paths;
  for (const auto& directory : split(path_variable, ':')) {
    if (!directory.empty()) paths.push_back(directory + "/" + command);
  }
  return paths;
}

}  // namespace underway::os
