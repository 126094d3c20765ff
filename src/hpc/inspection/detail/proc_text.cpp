#include "inspection/detail/proc_text.hpp"

#include <fcntl.h>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "net/address.hpp"

namespace underway::inspection::detail {
namespace {

/// Calls visit(line) for each line of the text.
template <class Visit>
void each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    visit(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

/// Words between blanks, at most `most`; the last one is the rest of the line.
std::vector<std::string_view> words(std::string_view line, std::size_t most) {
  std::vector<std::string_view> out;
  while (out.size() < most) {
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    const auto end = out.size() + 1 == most ? std::string_view::npos : line.find_first_of(" \t");
    out.push_back(line.substr(0, end));
    if (end == std::string_view::npos) break;
    line.remove_prefix(end);
  }
  return out;
}

/// "0100007F:1A85": each group of eight digits is a word in the machine's byte order, which is little endian on every
/// machine that we run on.
bool parse_endpoint(std::string_view text, std::string& address, std::int64_t& port) {
  const auto colon = text.find(':');
  if (colon != 8 && colon != 32) return false;
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t group = 0; group * 8 < colon; ++group) {
    const auto word = parse_number<std::uint32_t>(text.substr(group * 8, 8), 16);
    if (!word) return false;
    for (std::size_t i = 0; i < 4; ++i) bytes[group * 4 + i] = static_cast<std::uint8_t>(*word >> (8 * i));
  }
  const auto value = parse_number<std::uint16_t>(text.substr(colon + 1), 16);
  if (!value) return false;
  port = *value;
  const auto v4 = [&](std::size_t at) {
    return net::Ip::v4(std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
                       std::uint32_t{bytes[at + 2]} << 8 | bytes[at + 3]);
  };
  static constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (colon == 8)
    address = to_string(v4(0));
  else if (std::equal(kMapped.begin(), kMapped.end(), bytes.begin()))
    address = to_string(v4(12));
  else
    address = to_string(net::Ip::v6(bytes));
  return true;
}

}  // namespace

std::vector<InetSocket> parse_inet_sockets(std::string_view text) {
  std::vector<InetSocket> out;
  each_line(text, [&](std::string_view line) {
    const auto parts = words(line, 11);
    if (parts.size() < 10) return;
    InetSocket socket;
    if (!parse_endpoint(parts[1], socket.local, socket.local_port)) return;
    if (!parse_endpoint(parts[2], socket.remote, socket.remote_port)) return;
    const auto state = parse_number<int>(parts[3], 16);
    const auto inode = parse_number<std::int64_t>(parts[9]);
    if (!state || !inode) return;
    socket.state = *state;
    socket.inode = *inode;
    out.push_back(std::move(socket));
  });
  return out;
}

std::vector<UnixSocket> parse_unix_sockets(std::string_view text) {
  constexpr unsigned kAccepts = 0x10000;  // __SO_ACCEPTCON, linux/net.h
  std::vector<UnixSocket> out;
  each_line(text, [&](std::string_view line) {
    const auto parts = words(line, 8);
    if (parts.size() < 7) return;
    const auto flags = parse_number<unsigned>(parts[3], 16);
    const auto inode = parse_number<std::int64_t>(parts[6]);
    if (!flags || !inode) return;
    UnixSocket socket{*inode, (*flags & kAccepts) != 0, {}};
    if (parts.size() == 8) socket.path = std::string(trim(parts[7]));
    // A datagram socket that has a name waits for others as well (syslog's /dev/log); it is never "accepting".
    if (parts[4] == "0002" && !socket.path.empty()) socket.listening = true;
    out.push_back(std::move(socket));
  });
  return out;
}

ProcessStatus parse_status(std::string_view text) {
  ProcessStatus out;
  each_line(text, [&](std::string_view line) {
    const auto parts = words(line, 3);
    if (parts.size() < 2) return;
    if (parts[0] == "Name:") out.name = std::string(trim(line.substr(5)));
    if (parts[0] == "State:") out.ended = parts[1] == "Z" || parts[1] == "X";
    if (parts[0] == "PPid:") out.parent = parse_number<std::int64_t>(parts[1]).value_or(0);
    if (parts[0] == "Uid:") out.uid = parse_number<std::int64_t>(parts[1]).value_or(-1);
  });
  return out;
}

std::string unit_of_cgroup(std::string_view text) {
  std::string unit;
  each_line(text, [&](std::string_view line) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    const auto controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "name=systemd") return;
    for (const auto& part : split(line.substr(second + 1), '/'))
      if (part.ends_with(".service") && !part.starts_with("user@")) unit = part;
  });
  return unit;
}

std::set<std::string> libraries_of_maps(std::string_view text) {
  std::set<std::string> out;
  each_line(text, [&](std::string_view line) {
    const auto slash = line.rfind('/');
    if (slash == std::string_view::npos) return;
    const auto name = line.substr(slash + 1);
    if (name.find(".so") != std::string_view::npos) out.emplace(name);
  });
  return out;
}

std::vector<std::string> parse_command_line(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty() && out.size() < 256) {
    const auto end = text.find('\0');
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

std::optional<std::int64_t> socket_inode(std::string_view link) {
  if (!link.starts_with("socket:[") || !link.ends_with("]")) return std::nullopt;
  return parse_number<std::int64_t>(link.substr(8, link.size() - 9));
}

bool opened_for_writing(std::string_view fdinfo) {
  bool writing = false;
  each_line(fdinfo, [&](std::string_view line) {
    if (!line.starts_with("flags:")) return;
    const auto flags = parse_number<unsigned>(trim(line.substr(6)), 8);
    writing = flags && (*flags & O_ACCMODE) != O_RDONLY;
  });
  return writing;
}

}  // namespace underway::inspection::detail
