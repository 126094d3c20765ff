#include "os/mount.hpp"

#include <sys/mount.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::os {
namespace {

/// Undoes the octal escapes of mountinfo: space, tab, newline and backslash.
std::string unescape(std::string_view text) {
  std::string out;
  const auto octal = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '7'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

const unsigned long kDataOnly = MS_NOSUID | MS_NODEV | MS_NOEXEC;

Mount Mount::make(const std::string& source, const std::string& target, const std::string& type, unsigned long flags,
                  const std::string& data) {
  if (::mount(source.empty() ? "none" : source.c_str(), target.c_str(), type.empty() ? nullptr : type.c_str(), flags,
              data.empty() ? nullptr : data.c_str()) != 0) {
    const int error = errno;
    throw errno_error(error, type.empty() ? fmt::format("cannot bind '{}' on '{}'", source, target)
                                          : fmt::format("cannot mount {} '{}' on '{}'", type, source, target));
  }
  return Mount(target);
}

Mount Mount::bind(const std::string& source, const std::string& target, unsigned long flags) {
  Mount mount = make(source, target, "", MS_BIND | (flags & MS_REC));
  const unsigned long rest = flags & ~static_cast<unsigned long>(MS_REC | MS_BIND);
  // The flags of a bind count only in a second call (mount(2), "Remounting").
  if (rest != 0 && ::mount("none", target.c_str(), nullptr, MS_REMOUNT | MS_BIND | rest, nullptr) != 0) {
    throw errno_error(errno, fmt::format("cannot restrict the mount at '{}'", target));
  }
  return mount;
}

Mount Mount::tmpfs(const std::string& target, const std::string& options, unsigned long flags) {
  return make("tmpfs", target, "tmpfs", flags, options);
}
Mount Mount::proc(const std::string& target) { return make("proc", target, "proc", kDataOnly); }

Mount Mount::overlay(const std::vector<std::string>& lower, const std::string& upper, const std::string& work,
                     const std::string& target, const std::string& options) {
  std::string data = "lowerdir=" + join(lower, ":");
  if (!upper.empty()) data += ",upperdir=" + upper + ",workdir=" + work;
  if (!options.empty()) data += "," + options;
  return make("overlay", target, "overlay", 0, data);
}

Mount::Mount(Mount&& other) noexcept : target_(other.release()) {}
Mount& Mount::operator=(Mount other) noexcept {
  std::swap(target_, other.target_);
  return *this;
}
Mount::~Mount() {
  if (!target_.empty()) ::umount2(target_.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
}

void Mount::unmount() {
  if (target_.empty()) return;
  if (::umount2(target_.c_str(), UMOUNT_NOFOLLOW) != 0) {
    throw errno_error(errno, fmt::format("cannot unmount '{}'", target_)).advise("`fuser -vm` shows who uses it");
  }
  target_.clear();
}

std::string Mount::release() noexcept { return std::exchange(target_, {}); }

void unmount_all(const std::string& target) {
  // Mounts stack; a bound keeps a fight with somebody who mounts again from lasting for ever.
  for (int layer = 0; layer < 64; ++layer) {
    if (::umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) continue;
    if (errno == EINVAL || errno == ENOENT || errno == ENOTDIR) return;
    throw errno_error(errno, fmt::format("cannot unmount '{}'", target));
  }
  throw Error(Code::conflict, fmt::format("cannot unmount '{}'", target)).because("64 layers, and still mounted");
}

std::vector<MountPoint> parse_mountinfo(std::string_view text) {
  std::vector<MountPoint> mounts;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(line, ' ');
    std::size_t dash = 6;
    while (dash < fields.size() && fields[dash] != "-") ++dash;
    if (dash + 3 >= fields.size()) continue;
    mounts.push_back({.target = unescape(fields[4]),
                      .type = fields[dash + 1],
                      .source = unescape(fields[dash + 2]),
                      .root = unescape(fields[3]),
                      .super_options = fields[dash + 3]});
  }
  return mounts;
}

std::vector<MountPoint> list_mounts() { return parse_mountinfo(read_file("/proc/self/mountinfo")); }

bool is_mount_point(const std::string& path) {
  for (const auto& mount : list_mounts()) {
    if (mount.target == path) return true;
  }
  return false;
}

}  // namespace underway::os
