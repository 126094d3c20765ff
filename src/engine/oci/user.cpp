#include "oci/user.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "oci/root.hpp"
#include "os/process/user.hpp"

namespace underway::oci {
namespace {

constexpr std::size_t kAccountsLimit = 16U << 20;

/// Lines of a file, as fields; lines that have fewer than `least` are left out.
std::vector<std::vector<std::string>> table(const Root& root, const char* path, std::size_t least) {
  std::vector<std::vector<std::string>> out;
  const auto text = root.read(path, kAccountsLimit);
  for (const auto& line : split(text.value_or(""), '\n')) {
    auto fields = split(line, ':');
    if (fields.size() >= least) out.push_back(std::move(fields));
  }
  return out;
}

Error unknown(std::string_view what, std::string_view name) {
  return Error(Code::not_found, fmt::format("the image has no {} '{}'", what, name))
      .advise("name one that it has, or write its id_in");
}

}  // namespace

ImageUser resolve_user(const std::string& rootfs, std::string_view text) {
  const auto colon = text.find(':');
  const std::string wanted(text.empty() || colon == 0 ? "0" : text.substr(0, colon));
  const std::string_view group = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (wanted.find_first_of(std::string_view(":\n\0", 3)) != std::string::npos ||
      group.find_first_of(std::string_view(":\n\0", 3)) != std::string_view::npos)
    throw Error(Code::invalid, fmt::format("'{}' is no user", text)).advise("write user, or user:group");
  const Root root(rootfs);
  ImageUser out;
  // A name wins over a number that is spelled alike, as in Docker.
  const auto users = table(root, "etc/passwd", 4);
  const auto uid = os::parse_id(wanted);
  auto entry = std::ranges::find_if(users, [&](const auto& fields) { return fields[0] == wanted; });
  if (entry == users.end() && uid)
    entry = std::ranges::find_if(users, [&](const auto& fields) { return os::parse_id(fields[2]) == uid; });
  if (entry != users.end() && os::parse_id((*entry)[2])) {
    out.uid = *os::parse_id((*entry)[2]);
    out.gid = os::parse_id((*entry)[3]).value_or(0);
    out.name = (*entry)[0];
    if (entry->size() > 5 && (*entry)[5].starts_with('/')) out.home = (*entry)[5];
  } else if (uid) {
    out.uid = *uid;
  } else if (wanted != "root") {
    throw unknown("user", wanted);
  }
  const auto groups = table(root, "etc/group", 3);
  if (group.empty()) {
    for (const auto& fields : groups) {
      if (out.name.empty() || fields.size() < 4) continue;
      const auto members = split(fields[3], ',');
      const auto gid = os::parse_id(fields[2]);
      if (gid && *gid != out.gid && std::ranges::find(members, out.name) != members.end()) out.groups.push_back(*gid);
    }
    return out;
  }
  const auto found = std::ranges::find_if(groups, [&](const auto& fields) { return fields[0] == group; });
  const auto gid = found != groups.end() ? os::parse_id((*found)[2]) : group == "root" ? 0 : os::parse_id(group);
  if (!gid) throw unknown("group", group);
  out.gid = *gid;
  return out;
}

}  // namespace underway::oci
