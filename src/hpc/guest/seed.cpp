#include "guest/seed.hpp"

#include <boost/json.hpp>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "yaml/yaml.hpp"

namespace underway::guest {
namespace {

using Mapping = yaml::Node;

constexpr const char* kMeta = "meta-data";
constexpr const char* kUser = "user-data";
constexpr const char* kNetwork = "network-config";
constexpr std::string_view kCloudConfig = "#cloud-config";
constexpr yaml::Limits kLimits{.bytes = 1U << 20, .nodes = 20'000, .depth = 20, .documents = 1};

boost::json::object render_link(const SeedLink& link) {
  boost::json::object out{{"match", {{"macaddress", link.mac}}}};
  if (!link.name.empty()) out["set-name"] = link.name;
  boost::json::array addresses, servers;
  for (const auto& address : link.addresses) addresses.emplace_back(net::to_string(address));
  out["addresses"] = std::move(addresses);
  if (link.gateway) {
    // Old releases know "default" for IPv4 alone.
    const char* all = link.gateway->family() == net::Ip::Family::v4 ? "0.0.0.0/0" : "::/0";
    out["routes"] = boost::json::array{{{"to", all}, {"via", net::to_string(*link.gateway)}}};
  }
  for (const auto& server : link.nameservers) servers.emplace_back(net::to_string(server));
  if (!servers.empty()) out["nameservers"] = {{"addresses", std::move(servers)}};
  if (link.mtu != 0) out["mtu"] = link.mtu;
  return out;
}

/// Reads the files, and gathers what is wrong with them.
class Reader {
 public:
  explicit Reader(const SeedFiles& files) : files_(files) {}

  Seed read() {
    Seed seed;
    if (const auto meta = document(kMeta)) {
      seed.instance = text_of(*meta, "instance-id");
      seed.hostname = text_of(*meta, "local-hostname");
    }
    if (const auto user = document(kUser)) read_user(*user, seed);
    if (const auto network = document(kNetwork)) read_network(*network, seed);
    if (problems_.empty()) return seed;
    Error error(Code::invalid, "the seed of this machine cannot be read");
    for (auto& problem : problems_) error.because(std::move(problem));
    throw error;
  }

 private:
  void wrong(const yaml::Node& node, std::string_view what) {
    problems_.push_back(fmt::format("{}:{}: {}", file_, node.line, what));
  }

  std::optional<yaml::Node> document(const char* name) {
    file_ = name;
    const auto file = files_.find(name);
    if (file == files_.end()) return std::nullopt;
    if (file_ == kUser && !file->second.starts_with(kCloudConfig)) {
      // A script or an archive: for cloud-init alone.
      problems_.push_back(fmt::format("{}:1: it does not begin with {}", name, kCloudConfig));
      return std::nullopt;
    }
    try {
      auto documents = yaml::parse(file->second, kLimits);
      if (documents.empty()) return std::nullopt;
      if (documents.front().kind == yaml::Node::Kind::mapping) return std::move(documents.front());
      wrong(documents.front(), "it is no mapping");
    } catch (const Error& error) {
      if (error.code() == Code::too_large) throw;
      problems_.push_back(fmt::format("{}: {}", name, error.one_line()));
    }
    return std::nullopt;
  }

  static const yaml::Node* find(const Mapping& mapping, std::string_view key) {
    if (mapping.kind != yaml::Node::Kind::mapping) return nullptr;
    for (std::size_t i = 0; i + 1 < mapping.children.size(); i += 2) {
      if (mapping.children[i].text == key) return &mapping.children[i + 1];
    }
    return nullptr;
  }

  std::string scalar(const yaml::Node& node, std::string_view what) {
    if (node.kind == yaml::Node::Kind::scalar) return node.text;
    wrong(node, fmt::format("'{}' is no text", what));
    return {};
  }

  std::string text_of(const Mapping& mapping, std::string_view key) {
    const auto* node = find(mapping, key);
    return node == nullptr ? std::string() : scalar(*node, key);
  }

  /// The items of a sequence; none where there is no such key.
  std::vector<yaml::Node> items(const Mapping& mapping, std::string_view key) {
    const auto* node = find(mapping, key);
    if (node == nullptr) return {};
    if (node->kind == yaml::Node::Kind::sequence) return node->children;
    wrong(*node, fmt::format("'{}' is no list", key));
    return {};
  }

  void read_user(const Mapping& user, Seed& seed) {
    if (auto hostname = text_of(user, "hostname"); !hostname.empty()) seed.hostname = std::move(hostname);
    for (const auto& item : items(user, "write_files")) {
      SeedFile file{.path = text_of(item, "path"), .content = content_of(item)};
      if (!file.path.starts_with('/')) wrong(item, "a file of write_files has no absolute 'path'");
      if (const auto mode = text_of(item, "permissions"); !mode.empty()) {
        const auto number = parse_number<unsigned>(mode, 8);
        if (!number || *number > 07777) wrong(item, fmt::format("'{}' are no permissions like 0600", mode));
        file.mode = number.value_or(0600);
      }
      seed.files.push_back(std::move(file));
    }
    for (const auto& item : items(user, "runcmd")) {
      auto& command = seed.commands.emplace_back();
      if (item.kind == yaml::Node::Kind::scalar) {
        command = {"/bin/sh", "-c", item.text};
        continue;
      }
      for (const auto& word : item.children) command.push_back(scalar(word, "runcmd"));
      if (command.empty()) wrong(item, "a command of runcmd is empty");
    }
  }

  std::string content_of(const Mapping& item) {
    auto content = text_of(item, "content");
    const auto encoding = text_of(item, "encoding");
    if (encoding.empty() || encoding == "text/plain") return content;
    if (encoding == "b64" || encoding == "base64") {
      try {
        return base64_decode(content);
      } catch (const Error&) {
        wrong(item, "its content is no base64");
        return {};
      }
    }
    wrong(item, fmt::format("the encoding '{}' is not known here; b64 is", encoding));
    return {};
  }

  void read_network(const Mapping& top, Seed& seed) {
    const auto* within = find(top, "network");
    const auto& network = within == nullptr ? top : *within;
    if (const auto version = text_of(network, "version"); version != "2") {
      wrong(network, fmt::format("network configuration of version '{}': only 2 is read here", version));
      return;
    }
    const auto* links = find(network, "ethernets");
    if (links == nullptr || links->kind != yaml::Node::Kind::mapping) return;
    for (std::size_t i = 0; i + 1 < links->children.size(); i += 2)
      seed.links.push_back(link_of(links->children[i + 1]));
  }

  SeedLink link_of(const Mapping& from) {
    SeedLink link;
    if (const auto* match = find(from, "match")) link.mac = lower(text_of(*match, "macaddress"));
    if (link.mac.empty()) wrong(from, "a link is not named by match.macaddress");
    link.name = text_of(from, "set-name");
    for (const auto& item : items(from, "addresses")) {
      const auto address = net::parse_cidr(scalar(item, "addresses"));
      if (address)
        link.addresses.push_back(*address);
      else
        wrong(item, fmt::format("'{}' is no address like 10.1.0.5/24", item.text));
    }
    for (const auto& route : items(from, "routes")) read_route(route, link);
    if (const auto* servers = find(from, "nameservers")) {
      for (const auto& item : items(*servers, "addresses")) add_ip(item, link.nameservers);
    }
    if (const auto* mtu = find(from, "mtu")) {
      const auto bytes = parse_number<std::uint32_t>(mtu->text);
      if (!bytes) wrong(*mtu, fmt::format("'{}' is no mtu", mtu->text));
      link.mtu = bytes.value_or(0);
    }
    return link;
  }

  void read_route(const Mapping& route, SeedLink& link) {
    const auto to = text_of(route, "to");
    if (to != "default" && to != "0.0.0.0/0" && to != "::/0") {
      wrong(route, fmt::format("a route to '{}': only the default route is set here", to));
      return;
    }
    const auto* via = find(route, "via");
    std::vector<net::Ip> gateway;
    if (via != nullptr) add_ip(*via, gateway);
    if (!gateway.empty()) link.gateway = gateway.front();
  }

  void add_ip(const yaml::Node& node, std::vector<net::Ip>& to) {
    if (const auto ip = net::parse_ip(node.text))
      to.push_back(*ip);
    else
      wrong(node, fmt::format("'{}' is no address", node.text));
  }

  const SeedFiles& files_;
  std::string_view file_;
  std::vector<std::string> problems_;
};

}  // namespace

SeedFiles render(const Seed& seed) {
  boost::json::array files, commands;
  for (const auto& file : seed.files) {
    files.push_back({{"path", file.path},
                     {"content", base64_encode(file.content)},
                     {"encoding", "b64"},
                     {"permissions", fmt::format("{:04o}", file.mode)}});
  }
  for (const auto& command : seed.commands) commands.emplace_back(boost::json::array(command.begin(), command.end()));
  const boost::json::object user{
      {"hostname", seed.hostname}, {"write_files", std::move(files)}, {"runcmd", std::move(commands)}};
  boost::json::object links;
  for (std::size_t i = 0; i < seed.links.size(); ++i) links[fmt::format("link{}", i)] = render_link(seed.links[i]);
  const boost::json::object meta{{"instance-id", seed.instance}, {"local-hostname", seed.hostname}};
  const boost::json::object network{{"version", 2}, {"ethernets", std::move(links)}};
  return {{kMeta, serialize(meta) + "\n"},
          {kUser, std::string(kCloudConfig) + "\n" + serialize(user) + "\n"},
          {kNetwork, serialize(network) + "\n"}};
}

Seed parse_seed(const SeedFiles& files) { return Reader(files).read(); }

}  // namespace underway::guest
