// The user namespace, in the words of podman-run(1), --userns.
#include "detail/config_reader.hpp"
#include "os/process/user.hpp"

namespace underway::pod::detail {
namespace {

/// "container:host:count".
std::optional<os::IdRange> range_of(const std::string& text) {
  const auto parts = split(text, ':');
  if (parts.size() != 3) return std::nullopt;
  const auto inside = os::parse_id(parts[0]), outside = os::parse_id(parts[1]), count = os::parse_id(parts[2]);
  if (!inside || !outside || !count || *count == 0) return std::nullopt;
  if (*count > 0xffffffff - *inside || *count > 0xffffffff - *outside) return std::nullopt;
  return os::IdRange{*inside, *outside, *count};
}

bool meet(std::uint32_t a, std::uint32_t b, const os::IdRange& x, const os::IdRange& y) {
  return std::uint64_t{a} < std::uint64_t{b} + y.count && std::uint64_t{b} < std::uint64_t{a} + x.count;
}
/// The kernel takes no map in which a number comes twice, on either side.
bool overlaps(const os::IdMap& map, const os::IdRange& range) {
  return std::any_of(map.begin(), map.end(), [&](const os::IdRange& other) {
    return meet(range.inside, other.inside, range, other) || meet(range.outside, other.outside, range, other);
  });
}

/// Modes that cannot be had, and why.
const Map& refused_modes() {
  static const Map kRefused = {
      {"container", "no container of another job can be joined"},
      {"nomap", "is for containers of users who are not root; podman too refuses it to root"},
      {"ns", "a job cannot choose a namespace of the node; 'auto' makes one"},
  };
  return kRefused;
}

}  // namespace

void Reader::read_userns(const std::string& key, const json::value& value) {
  const auto text = as_text(value);
  if (!text) return say(key, "must be a string");
  if (is_open(*text)) return;
  const auto at = text->find(':');
  const std::string mode = text->substr(0, at);
  const auto options = at == std::string::npos ? Texts() : split(std::string_view(*text).substr(at + 1), ',');
  auto& out = config_.user_namespace;
  if (const auto why = refused_modes().find(mode); why != refused_modes().end())
    return say(key, fmt::format("'{}' cannot be had: {}", mode, why->second));
  if (mode.empty() && options.empty()) return;  // as if it said nothing
  if (!policy_.host_users && (mode == "host" || text->find("mapping") != std::string::npos || mode == "keep-id"))
    return say(key, fmt::format("'{}' takes the right 'root' of its namespace; 'auto' does not", *text));
  if (mode == "auto" || mode == "private")
    out.mode = UserNamespace::Mode::automatic;
  else if (mode == "keep-id")
    out.mode = UserNamespace::Mode::keep_id;
  else if (mode.empty() || mode == "host")
    return options.empty() ? void() : say(key, fmt::format("'{}' takes no options", mode));
  else
    return say(key, fmt::format("'{}' is not known: 'host', 'auto', 'private' and 'keep-id' are", mode));
  for (const auto& option : options) read_userns_option(key, option);
}

void Reader::read_userns_option(const std::string& key, const std::string& option) {
  auto& out = config_.user_namespace;
  const auto at = option.find('=');
  const std::string name = option.substr(0, at);
  const std::string text = at == std::string::npos ? std::string() : option.substr(at + 1);
  const bool automatic = out.mode == UserNamespace::Mode::automatic;
  if (automatic && (name == "uidmapping" || name == "gidmapping")) {
    auto& map = name == "uidmapping" ? out.uids : out.gids;
    const auto range = range_of(text);
    if (!range)
      say(key, fmt::format("{} '{}' must be container:host:count, three numbers", name, text));
    else if (overlaps(map, *range))
      say(key, fmt::format("{} '{}' has a number that another one has", name, text));
    else
      map.push_back(*range);
    return;
  }
  const auto number = os::parse_id(text);
  if (automatic && name == "size") {
    if (!number || *number == 0) return say(key, fmt::format("size '{}' must be a number from 1 on", text));
    out.size = *number;
  } else if (!automatic && (name == "uid" || name == "gid")) {
    if (!number) return say(key, fmt::format("{} '{}' must be a number", name, text));
    (name == "uid" ? out.uid : out.gid) = number;
  } else if (!automatic && name == "size") {
    say(key, "keep-id takes no size: what root is given is every number");
  } else {
    say(key, fmt::format("'{}' is not known: {}", option,
                         automatic ? "size=…, uidmapping=… and gidmapping=… are" : "uid=… and gid=… are"));
  }
}

}  // namespace underway::pod::detail
