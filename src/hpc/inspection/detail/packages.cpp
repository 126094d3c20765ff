#include "inspection/detail/packages.hpp"

#include "base/text.hpp"

namespace underway::inspection::detail {
namespace {

constexpr std::size_t kMaxListBytes = 32U << 20;
constexpr const char* kInfo = "/var/lib/dpkg/info";

/// "/usr/sbin/x" for "/sbin/x".
std::string merged(std::string_view path) {
  for (const char* directory : {"/bin/", "/sbin/", "/lib/"})
    if (path.starts_with(directory)) return "/usr" + std::string(path);
  return std::string(path);
}

/// Versions by package, from the stanzas of /var/lib/dpkg/status.
std::map<std::string, std::string> versions(const RootView& root, const std::set<std::string>& wanted,
                                            std::vector<std::string>& gaps) {
  std::map<std::string, std::string> out;
  const auto text = root.find_text("/var/lib/dpkg/status", 256U << 20, gaps);
  if (!text) return out;
  std::string package;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.starts_with("Package: ")) package = std::string(trim(line.substr(9)));
    if (line.starts_with("Version: ") && wanted.contains(package)) out[package] = std::string(trim(line.substr(9)));
  }
  return out;
}

std::vector<std::string> configuration_of(const RootView& root, const std::string& stem,
                                          std::vector<std::string>& gaps) {
  std::vector<std::string> out;
  const auto text = root.find_text(fmt::format("{}/{}.conffiles", kInfo, stem), kMaxListBytes, gaps);
  if (!text) return out;
  for (const auto& line : split(*text, '\n')) {
    // "remove-on-upgrade /etc/x" (deb-conffiles(5)) is no file of this version.
    if (line.starts_with("/etc/") && !line.starts_with("/etc/init.d/")) out.emplace_back(trim(line));
  }
  return out;
}

}  // namespace

std::map<std::string, Package> packages_of(const RootView& root, const std::set<std::string>& files,
                                           std::vector<std::string>& gaps) {
  std::map<std::string, Package> out;
  if (files.empty()) return out;
  if (!root.exists(kInfo)) {
    gaps.push_back(fmt::format("there is no {}: packages are not known", kInfo));
    return out;
  }
  std::map<std::string, std::string> wanted;  // merged → as asked
  for (const auto& file : files) wanted[merged(file)] = file;
  std::set<std::string> names;
  for (const auto& entry : root.entries(kInfo, gaps)) {
    if (!entry.name.ends_with(".list")) continue;
    const std::string stem = entry.name.substr(0, entry.name.size() - 5);
    const auto text = root.find_text(fmt::format("{}/{}", kInfo, entry.name), kMaxListBytes, gaps);
    if (!text) continue;
    for (std::string_view rest = *text; !rest.empty();) {
      const auto line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line.find("bin/") == std::string_view::npos && line.find("/lib") == std::string_view::npos) continue;
      const auto found = wanted.find(merged(line));
      if (found == wanted.end()) continue;
      Package& package = out[found->second];
      package.name = stem.substr(0, stem.find(':'));
      package.configuration = configuration_of(root, stem, gaps);
      names.insert(package.name);
    }
  }
  const auto known = versions(root, names, gaps);
  for (auto& [file, package] : out)
    if (const auto found = known.find(package.name); found != known.end()) package.version = found->second;
  return out;
}

}  // namespace underway::inspection::detail
