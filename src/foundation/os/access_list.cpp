#include "os/access_list.hpp"

#include <linux/posix_acl_xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.hpp"

namespace underway::os {
namespace {

using Entry = posix_acl_xattr_entry;
constexpr const char* kName = "system.posix_acl_access";
/// linux/posix_acl.h, which is not for programs.
enum Tag : std::uint16_t { owner = 0x01, user_entry = 0x02, owning_group = 0x04, mask = 0x10, others = 0x20 };
constexpr std::uint16_t kExecute = 1;
constexpr std::uint32_t kNobody = 0xffffffff;

Entry entry(std::uint16_t tag, unsigned permissions, std::uint32_t id = kNobody) {
  return {tag, static_cast<std::uint16_t>(permissions & 7U), id};
}

/// The list, or what the mode says.
std::vector<Entry> entries_of(const std::string& directory) {
  char bytes[1U << 16];
  const ssize_t size = ::getxattr(directory.c_str(), kName, bytes, sizeof bytes);
  if (size > static_cast<ssize_t>(sizeof(posix_acl_xattr_header))) {
    std::vector<Entry> entries((static_cast<std::size_t>(size) - sizeof(posix_acl_xattr_header)) / sizeof(Entry));
    std::memcpy(entries.data(), bytes + sizeof(posix_acl_xattr_header), entries.size() * sizeof(Entry));
    return entries;
  }
  struct stat st{};
  if (::stat(directory.c_str(), &st) != 0) throw errno_error(errno, fmt::format("cannot examine '{}'", directory));
  return {entry(owner, st.st_mode >> 6), entry(owning_group, st.st_mode >> 3), entry(others, st.st_mode)};
}

}  // namespace

void let_pass(const std::string& directory, uid_t user) {
  auto entries = entries_of(directory);
  std::erase_if(entries,
                [user](const Entry& e) { return e.e_tag == mask || (e.e_tag == user_entry && e.e_id == user); });
  entries.push_back(entry(user_entry, kExecute, user));
  unsigned most = 0;
  for (const auto& each : entries) {
    if (each.e_tag == user_entry || each.e_tag == owning_group) most |= each.e_perm;
  }
  entries.push_back(entry(mask, most));
  // The kernel takes them in this order only.
  const auto before = [](const Entry& a, const Entry& b) {
    return a.e_tag != b.e_tag ? a.e_tag < b.e_tag : a.e_id < b.e_id;
  };
  std::sort(entries.begin(), entries.end(), before);
  const posix_acl_xattr_header head{POSIX_ACL_XATTR_VERSION};
  std::string bytes(sizeof head + entries.size() * sizeof(Entry), '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, entries.data(), entries.size() * sizeof(Entry));
  if (::setxattr(directory.c_str(), kName, bytes.data(), bytes.size(), 0) == 0) return;
  if (errno == ENOTSUP)
    throw Error(Code::unsupported, fmt::format("cannot let user {} pass '{}'", user, directory))
        .because("its file system has no access control lists")
        .advise("put the agent's data_dir on ext4, xfs or btrfs");
  throw errno_error(errno, fmt::format("cannot let user {} pass '{}'", user, directory));
}

}  // namespace underway::os
