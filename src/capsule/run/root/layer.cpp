#include "run/root/layer.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::run {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size();) {
    const auto begin = line.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) break;
    const auto end = std::min(line.find_first_of(" \t", begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    at = end;
  }
  return words;
}

/// The number of `name` in the text of passwd(5) or group(5): both have it in the third field.
std::optional<std::uint32_t> find_id(const std::string& text, const std::string& name) {
  if (name == "-" || name == "root") return 0;
  if (const auto number = parse_number<std::uint32_t>(name)) return number;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() > 2 && fields[0] == name) return parse_number<std::uint32_t>(fields[2]);
  }
  return std::nullopt;
}

/// The capsule sees the overlay's file where there is one.
std::string text_of(const ImageRoot& image, const std::string& upper, const std::string& path) {
  struct stat found{};
  if (::lstat((upper + path).c_str(), &found) == 0 && S_ISREG(found.st_mode)) {
    if (auto text = os::find_file(upper + path)) return std::move(*text);
  }
  return image.find_file(path).value_or("");
}

void make_parents(const std::string& layer, const std::string& path, const ImageRoot& image) {
  for (auto slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const auto parent = path.substr(0, slash);
    if (os::exists(layer + parent)) continue;
    os::make_directories(layer + parent, 0755);
    const auto known = image.status(parent);
    if (!known) continue;
    if (::lchown((layer + parent).c_str(), known->st_uid, known->st_gid) != 0 ||
        ::chmod((layer + parent).c_str(), known->st_mode & 07777) != 0) {
      throw errno_error(errno, fmt::format("cannot make '{}'", layer + parent));
    }
  }
}

}  // namespace

std::string render_hosts(const LayerInput& input) {
  std::string text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
  std::set<std::string> named = {"localhost"};
  const auto add = [&](const std::string& address, const std::string& name) {
    if (!named.insert(name).second) return;
    text += fmt::format("{} {}\n", address, name);
  };
  // Its own name has the address that others know it by: daemons look themselves up, and bind to what they find.
  for (const auto& network : input.networks) {
    if (!network.addresses.empty())
      add(network.addresses.front().substr(0, network.addresses.front().find('/')), input.hostname);
  }
  add("127.0.1.1", input.hostname);
  for (const auto& [name, address] : input.dns.hosts) add(address, name);
  for (const auto& line : split(input.host_file, '\n')) {
    const auto words = words_of(std::string_view(line).substr(0, line.find('#')));
    if (words.size() < 2 || words[0].starts_with("127.") || words[0] == "::1") continue;
    for (std::size_t n = 1; n < words.size(); ++n) add(words[0], words[n]);
  }
  return text;
}

std::string render_resolv_conf(const DnsConfig& dns) {
  std::string text;
  for (const auto& server : dns.servers) text += fmt::format("nameserver {}\n", server);
  if (!dns.search.empty()) text += fmt::format("search {}\n", join(dns.search, " "));
  return text;
}

void write_layer(const std::string& directory, const LayerInput& input, const std::vector<MountPoint>& points,
                 const ImageRoot& image) {
  constexpr auto kCached = os::Durability::cached;
  os::make_directories(directory, 0755);
  // The root of what the capsule sees is this layer's: as the image has it.
  if (const auto root = image.status("/")) {
    if (::chmod(directory.c_str(), root->st_mode & 07777) != 0)
      throw errno_error(errno, fmt::format("cannot set the mode of '{}'", directory));
  }
  make_parents(directory, "/etc/x", image);
  os::write_file(directory + "/etc/hostname", input.hostname + "\n", 0644, {}, kCached);
  os::write_file(directory + "/etc/hosts", render_hosts(input), 0644, {}, kCached);
  os::write_file(directory + "/etc/resolv.conf", render_resolv_conf(input.dns), 0644, {}, kCached);
  for (const auto& point : points) {
    if (image.status(point.path)) continue;
    make_parents(directory, point.path, image);
    if (point.directory)
      os::make_directories(directory + point.path, 0755);
    else
      os::write_file(directory + point.path, "", 0644, {}, kCached);
  }
}

std::vector<RunDirectory> run_directories(const ImageRoot& image, const std::string& upper) {
  // As tmpfiles.d(5): a file in a stronger place takes the place of one of the same name.
  std::map<std::string, std::string> files;
  for (const auto* place : {"/etc/tmpfiles.d", "/usr/lib/tmpfiles.d"}) {
    for (const auto& name : image.list(place)) {
      if (name.ends_with(".conf")) files.emplace(name, fmt::format("{}/{}", place, name));
    }
  }
  const auto users = text_of(image, upper, "/etc/passwd");
  const auto groups = text_of(image, upper, "/etc/group");
  std::vector<RunDirectory> directories;
  for (const auto& [name, path] : files) {
    for (const auto& line : split(image.find_file(path).value_or(""), '\n')) {
      const auto words = words_of(line);
      if (words.size() < 2 || (words[0] != "d" && words[0] != "D")) continue;
      std::string target = words[1].starts_with("/var/run/") ? words[1].substr(4) : words[1];
      while (target.ends_with('/')) target.pop_back();
      const bool plain = target.starts_with("/run/") && target.find('%') == std::string::npos &&
                         target.find("/.") == std::string::npos && target.find("//") == std::string::npos;
      if (!plain || target.starts_with("/run/underway")) continue;
      const auto mode =
          words.size() > 2 && words[2] != "-" ? parse_number<unsigned>(words[2], 8) : std::optional(0755U);
      const auto uid = find_id(users, words.size() > 3 ? words[3] : "-");
      const auto gid = find_id(groups, words.size() > 4 ? words[4] : "-");
      if (mode && uid && gid) directories.push_back({target, *uid, *gid, static_cast<mode_t>(*mode & 07777U)});
    }
  }
  return directories;
}

}  // namespace underway::run
