#include "trees.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::overlay {
namespace {

namespace fs = std::filesystem;

bool root_rights() { return ::geteuid() == 0; }

char type_letter(const struct stat& stat) {
  if (S_ISREG(stat.st_mode)) return 'f';
  if (S_ISDIR(stat.st_mode)) return 'd';
  if (S_ISLNK(stat.st_mode)) return 'l';
  return S_ISCHR(stat.st_mode) && stat.st_rdev == 0 ? 'w' : '?';
}

struct stat look(const std::string& path) {
  struct stat found = {};
  EXPECT_EQ(::lstat(path.c_str(), &found), 0) << path;
  return found;
}

std::string attributes_of(const std::string& path) {
  std::string list(65536, '\0');
  const auto size = ::llistxattr(path.c_str(), list.data(), list.size());
  list.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  auto names = split(list, '\0');
  std::sort(names.begin(), names.end());
  std::string text;
  for (const auto& name : names) {
    if (!name.starts_with("user.") && !name.starts_with("trusted.overlay.")) continue;
    std::string value(65536, '\0');
    const auto length = ::lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
    value.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    text += " " + name + "=" + hex(crypto::sha256(value)).substr(0, 8);
  }
  return text;
}

std::vector<std::string> paths_in(const std::string& root) {
  std::vector<std::string> paths = {root};
  for (const auto& entry : fs::recursive_directory_iterator(root)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

Gardener::Gardener(std::string root, std::uint64_t seed) : root_(std::move(root)), random_(seed) {
  os::make_directories(root_);
}

std::string Gardener::any(char type) {
  std::vector<std::string> paths;
  for (auto& path : paths_in(root_)) {
    if (type_letter(look(path)) == type) paths.push_back(std::move(path));
  }
  return paths.empty() ? std::string() : paths[below(paths.size())];
}

std::string Gardener::fresh() {
  // Names of which one begins like another, and sort before and after a slash.
  static const char* const kNames[] = {"a", "a-b", "a0", "log", "log.1", "é", "x y"};
  return any('d') + "/" + kNames[below(std::size(kNames))] + (below(3) == 0 ? "" : std::to_string(named_++));
}

void Gardener::write_some(const std::string& path) {
  const auto file = os::open_file(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0640);
  const auto at = below(4) == 0 ? below(400'000) : below(2'000);
  std::string bytes(below(3) == 0 ? below(150'000) : below(3'000), '\0');
  if (below(5) != 0) std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random_()); });
  EXPECT_EQ(::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(at)),
            static_cast<ssize_t>(bytes.size()));
}

void Gardener::replace(const std::string& path) {
  if (path != root_) fs::remove_all(path);
}

void Gardener::attributes(const std::string& path) {
  const std::string value(below(200), 'v');
  if (below(2) == 0) static_cast<void>(::lsetxattr(path.c_str(), "user.note", value.data(), value.size(), 0));
  if (below(3) == 0) static_cast<void>(::lremovexattr(path.c_str(), "user.note"));
  if (!root_rights()) return;
  if (below(2) == 0) static_cast<void>(::lsetxattr(path.c_str(), "trusted.overlay.opaque", "y", 1, 0));
  if (below(2) == 0)
    EXPECT_EQ(::lchown(path.c_str(), static_cast<uid_t>(below(5)), static_cast<gid_t>(below(5))), 0) << path;
}

void Gardener::once() {
  const auto file = any('f');
  switch (below(15)) {
    case 0:
    case 1:
    case 2:
      return write_some(fs::is_directory(fs::symlink_status(root_)) ? root_ + "/f" + std::to_string(below(20)) : root_);
    case 3: {
      const auto path = fresh();
      if (!fs::exists(fs::symlink_status(path))) os::make_directories(path, 0711);
      return;
    }
    case 4: {
      const auto path = fresh();
      replace(path);
      return write_some(path);
    }
    case 5: {
      const auto path = fresh();
      replace(path);
      return fs::create_symlink(below(2) == 0 ? "/etc/passwd" : "../..", path);
    }
    case 6:
      if (!file.empty()) {
        const auto path = fresh();
        if (path != file && !file.starts_with(path + "/")) {
          replace(path);
          fs::create_hard_link(file, path);
        }
      }
      return;
    case 7:
      if (root_rights()) {
        const auto path = fresh();
        replace(path);
        const bool made = ::mknod(path.c_str(), S_IFCHR, makedev(0, 0)) == 0;
        EXPECT_TRUE(made || errno == EPERM) << path;  // overlayfs makes its own
      }
      return;
    case 8:
      if (!file.empty()) EXPECT_EQ(::truncate(file.c_str(), static_cast<off_t>(below(120'000))), 0);
      return;
    case 9:
      return attributes(any("fd"[below(2)]));
    case 10: {
      const auto path = any('d');
      if (path != root_) EXPECT_EQ(::chmod(path.c_str(), 0700 + static_cast<mode_t>(below(8))), 0);
      if (!file.empty()) EXPECT_EQ(::chmod(file.c_str(), 0600 + static_cast<mode_t>(below(8))), 0);
      return;
    }
    case 11: {
      const auto from = any("fdl"[below(3)]), to = fresh();
      if (from.empty() || from == root_ || (to + "/").starts_with(from + "/") || from.starts_with(to + "/")) return;
      replace(to);
      return fs::rename(from, to);
    }
    case 12:
      return replace(any("fdlw"[below(4)]));
    case 13: {
      const auto path = fresh();
      if (fs::exists(fs::symlink_status(path))) return;
      EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
      return;
    }
    default:
      if (!file.empty()) write_some(file);
  }
}

void Gardener::grow(int changes) {
  for (int i = 0; i < changes; ++i) once();
}

std::string words_of(const std::string& root) {
  std::string text;
  std::map<std::uint64_t, std::string> first;
  for (const auto& path : paths_in(root)) {
    const auto stat = look(path);
    const auto type = type_letter(stat);
    if (type == '?') continue;
    text += fmt::format("{} {}", type, path.substr(root.size()));
    if (type != 'w')
      text += fmt::format(" {}:{} {}.{:09}", stat.st_uid, stat.st_gid, stat.st_mtim.tv_sec, stat.st_mtim.tv_nsec);
    if (type == 'f' || type == 'd') text += fmt::format(" {:o}", stat.st_mode & 07777U);
    if (type == 'l') text += " -> " + fs::read_symlink(path).string();
    if (type == 'f') {
      text += fmt::format(" {} {}", stat.st_size, hex(crypto::sha256(os::read_file(path))).substr(0, 12));
      const auto [same, is_first] = first.emplace(stat.st_ino, path.substr(root.size()));
      if (!is_first) text += " is " + same->second;
    }
    text += attributes_of(path) + "\n";
  }
  return text;
}

bool pump(Party& sender, Party& receiver, std::uint64_t allowed) {
  const auto move = [&](Party& from, Party& to) {
    auto bytes = from.next();
    if (bytes.size() > allowed) bytes.resize(allowed);
    allowed -= bytes.size();
    if (!bytes.empty()) to.receive(bytes);
    return !bytes.empty();
  };
  while (!sender.done() || !receiver.done()) {
    const bool told = move(receiver, sender);
    const bool sent = move(sender, receiver);
    if (!told && !sent) break;
  }
  return sender.done() && receiver.done();
}

Round send_round(const std::string& upper, const std::string& dir, SendOptions options) {
  Sender sender(upper, std::move(options));
  Receiver receiver(dir);
  EXPECT_TRUE(pump(sender, receiver));
  return sender.round();
}

}  // namespace underway::overlay
