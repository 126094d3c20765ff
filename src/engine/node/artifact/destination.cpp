#include "node/artifact/destination.hpp"

#include "base/error.hpp"
#include "node/streams/file_access.hpp"

namespace underway::node {

namespace {

bool inside(std::string_view path, std::string_view directory) {
  return path == directory || (path.starts_with(directory) && path.substr(directory.size()).starts_with('/'));
}

}  // namespace

std::string resolve_destination(std::string_view path, std::string_view task, const std::string& root,
                                const TaskPaths& view) {
  const std::string own(task);
  const std::pair<std::string, std::string> names[] = {
      {view.local, own + "/local"}, {view.secrets, own + "/secrets"}, {view.alloc, "alloc"}, {root, ""}};
  std::string target;
  if (path.starts_with('/')) {
    for (const auto& [from, to] : names)
      if (!from.empty() && inside(path, from)) {
        target = fmt::format("{}/{}", to, path.substr(from.size()));
        break;
      }
  }
  // Nomad: an absolute path that is none of these is meant below the task's directory.
  if (target.empty()) target = fmt::format("{}/{}", own, path);
  const auto plain = normalise(target);
  const bool allowed = plain && (inside(*plain, own) || inside(*plain, "alloc")) && !inside(*plain, own + "/private");
  if (!allowed)
    throw Error(Code::denied, fmt::format("'{}' lies outside of the directories of task '{}'", path, task))
        .because("files of a task lie in its local/, secrets/ and tmp/ and in the allocation's alloc/");
  return *plain;
}

}  // namespace underway::node
