#include "host/etc_files.hpp"

#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::host {
namespace {

/// Fields between blanks; quoted ones (tmpfiles.d allows them) are not used for directories below /run.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  std::string field;
  for (const char c : line) {
    if (c != ' ' && c != '\t') {
      field += c;
    } else if (!field.empty()) {
      fields.push_back(std::exchange(field, {}));
    }
  }
  if (!field.empty()) fields.push_back(field);
  return fields;
}

/// "d", "D", with modifiers such as "d!" and "D-" (tmpfiles.d(5), "Type").
bool makes_directory(const std::string& type) {
  return !type.empty() && (type[0] == 'd' || type[0] == 'D') && type.find_first_not_of("!-=~^", 1) == std::string::npos;
}

/// "-" is the default; ":" and "~" say when to apply, which for a fresh directory is always.
std::string field_or(const std::vector<std::string>& fields, std::size_t index, const char* fallback) {
  if (index >= fields.size() || fields[index] == "-") return fallback;
  std::string_view value = fields[index];
  while (!value.empty() && (value.front() == ':' || value.front() == '~')) value.remove_prefix(1);
  return value.empty() ? fallback : std::string(value);
}

std::optional<model::HostDirectory> parse_line(std::string_view raw) {
  const auto line = trim(raw);
  if (line.empty() || line.front() == '#' || line.find_first_of("%\"'") != std::string_view::npos) return std::nullopt;
  const auto fields = fields_of(line);
  if (fields.size() < 2 || !makes_directory(fields[0])) return std::nullopt;
  std::string path = fields[1];
  if (path.starts_with("/var/run/")) path.erase(0, 4);
  if (path.size() > 5 && path.back() == '/') path.pop_back();
  if (!path.starts_with("/run/") || path.size() == 5 || (path + "/").find("/../") != std::string::npos)
    return std::nullopt;
  model::HostDirectory directory{path, field_or(fields, 3, "root"), field_or(fields, 4, "root"),
                                 field_or(fields, 2, "0755")};
  if (directory.mode.find_first_not_of("01234567") != std::string::npos || directory.mode.size() > 5)
    return std::nullopt;
  return directory;
}

}  // namespace

std::string render_hosts_file(const std::vector<std::string>& networks, const HostAddresses& hosts) {
  std::string text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
  for (const auto& [name, addresses] : hosts) {
    bool first = true;
    for (const auto& network : networks) {
      const auto found = addresses.find(network);
      if (found == addresses.end()) continue;
      text += fmt::format("{} {}\n", to_string(found->second.ip), first ? name : name + "-" + network);
      first = false;
    }
  }
  return text;
}

std::string rewrite_nsswitch(std::string_view text) {
  std::string result;
  bool done = false;
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const auto& line : text.empty() ? std::vector<std::string>{} : split(text, '\n')) {
    const bool hosts = std::string_view(trim(line)).starts_with("hosts:");
    if (hosts && done) continue;
    result += hosts ? "hosts:          files dns" : line;
    result += '\n';
    done = done || hosts;
  }
  if (!done) result += "hosts:          files dns\n";
  return result;
}

std::vector<model::HostDirectory> parse_tmpfiles(const std::map<std::string, std::string>& files) {
  std::map<std::string, model::HostDirectory> by_path;  // parents sort before what lies in them
  for (const auto& [name, text] : files) {
    for (const auto& line : split(text, '\n')) {
      if (auto directory = parse_line(line)) by_path.emplace(directory->path, *directory);  // the first line wins
    }
  }
  std::vector<model::HostDirectory> directories;
  for (auto& [path, directory] : by_path) directories.push_back(std::move(directory));
  return directories;
}

std::vector<model::HostDirectory> read_tmpfiles() {
  std::map<std::string, std::string> files;
  for (const char* place : {"/usr/lib/tmpfiles.d", "/run/tmpfiles.d", "/etc/tmpfiles.d"}) {  // weakest first
    if (!os::exists(place)) continue;
    for (const auto& entry : os::list_directory(place)) {
      if (!entry.name.ends_with(".conf")) continue;
      // A link to /dev/null switches a file off: it reads as empty.
      files[entry.name] = os::find_file(fmt::format("{}/{}", place, entry.name), 1U << 20).value_or("");
    }
  }
  return parse_tmpfiles(files);
}

}  // namespace underway::host
