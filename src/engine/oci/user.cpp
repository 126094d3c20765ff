#include "oci/user.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "oci/root.hpp"

namespace underway::oci {
namespace {

constexpr std::size_t kAccountsLimit = 16U << 20;

std::optional<std::uint32_t> id_in(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // -1 means "unchanged" to the kernel.
  if (error != std::errc() || end != text.data() + text.size() || value == UINT32_MAX) return {};
  return value;
}

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
  // A name wins over a id_in that is spelled alike, as in Docker.
  const auto users = table(root, "etc/passwd", 4);
  const auto uid = id_in(wanted);
  auto entry = std::ranges::find_if(users, [&](const auto& fields) { return fields[0] == wanted; });
  if (entry == users.end() && uid)
    entry = std::ranges::find_if(users, [&](const auto& fields) { return id_in(fields[2]) == uid; });
  if (entry != users.end() && id_in((*entry)[2])) {
    out.uid = *id_in((*entry)[2]);
    out.gid = id_in((*entry)[3]).value_or(0);
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
      const auto gid = id_in(fields[2]);
      if (gid && *gid != out.gid && std::ranges::find(members, out.name) != members.end()) out.groups.push_back(*gid);
    }
    return out;
  }
  const auto found = std::ranges::find_if(groups, [&](const auto& fields) { return fields[0] == group; });
  const auto gid = found != groups.end() ? id_in((*found)[2]) : group == "root" ? 0 : id_in(group);
  if (!gid) throw unknown("group", group);
  out.gid = *gid;
  return out;
}

}  // namespace underway::oci
