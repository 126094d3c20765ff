#include "imagebuild/detail/contents.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::imagebuild {
namespace {

/// Files that are made when packages are installed, are another each time, or belong to one host only.
constexpr std::string_view kRemoved[] = {
    "/dev/*",
    "/etc/*-",  // passwd-, shadow-, …: the version before the last
    "/etc/.pwd.lock",
    "/etc/apt/apt.conf.d/99mmdebstrap",
    "/etc/machine-info",
    "/etc/munge/munge.key",
    "/etc/ssh/ssh_host_*",
    "/etc/ssl/certs/ssl-cert-snakeoil.pem",
    "/etc/ssl/private/ssl-cert-snakeoil.key",
    "/root/.bash_history",
    "/root/.cache",
    "/root/.gnupg",
    "/run/*",
    "/tmp/*",
    "/tmp/.*",
    "/usr/share/info/dir*",
    "/usr/sbin/policy-rc.d",
    "/var/cache/apt/*",
    "/var/cache/debconf/*-old",
    "/var/cache/fontconfig/*",
    "/var/cache/ldconfig/*",
    "/var/cache/man/*",
    "/var/lib/apt/lists/*",
    "/var/lib/apt/periodic/*",
    "/var/lib/dbus/machine-id",
    "/var/lib/dpkg/*-old",
    "/var/lib/dpkg/lock*",
    "/var/lib/dpkg/triggers/Lock",
    "/var/lib/systemd/catalog/database",
    "/var/lib/systemd/random-seed",
    "/var/lib/ucf/*.0",
    "/var/lib/ucf/cache/*",
    "/var/tmp/*",
};

/// Empty when they are there: the capsule's start fills them, and a file that is there can be mounted upon.
constexpr std::string_view kEmptied[] = {"/etc/hostname", "/etc/machine-id", "/etc/resolv.conf"};

void remove_logs(const oci::Root& root, const std::string& directory) {
  for (const auto& entry : root.list(directory)) {
    const std::string path = directory + "/" + entry.name;
    if (entry.type == DT_DIR)
      remove_logs(root, path);
    else
      root.remove(path);
  }
}

/// Their dates make them worthless once all files have one date, and their bytes are not always the same.
void remove_compiled_python(const oci::Root& root, const std::string& directory) {
  for (const auto& entry : root.list(directory)) {
    if (entry.type != DT_DIR) continue;
    const std::string path = directory + "/" + entry.name;
    if (entry.name == "__pycache__")
      root.remove(path);
    else
      remove_compiled_python(root, path);
  }
}

mode_t mode_of(const oci::Root& root, std::string_view path, os::Owner& owner) {
  const auto at = root.find_place(path);
  struct stat st{};
  if (!at || ::fstatat(at->directory(), at->leaf().c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
    throw Error(Code::internal, fmt::format("'{}' of the image has gone", path));
  owner = {.uid = st.st_uid, .gid = st.st_gid};
  return st.st_mode & 07777;
}

/// The third field of a line is the day of the password's last change, shadow(5).
void date_passwords(const oci::Root& root, std::int64_t created) {
  const auto shadow = root.read("/etc/shadow");
  if (!shadow) return;
  std::vector<std::string> lines = split(*shadow, '\n');
  for (auto& line : lines) {
    auto fields = split(line, ':');
    if (fields.size() < 3 || fields[2].empty() || fields[2] == "0") continue;
    fields[2] = std::to_string(created / 86400);
    line = join(fields, ":");
  }
  os::Owner owner;
  const mode_t mode = mode_of(root, "/etc/shadow", owner);
  root.write("/etc/shadow", join(lines, "\n"), mode, owner);
}

void add_file(const Definition& definition, const File& file, const oci::Root& root) {
  std::string bytes;
  mode_t mode = 0644;
  if (file.content) {
    bytes = *file.content;
  } else {
    const std::string source = (definition.directory / file.source).string();
    const os::Fd in = os::open_file(source, O_RDONLY);
    struct stat st{};
    if (::fstat(in.get(), &st) != 0 || !S_ISREG(st.st_mode))
      throw Error(Code::invalid, fmt::format("'{}' is no file that could be copied", source));
    constexpr std::size_t kLimit = 2U << 30;
    bytes = os::read_all(in, kLimit, fmt::format("'{}'", source));
    mode = st.st_mode & 0777;
  }
  if (!file.mode.empty()) mode = static_cast<mode_t>(parse_mode(file.mode).value_or(0644));
  root.write(file.path, bytes, mode, root.owner(file.user, file.group));
}

}  // namespace

void add_contents(const Definition& definition, const oci::Root& root) {
  for (const auto& directory : definition.directories)
    root.make_directory(directory.path, static_cast<mode_t>(parse_mode(directory.mode).value_or(0755)),
                        root.owner(directory.user, directory.group));
  for (const auto& file : definition.files) add_file(definition, file, root);
  for (const auto& link : definition.links) root.link(link.path, link.target);
}

void remove_contents(const Definition& definition, const oci::Root& root) {
  for (const auto& pattern : definition.remove) {
    const auto found = root.glob(pattern);
    if (found.empty() && pattern.find('*') == std::string::npos)
      throw Error(Code::not_found, fmt::format("cannot remove '{}' from the image", pattern))
          .because("there is nothing of that name in it")
          .advise("leave it out of `remove`, or write it with a `*` if it may be missing");
    for (const auto& path : found) root.remove(path);
  }
}

void clean(const oci::Root& root, std::int64_t created) {
  for (const auto pattern : kRemoved)
    for (const auto& path : root.glob(pattern)) root.remove(path);
  for (const auto path : kEmptied)
    if (root.has(path)) root.write(path, "");
  remove_logs(root, "/var/log");
  remove_compiled_python(root, "/usr");
  date_passwords(root, created);
}

std::vector<image::Package> installed_packages(const oci::Root& root) {
  std::vector<image::Package> out;
  image::Package package;
  bool installed = false;
  const auto finish = [&] {
    if (installed && !package.name.empty()) out.push_back(package);
    package = {};
    installed = false;
  };
  for (const auto& line : split(root.read("/var/lib/dpkg/status").value_or(""), '\n')) {
    if (line.empty()) finish();
    const auto colon = line.find(": ");
    if (colon == std::string::npos || line.front() == ' ') continue;
    const std::string key = line.substr(0, colon);
    const std::string value(trim(line.substr(colon + 2)));
    if (key == "Package") package.name = value;
    if (key == "Version") package.version = value;
    if (key == "Architecture") package.architecture = value;
    if (key == "Status") installed = value.ends_with(" installed");
  }
  finish();
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::tie(a.name, a.architecture) < std::tie(b.name, b.architecture);
  });
  return out;
}

}  // namespace underway::imagebuild
