#pragma once
/// @file
/// Which system calls a task may make (seccomp(2)). Profiles have the form that podman and Docker use; what is left of
/// one once it is known which capabilities a task holds is the `linux.seccomp` of the OCI runtime specification.

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "os/process/capability.hpp"

namespace underway::driver {

/// podman's default profile, for a task with these capabilities.
/// Source: containers/common, pkg/seccomp (Debian 12's golang-github-containers-common, seccomp.json).
boost::json::object default_seccomp(os::Capabilities held);

/// Refuses what types into a terminal in the place of whoever sits at it: TIOCSTI and TIOCLINUX (ioctl_tty(2)). A
/// filter of its own beside another: of all filters the strictest answer counts.
boost::json::object terminal_seccomp();

/// A profile of the site, read from a file. Throws Error(invalid) for what is none, naming `name`.
boost::json::object parse_seccomp(std::string_view text, os::Capabilities held, const std::string& name);
/// As parse_seccomp; throws not_found for a missing file. Blocks: yes (disk).
boost::json::object read_seccomp(const std::string& path, os::Capabilities held);

/// The filter, as LaunchPlan::seccomp takes it. Names that this machine's libseccomp does not know are left out: the
/// kernel has no such call either. Throws Error(invalid) for actions that are not known.
std::string compile_seccomp(const boost::json::object& profile);

}  // namespace underway::driver
