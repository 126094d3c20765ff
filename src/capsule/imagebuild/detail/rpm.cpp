#include "imagebuild/detail/rpm.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "imagebuild/detail/run.hpp"

namespace underway::imagebuild {
namespace {

std::string absolute(const Definition& definition, const std::string& path) {
  return std::filesystem::absolute(definition.directory / path).lexically_normal().string();
}

std::string url_of(const Definition& definition, const std::string& mirror) {
  return mirror.find("://") == std::string::npos ? "file://" + absolute(definition, mirror) : mirror;
}

/// RPM's names of Debian's architectures.
std::string rpm_architecture(const std::string& debian) {
  static const std::map<std::string, std::string> kNames = {
      {"amd64", "x86_64"}, {"arm64", "aarch64"}, {"ppc64el", "ppc64le"}, {"i386", "i686"}};
  const auto found = kNames.find(debian);
  return found == kNames.end() ? debian : found->second;
}

}  // namespace

std::vector<std::string> dnf_arguments(const Definition& definition, const std::string& tree) {
  const auto& from = definition.from;
  std::vector<std::string> out = {
      "--assumeyes", "--installroot=" + tree, "--releasever=" + from.source,
      "--forcearch=" + rpm_architecture(definition.architecture), "--setopt=reposdir=/dev/null",
      // Within the tree, whatever it is.
      "--setopt=cachedir=/var/cache/dnf", "--setopt=tsflags=nodocs",
      fmt::format("--setopt=install_weak_deps={}", definition.recommends ? "True" : "False")};
  int number = 0;
  for (const auto& mirror : from.mirrors) {
    const std::string name = fmt::format("mirror{}", number++);
    out.push_back(fmt::format("--repofrompath={},{}", name, url_of(definition, mirror)));
    out.push_back(fmt::format("--setopt={}.gpgcheck={}", name, from.trusted ? 0 : 1));
    if (!from.keyring.empty())
      out.push_back(fmt::format("--setopt={}.gpgkey=file://{}", name, absolute(definition, from.keyring)));
  }
  out.emplace_back("install");
  out.insert(out.end(), definition.packages.begin(), definition.packages.end());
  return out;
}

std::vector<image::Package> make_rpm(const Definition& definition, const std::string& tree, std::int64_t created) {
  if (::geteuid() != 0)
    throw Error(Code::denied, "only root can build an image from packages").advise("run it as root");
  std::vector<std::string> argv = dnf_arguments(definition, tree);
  argv.insert(argv.begin(), "dnf");
  try {
    run(argv, fmt::format("make a tree of RPM packages for image '{}'", definition.name), "dnf", created);
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    throw Error(Code::unsupported, "cannot build an image of RPM packages on this machine")
        .because("there is no dnf on it")
        .advise("install the packages dnf and rpm, or build it where they are");
  }
  std::vector<image::Package> out;
  const std::string listed = run({"rpm", "--root", tree, "-qa", "--queryformat", R"(%{NAME}\t%{EVR}\t%{ARCH}\n)"},
                                 "list the packages", "rpm", created);
  for (const auto& line : split(listed, '\n')) {
    const auto fields = split(line, '\t');
    if (fields.size() == 3) out.push_back({.name = fields[0], .version = fields[1], .architecture = fields[2]});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::tie(a.name, a.version, a.architecture) < std::tie(b.name, b.version, b.architecture);
  });
  const oci::Root root(tree);
  // The database lies elsewhere with each distribution's rpm; Debian's has it in the home of who calls it.
  for (const char* path : {"/var/lib/rpm", "/usr/lib/sysimage/rpm", "/root/.rpmdb", "/var/lib/dnf", "/var/cache/dnf"})
    root.remove(path);
  return out;
}

}  // namespace underway::imagebuild
