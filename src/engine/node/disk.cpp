#include "node/disk.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::node {
namespace {

std::string arriving(const std::string& root) { return root + "/.arriving"; }
std::string arrived(const std::string& root) { return root + "/.arrived"; }

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

void rename_to(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    throw errno_error(errno, fmt::format("cannot move '{}' to '{}'", from, to));
}

/// Not through a link that a task may have put in a directory's place.
bool is_directory(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

std::vector<std::string> disk_parts(const model::TaskGroup& group) {
  std::vector<std::string> parts{"alloc/data"};
  for (const auto& task : group.tasks) parts.push_back(task.name + "/local");
  return parts;
}

std::string open_arrival(const std::string& root) {
  const std::string path = arriving(root);
  os::remove_tree(path);
  os::make_directories(path, 0700);
  return path;
}

void close_arrival(const std::string& root) { rename_to(arriving(root), arrived(root)); }

bool has_arrived(const std::string& root) { return is_directory(arrived(root)); }

void take_over(const std::string& from_root, const std::string& root, const std::vector<std::string>& parts) {
  os::make_directories(arriving(root), 0700);
  for (const auto& part : parts) {
    const std::string from = from_root + "/" + part, to = arriving(root) + "/" + part;
    if (!is_directory(from)) continue;  // moved before the agent died, or never made
    os::make_directories(parent_of(to), 0755);
    rename_to(from, to);
  }
  close_arrival(root);
}

void settle_arrival(const std::string& root, const std::vector<std::string>& parts) {
  for (const auto& part : parts) {
    const std::string from = arrived(root) + "/" + part, to = root + "/" + part;
    if (!is_directory(from)) continue;
    os::remove_tree(to);
    os::make_directories(parent_of(to), 0755);
    rename_to(from, to);
  }
  os::remove_tree(arrived(root));
}

std::vector<std::string> pack_command(const std::string& program, const std::string& root,
                                      const std::vector<std::string>& parts) {
  std::vector<std::string> command{program, "pack", root};
  command.insert(command.end(), parts.begin(), parts.end());
  return command;
}

std::vector<std::string> unpack_command(const std::string& program, const std::string& directory) {
  return {program, "unpack", directory};
}

}  // namespace underway::node
