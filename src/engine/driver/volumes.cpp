#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "detail/volumes.hpp"
#include "driver/local_task.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"

namespace underway::driver::detail {
namespace {

/// What the task's tree makes for itself: nothing may cover it, or be mounted in the first three.
constexpr std::string_view kSealed[] = {"/proc", "/sys", "/dev"};
constexpr std::string_view kOwn[] = {"/local", "/secrets", "/tmp", "/alloc"};

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (auto& part : split(path, '/'))
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
  return parts;
}

bool lies_in(const std::string& path, std::string_view directory) {
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

/// "/srv//data/" → "/srv/data".
std::string normal(const std::string& path) {
  std::string out;
  for (const auto& part : parts_of(path)) out += "/" + part;
  return out;
}

/// The directory of the machine behind one that the task may write to; empty for the others.
std::string own_directory(const TaskSpec& spec, const std::string& destination) {
  for (const auto& own : kOwn) {
    if (!lies_in(destination, own)) continue;
    return own == "/alloc" ? spec.alloc_dir : spec.task_dir + std::string(own);
  }
  return {};
}

[[noreturn]] void refuse(const TaskSpec& spec, const TaskMount& mount, std::string why) {
  throw Error(Code::invalid, fmt::format("cannot start task {}", local::describe(spec)))
      .because(fmt::format("a volume cannot be mounted at '{}': {}", mount.destination, why))
      .advise("choose another `destination` in its volume_mount, such as \"/srv/data\"");
}

/// As proc(5) has it in mountinfo: "36 35 98:0 / /srv/data rw shared:5 - ext4 …".
bool is_shared_mount(const std::string& path) {
  for (const auto& line : split(os::read_file("/proc/self/mountinfo"), '\n')) {
    const auto fields = split(line, ' ');
    if (fields.size() < 7 || fields[4] != path) continue;
    for (std::size_t i = 6; i < fields.size() && fields[i] != "-"; ++i)
      if (fields[i].starts_with("shared:")) return true;
  }
  return false;
}

void check(const TaskSpec& spec, const TaskMount& mount) {
  const auto parts = parts_of(mount.destination);
  if (mount.destination.empty() || mount.destination.front() != '/') refuse(spec, mount, "it is no absolute path");
  if (parts.empty()) refuse(spec, mount, "it is the root itself");
  if (std::find(parts.begin(), parts.end(), "..") != parts.end()) refuse(spec, mount, "it holds '..'");
  const std::string path = normal(mount.destination);
  for (const auto& sealed : kSealed)
    if (lies_in(path, sealed)) refuse(spec, mount, fmt::format("{} is the task's own", sealed));
  for (const auto& own : kOwn)
    if (path == own) refuse(spec, mount, "it is the task's own");
  if (mount.propagation == TaskMount::Propagation::bidirectional && !is_shared_mount(mount.source))
    refuse(spec, mount,
           fmt::format("what is mounted in it shall be seen on node '{0}', and '{1}' is no shared mount there "
                       "(mount --bind {1} {1} && mount --make-shared {1})",
                       spec.node, mount.source));
  struct stat found{};
  if (::stat(mount.source.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
    throw Error(Code::not_found, fmt::format("cannot start task {}", local::describe(spec)))
        .because(fmt::format("the volume's directory '{}' is not there on node '{}'", mount.source, spec.node))
        .advise("make it there, or correct the volume's path");
  }
}

/// By descriptors: the task could have put links there.
void make_inside(const std::string& base, const std::string& destination) {
  os::Fd at = os::open_file(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const auto parts = parts_of(destination);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (::mkdirat(at.get(), parts[i].c_str(), 0755) != 0 && errno != EEXIST)
      throw errno_error(errno, fmt::format("cannot make '{}'", destination));
    const int next = ::openat(at.get(), parts[i].c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) throw errno_error(errno, fmt::format("cannot mount a volume at '{}'", destination));
    at = os::Fd(next);
  }
}

/// The nearest directory of the machine that is there, without links, and what is missing below it.
struct Nearest {
  std::string directory;  ///< empty: the root
  std::vector<std::string> missing;
};

Nearest nearest_of(const std::string& destination) {
  Nearest found;
  std::string path;
  auto parts = parts_of(destination);
  std::size_t known = 0;
  while (known < parts.size() && os::exists(path + "/" + parts[known])) path += "/" + parts[known++];
  if (!path.empty()) found.directory = std::filesystem::canonical(path).string();
  if (found.directory == "/") found.directory.clear();
  found.missing.assign(parts.begin() + static_cast<std::ptrdiff_t>(known), parts.end());
  return found;
}

/// Covers the directory with one in memory that shows the same.
void rebuild(os::LaunchPlan& plan, const std::string& directory, const std::string& root) {
  const std::string target = root + directory;
  plan.mount("tmpfs", target, "tmpfs", MS_NOSUID, "mode=755,size=1m");
  for (const auto& entry : os::list_directory(directory)) {
    const std::string from = directory + "/" + entry.name, to = target + "/" + entry.name;
    if (entry.type == DT_LNK) {
      plan.make_symlink(std::filesystem::read_symlink(from).string(), to);
    } else if (entry.type == DT_DIR) {
      plan.make_directory(to, 0755).bind(from, to, true);
    } else {
      plan.touch(to, 0644).optionally().bind(from, to);
    }
  }
}

bool any(const TaskSpec& spec, TaskMount::Propagation propagation) {
  return std::any_of(spec.mounts.begin(), spec.mounts.end(),
                     [&](const TaskMount& mount) { return mount.propagation == propagation; });
}

bool is_bidirectional(const TaskSpec& spec, const std::string& mount_point) {
  return std::any_of(spec.mounts.begin(), spec.mounts.end(), [&](const TaskMount& mount) {
    return mount.propagation == TaskMount::Propagation::bidirectional && lies_in(mount_point, mount.source);
  });
}

/// Where the task's tree has the destination: links on the machine's way there are resolved.
std::string place_of(const TaskSpec& spec, const std::string& destination) {
  if (!own_directory(spec, destination).empty()) return destination;
  const Nearest nearest = nearest_of(destination);
  std::string place = nearest.directory;
  for (const auto& part : nearest.missing) place += "/" + part;
  return place;
}

}  // namespace

void prepare_mounts(const TaskSpec& spec) {
  for (const auto& mount : spec.mounts) {
    check(spec, mount);
    const std::string destination = normal(mount.destination);
    if (const auto base = own_directory(spec, destination); !base.empty()) make_inside(base, destination);
  }
}

void leave_mounts(os::LaunchPlan& plan, const TaskSpec& spec) {
  if (any(spec, TaskMount::Propagation::bidirectional)) {
    // Each by itself: what is shared stays so only if nothing that happens here can reach the machine otherwise.
    for (const auto& mount : os::list_mounts())
      if (!is_bidirectional(spec, mount.target)) plan.optionally().mount("", mount.target, "", MS_SLAVE);
  } else if (any(spec, TaskMount::Propagation::host_to_task)) {
    plan.mount("", "/", "", MS_REC | MS_SLAVE);
  } else {
    plan.make_mounts_private();
  }
}

void add_mount_points(os::LaunchPlan& plan, const TaskSpec& spec, const std::string& root) {
  if (spec.mounts.empty()) return;
  plan.mount("", root, "", MS_REC | MS_PRIVATE).mount("", root, "", MS_UNBINDABLE);
  std::set<std::string> rebuilt;
  for (const auto& mount : spec.mounts) {
    const std::string destination = normal(mount.destination);
    if (!own_directory(spec, destination).empty()) continue;
    const Nearest nearest = nearest_of(destination);
    if (nearest.missing.empty()) continue;
    if (!nearest.directory.empty() && rebuilt.insert(nearest.directory).second) rebuild(plan, nearest.directory, root);
    std::string path = root + nearest.directory;
    for (const auto& part : nearest.missing) plan.make_directory(path += "/" + part, 0755);
  }
}

void attach_mounts(os::LaunchPlan& plan, const TaskSpec& spec, const std::string& root) {
  for (const auto& mount : spec.mounts) {
    const std::string target = root + place_of(spec, normal(mount.destination));
    plan.bind(mount.source, target, true);
    if (mount.propagation == TaskMount::Propagation::isolated) plan.mount("", target, "", MS_REC | MS_PRIVATE);
    if (mount.propagation == TaskMount::Propagation::host_to_task) plan.mount("", target, "", MS_REC | MS_SLAVE);
    std::uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    if (mount.read_only) attributes |= MOUNT_ATTR_RDONLY;
    plan.set_mount_attributes(target, attributes, true);
  }
  // The old tree is detached next: that shall unmount nothing on the machine.
  for (const auto& mount : spec.mounts)
    if (mount.propagation == TaskMount::Propagation::bidirectional) plan.mount("", mount.source, "", MS_REC | MS_SLAVE);
}

}  // namespace underway::driver::detail
