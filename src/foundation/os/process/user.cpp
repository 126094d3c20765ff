#include "os/process/user.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/numbers.hpp"

namespace underway::os {
namespace {

/// Calls a reentrant look-up of <pwd.h> or <grp.h> with a buffer that grows until the entry fits.
template <class Entry, class Lookup>
bool look_up(Entry& entry, std::vector<char>& buffer, const Lookup& lookup, const std::string& what) {
  constexpr std::size_t kLargest = 16U << 20;  // a group of a whole university
  for (buffer.resize(4096); buffer.size() <= kLargest; buffer.resize(buffer.size() * 4)) {
    Entry* found = nullptr;
    const int error = lookup(&entry, buffer.data(), buffer.size(), &found);
    if (error == ERANGE || error == EINTR) continue;
    // getpwnam(3): several errno values also just mean "no such entry".
    if (error != 0 && error != ENOENT && error != ESRCH && error != EBADF && error != EPERM) {
      throw errno_error(error, fmt::format("cannot look up {}", what));
    }
    return found != nullptr;
  }
  throw Error(Code::too_large, fmt::format("cannot look up {}", what)).because("its entry exceeds 16 MiB");
}

std::vector<gid_t> groups_of(const char* name, gid_t primary) {
  std::vector<gid_t> groups(64);
  for (;;) {
    int count = static_cast<int>(groups.size());
    if (::getgrouplist(name, primary, groups.data(), &count) >= 0) {
      groups.resize(static_cast<std::size_t>(count));
      return groups;
    }
    groups.resize(std::max(static_cast<std::size_t>(count), groups.size() * 2));
  }
}

User from_entry(const passwd& entry) {
  return {entry.pw_name, entry.pw_uid,   entry.pw_gid,
          entry.pw_dir,  entry.pw_shell, groups_of(entry.pw_name, entry.pw_gid)};
}

std::optional<User> find_by_uid(uid_t uid) {
  passwd entry{};
  std::vector<char> buffer;
  const auto lookup = [uid](passwd* e, char* b, std::size_t n, passwd** r) { return ::getpwuid_r(uid, e, b, n, r); };
  if (!look_up(entry, buffer, lookup, fmt::format("user {}", uid))) return std::nullopt;
  return from_entry(entry);
}

}  // namespace

std::optional<id_t> parse_id(std::string_view text) {
  const auto id = parse_number<id_t>(text);
  return id != static_cast<id_t>(-1) ? id : std::nullopt;
}

std::optional<User> find_user(const std::string& name) {
  passwd entry{};
  std::vector<char> buffer;
  const auto lookup = [&](passwd* e, char* b, std::size_t n, passwd** r) {
    return ::getpwnam_r(name.c_str(), e, b, n, r);
  };
  if (look_up(entry, buffer, lookup, fmt::format("user '{}'", name))) return from_entry(entry);
  const auto number = parse_number<unsigned>(name);
  return number ? find_by_uid(*number) : std::nullopt;
}

User get_user(const std::string& name) {
  auto user = find_user(name);
  if (!user) {
    throw Error(Code::not_found, fmt::format("there is no user '{}'", name))
        .advise("create it, or check the name service (`getent passwd`)");
  }
  return *std::move(user);
}

User current_user() {
  if (auto user = find_by_uid(::geteuid())) return *std::move(user);
  return {std::to_string(::geteuid()), ::geteuid(), ::getegid(), "/", "/bin/sh", {::getegid()}};
}

std::optional<gid_t> find_group(const std::string& name) {
  group entry{};
  std::vector<char> buffer;
  const auto lookup = [&](group* e, char* b, std::size_t n, group** r) {
    return ::getgrnam_r(name.c_str(), e, b, n, r);
  };
  if (look_up(entry, buffer, lookup, fmt::format("group '{}'", name))) return entry.gr_gid;
  return parse_number<unsigned>(name);
}

}  // namespace underway::os
