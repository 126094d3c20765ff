#pragma once
/// @file
/// A launch plan: the steps a new process takes between fork and exec, as a value that can be sent to another program.
/// Steps run in the order in which they were added. A step that fails ends the launch with an Error that names the
/// step and its object, unless the step was added after `optionally()`.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "os/process/capability.hpp"
#include "os/process/id_map.hpp"
#include "os/process/launch.hpp"
#include "os/process/user.hpp"

namespace underway::os {

class LaunchPlan {
 public:
  /// The next step may fail.
  LaunchPlan& optionally();

  /// Writes `text` into an existing file: "0" into cgroup.procs, a number into oom_score_adj.
  LaunchPlan& write_file(const std::string& path, const std::string& text);
  /// setns(2). `kinds` as CLONE_NEW* bits. A pid namespace counts for the children: add fork_again.
  LaunchPlan& enter_namespaces(int fd, int kinds);
  LaunchPlan& unshare(int kinds);
  /// Goes on in a new child of the same parent.
  LaunchPlan& fork_as_sibling();
  /// Goes on in a new process that is an orphan at once; `kinds` are namespaces to make for it (CLONE_NEWPID, …).
  LaunchPlan& fork_detached(int kinds = 0);
  LaunchPlan& new_session();

  LaunchPlan& mount(const std::string& source, const std::string& target, const std::string& type,
                    unsigned long flags = 0, const std::string& data = {});
  /// Recursive when `recursive`; the source is a directory or a file.
  LaunchPlan& bind(const std::string& source, const std::string& target, bool recursive = false);
  /// As a recursive bind, with owners mapped: what belongs to an id of `uids` or `gids` inside belongs to the one
  /// outside when seen through it, and what is written through it the other way round. EINVAL where a file system below
  /// `source` has no such mounts (mount_setattr(2), "ID-mapped mounts").
  LaunchPlan& map_mount(const std::string& source, const std::string& target, const IdMap& uids, const IdMap& gids);
  /// No mount goes from here to others or back.
  LaunchPlan& make_mounts_private();
  /// MOUNT_ATTR_* bits (mount_setattr(2), kernel 5.12), for `path` and the mounts below when `recursive`.
  LaunchPlan& set_mount_attributes(const std::string& path, std::uint64_t attributes, bool recursive);
  LaunchPlan& move_mount(const std::string& source, const std::string& target);
  LaunchPlan& unmount(const std::string& target, int flags);
  /// An existing directory, link or file is left as it is.
  LaunchPlan& make_directory(const std::string& path, mode_t mode);
  LaunchPlan& make_symlink(const std::string& target, const std::string& path);
  LaunchPlan& make_node(const std::string& path, mode_t type_and_mode, dev_t device);
  LaunchPlan& touch(const std::string& path, mode_t mode);
  LaunchPlan& change_owner(const std::string& path, uid_t uid, gid_t gid);
  LaunchPlan& change_mode(const std::string& path, mode_t mode);
  /// Makes `new_root` (a mount point) the root; the old root is detached.
  LaunchPlan& pivot_root(const std::string& new_root);
  LaunchPlan& change_directory(const std::string& path);

  LaunchPlan& set_hostname(const std::string& name);
  /// Brings up "lo" in the present network namespace.
  LaunchPlan& loopback_up();
  /// setrlimit(2): RLIMIT_*.
  LaunchPlan& limit(int resource, std::uint64_t soft, std::uint64_t hard);
  LaunchPlan& set_umask(mode_t mask);
  /// Makes `from` known as `to` in the program; all other descriptors above 2 are closed by exec.
  LaunchPlan& move_fd(int from, int to);
  LaunchPlan& controlling_terminal(int fd);
  /// fchown(2).
  LaunchPlan& give_fd(int fd, uid_t uid, gid_t gid);

  /// Goes on in a new user namespace that knows these numbers and no others. Capabilities held from here on count
  /// there alone: after all that the machine has to be asked for.
  LaunchPlan& user_namespace(const IdMap& uids, const IdMap& gids);
  /// The bounding set becomes `keep`: nothing outside it can be gained by exec.
  LaunchPlan& bound_capabilities(Capabilities keep);
  /// Groups, gid, uid. With `ambient`, those capabilities stay although the user is not root.
  LaunchPlan& become(const User& user, Capabilities ambient = 0);
  LaunchPlan& no_new_privileges();
  /// `filter` is an array of sock_filter (seccomp(2)).
  LaunchPlan& seccomp(std::string_view filter);
  /// The process gets `signal` when its parent dies; after `become`, which would clear it.
  LaunchPlan& parent_death_signal(int signal);

  /// The last step: the first of `candidates` that exists is run.
  LaunchPlan& exec(const std::vector<std::string>& candidates, const std::vector<std::string>& argv,
                   const std::vector<std::string>& env);

  /// Adds the steps of `other` behind our own.
  LaunchPlan& append(const LaunchPlan& other);
  std::size_t size() const { return steps_.size(); }
  /// The bytes that launch::run reads.
  std::string encode() const;
  /// What step `index` does, for errors: "mount '/dev' on '/x/dev'".
  std::string describe(std::size_t index) const;
  static LaunchPlan decode(std::string_view bytes);

 private:
  struct Step {
    launch::Op op;
    bool optional = false;
    std::int64_t a = 0, b = 0, c = 0;
    std::vector<std::string> strings;
  };
  LaunchPlan& add(launch::Op op, std::vector<std::string> strings, std::int64_t a = 0, std::int64_t b = 0,
                  std::int64_t c = 0);
  std::vector<Step> steps_;
  bool next_optional_ = false;
};

/// Where execvp would look for `command`: itself when it holds a slash, else below each directory of `path_variable`.
std::vector<std::string> command_candidates(const std::string& command, std::string_view path_variable);
inline constexpr std::string_view kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

}  // namespace underway::os
