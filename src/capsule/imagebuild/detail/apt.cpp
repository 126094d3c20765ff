#include "imagebuild/detail/apt.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "imagebuild/detail/run.hpp"
#include "os/mount.hpp"

namespace underway::imagebuild {
namespace {

bool has_scheme(std::string_view url) { return url.find("://") != std::string_view::npos || url.starts_with("copy:"); }

bool is_local(std::string_view url) { return !has_scheme(url) || url.starts_with("file:") || url.starts_with("copy:"); }

/// As apt wants it. Packages of this machine are copied to where dpkg, which runs inside of the tree, sees them.
std::string apt_url(const Definition& definition, const std::string& url) {
  if (!has_scheme(url))
    return "copy:" + std::filesystem::absolute(definition.directory / url).lexically_normal().string();
  if (url.starts_with("file:")) return "copy:" + url.substr(5);
  return url;
}

std::string absolute_or_none(const Definition& definition, const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(definition.directory / path).lexically_normal().string();
}

std::string replaced(std::string text, std::string_view from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::vector<std::string> mirrors(const Definition& definition) {
  const auto& from = definition.from;
  if (from.mirrors.empty())
    return {from.snapshot.empty() ? "https://deb.debian.org/debian"
                                  : fmt::format("https://snapshot.debian.org/archive/debian/{}", from.snapshot)};
  auto out = from.mirrors;
  for (auto& mirror : out) mirror = replaced(std::move(mirror), "{snapshot}", from.snapshot);
  return out;
}

std::string options(const std::vector<std::string>& all) {
  return all.empty() ? std::string() : fmt::format("[{}] ", join(all, " "));
}

std::string line(const std::vector<std::string>& with, const std::string& url, const std::string& suite,
                 const std::vector<std::string>& components) {
  return fmt::format("deb {}{} {}{}{}", options(with), url, suite, components.empty() ? "" : " ",
                     join(components, " "));
}

constexpr const char* kArchives = "/var/cache/apt/archives/partial";

/// apt.conf(5) for an apt that runs here and works there.
std::string configuration(const Definition& definition, const oci::Root& root, const std::string& work) {
  const std::string& tree = root.path();
  std::string text;
  const auto set = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{} \"{}\";\n", key, value);
  };
  set("APT::Architecture", definition.architecture);
  text += fmt::format("#clear APT::Architectures;\nAPT::Architectures {{ \"{}\"; }};\n", definition.architecture);
  set("APT::Install-Recommends", definition.recommends ? "true" : "false");
  set("APT::Sandbox::User", "root");
  set("Acquire::Languages", "none");
  set("Acquire::Check-Valid-Until", "false");
  set("Dir::Etc", work + "/etc");
  set("Dir::Etc::TrustedParts", "/etc/apt/trusted.gpg.d");
  set("Dir::State", work + "/state");
  set("Dir::State::status", tree + "/var/lib/dpkg/status");
  set("Dir::State::extended_states", tree + "/var/lib/apt/extended_states");
  set("Dir::Cache", work + "/cache");
  set("Dir::Cache::archives", tree + "/var/cache/apt/archives");
  set("Dir::Log", work + "/log");
  // The tree's own dpkg, without our TMPDIR.
  set("Dir::Bin::dpkg", "/usr/bin/env");
  text += "DPkg::Options { \"--unset=TMPDIR\"; \"dpkg\"; \"--force-confnew\"; \"--force-unsafe-io\"; };\n";
  set("DPkg::Chroot-Directory", tree);
  return text;
}

/// What packages' scripts expect of a machine, until this ends.
class MachineInTree {
 public:
  explicit MachineInTree(const oci::Root& root) : root_(root) {
    // A service that a package starts would run here, and not where it belongs.
    root.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0755);
    root.make_directory("/proc", 0755, {});
    root.make_directory("/dev", 0755, {});
    mounts_.push_back(os::Mount::proc(root.path() + "/proc"));
    mounts_.push_back(os::Mount::tmpfs(root.path() + "/dev", "size=1m,mode=755"));
    for (const char* name : {"null", "zero", "full", "random", "urandom"}) {
      const std::string node = fmt::format("{}/dev/{}", root.path(), name);
      os::write_file(node, "", 0666, {}, os::Durability::cached);
      mounts_.push_back(os::Mount::bind(fmt::format("/dev/{}", name), node));
    }
    if (::symlink("/proc/self/fd", (root.path() + "/dev/fd").c_str()) != 0)
      throw errno_error(errno, "cannot make /dev/fd in the image");
  }
  ~MachineInTree() {
    while (!mounts_.empty()) mounts_.pop_back();
  }
  MachineInTree(const MachineInTree&) = delete;
  /// What it put there is gone; mounts first, as they lie in each other.
  void end() {
    while (!mounts_.empty()) {
      mounts_.back().unmount();
      mounts_.pop_back();
    }
    root_.remove("/usr/sbin/policy-rc.d");
  }

 private:
  const oci::Root& root_;
  std::vector<os::Mount> mounts_;
};

}  // namespace

std::vector<std::string> sources(const Definition& definition, bool public_only) {
  std::vector<std::string> out;
  if (definition.from.base == Base::debian) {
    std::vector<std::string> with;
    // In an image, the path of a keyring on this machine means nothing.
    if (!definition.from.keyring.empty() && !public_only)
      with.push_back("signed-by=" + absolute_or_none(definition, definition.from.keyring));
    if (!definition.from.snapshot.empty()) with.emplace_back("check-valid-until=no");
    if (definition.from.trusted) with.emplace_back("trusted=yes");
    for (const auto& mirror : mirrors(definition))
      if (!public_only || !is_local(mirror))
        out.push_back(line(with, apt_url(definition, mirror), definition.from.source, definition.from.components));
  }
  for (const auto& repository : definition.repositories) {
    if (public_only && is_local(repository.url)) continue;
    std::vector<std::string> with;
    if (repository.trusted) with.emplace_back("trusted=yes");
    if (!repository.keyring.empty() && !public_only)
      with.push_back("signed-by=" + absolute_or_none(definition, repository.keyring));
    out.push_back(line(with, apt_url(definition, repository.url), repository.suite, repository.components));
  }
  return out;
}

void make_debian(const Definition& definition, const std::string& path, std::int64_t created) {
  if (::geteuid() != 0)
    throw Error(Code::denied, "only root can build an image from packages")
        .because("their files belong to many users, and their scripts run with the image as their root")
        .advise("run it as root");
  std::vector<std::string> argv = {"mmdebstrap",
                                   "--mode=root",
                                   "--format=directory",
                                   "--quiet",
                                   "--variant=" + definition.from.variant,
                                   "--architectures=" + definition.architecture};
  if (!definition.packages.empty()) argv.push_back("--include=" + join(definition.packages, ","));
  argv.emplace_back("--aptopt=Acquire::Languages \"none\"");
  if (definition.recommends) argv.emplace_back("--aptopt=APT::Install-Recommends \"true\"");
  argv.emplace_back("--dpkgopt=force-unsafe-io");
  argv.push_back(definition.from.source);
  argv.push_back(path);
  for (auto& source : sources(definition)) argv.push_back(std::move(source));
  run(argv, fmt::format("make a tree of Debian's packages for image '{}'", definition.name), "mmdebstrap", created);
  const oci::Root root(path);
  root.remove("/etc/apt/sources.list.d/0000repo.list");
  root.remove("/etc/dpkg/dpkg.cfg.d/99mmdebstrap");
  if (!root.has("/etc/apt")) return;
  const auto lines = sources(definition, true);
  root.write("/etc/apt/sources.list", lines.empty() ? "" : join(lines, "\n") + "\n");
}

void add_packages(const Definition& definition, const oci::Root& root, const std::string& work, std::int64_t created) {
  if (::geteuid() != 0) throw Error(Code::denied, "only root can add packages to an image").advise("run it as root");
  if (!root.has("/usr/bin/dpkg") || !root.has("/var/lib/dpkg/status"))
    throw Error(Code::unsupported, fmt::format("cannot add packages to the base of image '{}'", definition.name))
        .because("there is no dpkg in it, so it was not made of Debian's packages")
        .advise("put `packages` into a definition that is built `from debian`");
  const auto lines = sources(definition);
  if (lines.empty())
    throw Error(Code::invalid, fmt::format("image '{}' has packages and no repository", definition.name))
        .advise(
            "add repository \"debian\" { url = \"https://deb.debian.org/debian\" suite = \"bookworm\" "
            "components = [\"main\"] }");
  for (const char* name :
       {"/etc/apt.conf.d", "/etc/preferences.d", "/etc/sources.list.d", "/state/lists/partial", "/cache", "/log"})
    os::make_directories(work + name);
  os::write_file(work + "/etc/sources.list", join(lines, "\n") + "\n");
  os::write_file(work + "/apt.conf", configuration(definition, root, work));
  root.make_directory(kArchives, 0755, {});
  root.make_directory("/var/lib/apt", 0755, {});
  const std::vector<std::string> environment = {"APT_CONFIG=" + work + "/apt.conf"};
  run({"apt-get", "update", "-q", "--error-on=any"}, "read the repositories", "apt", created, environment);
  MachineInTree machine(root);
  std::vector<std::string> argv = {"apt-get", "install", "-q", "--yes", "--no-remove"};
  argv.insert(argv.end(), definition.packages.begin(), definition.packages.end());
  run(argv, fmt::format("install the packages of image '{}'", definition.name), "apt", created, environment);
  machine.end();
}

}  // namespace underway::imagebuild
