#include "files/masters/template.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "gotemplate/run.hpp"

namespace underway::files {

using gotemplate::Call;
using gotemplate::Function;
using gotemplate::List;
using gotemplate::Map;
using gotemplate::Origin;
using gotemplate::Value;

namespace {

/// Functions speak to whoever renders by marks in the text. No text file holds NUL.
constexpr std::string_view kFile{"\0file\0", 6}, kLink{"\0link\0", 6}, kAbort{"\0abort\0", 7}, kEnd{"\0\n\0", 3};

std::string mark(std::string_view what, std::string_view argument) {
  return std::string(what) + std::string(argument) + std::string(kEnd);
}

/// Of the master that the call names first.
std::string master(const Call& call) {
  const std::string name = call.string(0);
  if (const auto& include = call.run.inputs().include) {
    if (auto text = include(name)) return *std::move(text);
  }
  throw Error(Code::not_found, fmt::format("there is no master '{}' to include", name))
      .advise("declare it, as a file of type = \"part\" if no node shall have it");
}

/// Up to the first line that holds `stop`, which is then said in its place.
std::string block_of(const std::string& text, const std::string& stop) {
  std::string out;
  for (const auto& line : split(text, '\n')) {
    if (line.find(stop) != std::string::npos) break;
    out += line + "\n";
  }
  return out + stop;
}

std::string unique_field(std::string_view lines, const std::string& separator, std::int64_t index) {
  std::set<std::string, std::less<>> seen;
  std::string out;
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    const auto line = lines.substr(0, end == std::string_view::npos ? end : end + 1);
    lines.remove_prefix(line.size());
    std::string_view field = line.ends_with('\n') ? line.substr(0, line.size() - 1) : line;
    for (std::int64_t i = 0; i < index && !separator.empty(); ++i) {
      const auto at = field.find(separator);
      field = at == std::string_view::npos ? std::string_view() : field.substr(at + separator.size());
    }
    if (!separator.empty()) field = field.substr(0, field.find(separator));
    if (seen.emplace(field).second) out += line;
  }
  return out;
}

std::string without_last_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

/// As Go's int: it wraps around.
std::int64_t moved(std::int64_t number, std::uint64_t by) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(number) + by);
}

/// As go-systemd escapes the name of a unit; a path has no slash at its ends, and one between its parts.
std::string unit_name(std::string_view text, bool path) {
  std::string out;
  bool start = true, slashes = false;
  for (const char c : text) {
    if (path && c == '/') {
      slashes = true;
      continue;
    }
    if (std::exchange(slashes, false) && !start) out += '-';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ':' ||
                       c == '_' || (c == '.' && !start);
    if (c == '/')
      out += '-';
    else
      out += plain ? std::string(1, c) : fmt::format("\\x{:x}", static_cast<unsigned char>(c));
    start = false;
  }
  return path && out.empty() ? "-" : out;
}

Value refuse(const char* why) { throw Error(Code::unsupported, why); }

const gotemplate::FunctionSet& functions() {
  static const gotemplate::FunctionSet kSet = [] {
    auto all = gotemplate::overlay_function_list();
    const auto add = [&](Function function) { all.push_back(std::move(function)); };
    add({"Include", "master string", "The bytes of another master, without the newline at its end.", Origin::sprig,
         [](const Call& c) -> Value { return without_last_newline(master(c)); }});
    add({"IncludeBlock", "master string, stop string",
         "The lines of another master before the first that holds `stop`.", Origin::sprig,
         [](const Call& c) -> Value { return block_of(master(c), c.string(1)); }});
    add({"abort", "", "The target does not get this file.", Origin::sprig,
         [](const Call&) -> Value { return mark(kAbort, ""); }});
    add({"nobackup", "", "Nothing: no backups are made.", Origin::sprig, [](const Call&) -> Value { return ""; }});
    add({"file", "name string", "What follows goes into the file of this name, beside the declared one.", Origin::sprig,
         [](const Call& c) -> Value { return mark(kFile, c.text(0)); }});
    add({"basename", "path string", "Its last part.", Origin::sprig, [](const Call& c) -> Value {
           std::string_view path = c.text(0);
           if (path.empty()) return ".";
           while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
           return path == "/" ? path : path.substr(path.rfind('/') + 1);
         }});
    add({"inc", "number int", "One more.", Origin::sprig,
         [](const Call& c) -> Value { return moved(c.integer(0), 1); }});
    add({"dec", "number int", "One less.", Origin::sprig,
         [](const Call& c) -> Value { return moved(c.integer(0), ~std::uint64_t{0}); }});
    add({"softlink", "target string", "The file is a symbolic link.", Origin::sprig,
         [](const Call& c) -> Value { return mark(kLink, c.text(0)); }});
    add({"SystemdEscape", "text string", "As systemd-escape(1).", Origin::sprig,
         [](const Call& c) -> Value { return unit_name(c.text(0), false); }});
    add({"SystemdEscapePath", "path string", "As systemd-escape(1) --path.", Origin::sprig,
         [](const Call& c) -> Value { return unit_name(c.text(0), true); }});
    add({"UniqueField", "separator string, index int, lines string",
         "The lines, of those that share the field of this index the first one.", Origin::sprig,
         [](const Call& c) -> Value { return unique_field(c.text(2), c.string(0), c.integer(1)); }});
    add({"IgnitionJson", "", "Not offered.", Origin::sprig,
         [](const Call&) { return refuse("IgnitionJson describes the disks of a node that is being installed"); }});
    add({"IncludeFrom", "image string, path string", "Not offered.", Origin::sprig, [](const Call&) {
           return refuse(
               "IncludeFrom reads a file of a node image: copy it beside the master, declare it as a part, and "
               "use Include");
         }});
    add({"ImportLink", "path string", "Not offered.", Origin::sprig,
         [](const Call&) { return refuse("ImportLink reads the server's disk: use softlink"); }});
    add({"readlink", "path string", "Not offered.", Origin::sprig,
         [](const Call&) { return refuse("readlink reads the server's disk"); }});
    return gotemplate::FunctionSet(std::move(all));
  }();
  return kSet;
}

// --- variables ---

struct Ipv4Network {
  std::string network, netmask, cidr;
  int prefix = 0;
};

std::optional<Ipv4Network> network_of(const std::string& cidr) {
  const auto slash = cidr.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const auto length = parse_number<unsigned>(std::string_view(cidr).substr(slash + 1));
  if (!length || *length > 32) return std::nullopt;
  const int prefix = static_cast<int>(*length);
  in_addr address{};
  if (::inet_pton(AF_INET, cidr.substr(0, slash).c_str(), &address) != 1) return std::nullopt;
  const std::uint32_t bits = prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix);
  const auto text = [](std::uint32_t value) {
    const in_addr raw{htonl(value)};
    char buffer[INET_ADDRSTRLEN];
    return std::string(::inet_ntop(AF_INET, &raw, buffer, sizeof buffer));
  };
  Ipv4Network out;
  out.network = text(ntohl(address.s_addr) & bits);
  out.netmask = text(bits);
  out.cidr = fmt::format("{}/{}", out.network, prefix);
  out.prefix = prefix;
  return out;
}

/// A Go struct: what it has not is an error, which names the field. What is not known of a field is empty.
class Struct final : public gotemplate::Object {
 public:
  Struct(std::string_view type, Map fields) : type_(type), fields_(std::move(fields)) {}
  std::string_view type_name() const override { return type_; }
  std::optional<Value> member(std::string_view name, std::span<const Value>) const override {
    const auto it = fields_.find(name);
    return it == fields_.end() ? std::nullopt : std::optional(it->second);
  }
  std::vector<std::string> member_names() const override {
    std::vector<std::string> names;
    for (const auto& [name, value] : fields_) names.push_back(name);
    return names;
  }
  std::string text() const override { return std::string(type_.substr(type_.rfind('.') + 1)); }
  Value plain() const override { return Value::map(fields_); }

 private:
  std::string_view type_;
  Map fields_;
};

Value structure(std::string_view type, Map fields) {
  return Value::object(std::make_shared<Struct>(type, std::move(fields)));
}

/// Warewulf's three-valued bool (wwtype.WWbool): a text, which is empty when it is not set, and can be asked as a bool.
class Flag final : public gotemplate::Object {
 public:
  explicit Flag(std::optional<bool> value) : value_(value) {}
  std::string_view type_name() const override { return "wwtype.WWbool"; }
  std::optional<Value> member(std::string_view name, std::span<const Value>) const override {
    if (name == "Bool" || name == "BoolDefaultFalse") return Value(value_.value_or(false));
    if (name == "BoolDefaultTrue") return Value(value_.value_or(true));
    return std::nullopt;
  }
  std::vector<std::string> member_names() const override { return {"Bool", "BoolDefaultTrue", "BoolDefaultFalse"}; }
  std::string text() const override { return !value_ ? "" : *value_ ? "true" : "false"; }
  bool truth() const override { return value_.has_value(); }
  Value basic() const override { return Value(text()); }

 private:
  std::optional<bool> value_;
};

Value flag(std::optional<bool> value) { return Value::object(std::make_shared<Flag>(value)); }

Value net_device(const std::string& device, const std::string& address, const std::optional<Ipv4Network>& network,
                 bool primary) {
  Map fields;
  for (const char* name : {"Hwaddr", "Ipaddr6", "IpCIDR6", "Gateway", "Gateway6", "MTU", "Prefix6", "PrefixLen6"})
    fields[name] = "";
  fields["Device"] = device;
  fields["Type"] = "ethernet";
  fields["Ipaddr"] = address;
  fields["Netmask"] = network ? network->netmask : "";
  fields["Network"] = network ? network->network : "";
  fields["Prefix"] = network ? Value(network->prefix) : Value("");
  fields["IpCIDR"] = network && !address.empty() ? fmt::format("{}/{}", address, network->prefix) : "";
  fields["OnBoot"] = flag(true);
  fields["Manual"] = false;
  fields["Primary"] = primary;
  fields["Default"] = primary;
  for (const char* name : {"Tags", "TagsDel"}) fields[name] = Value::map({});
  return structure("*node.NetDev", std::move(fields));
}

Map text_map(const model::StringMap& from) {
  Map out;
  for (const auto& [key, value] : from) out[key] = value;
  return out;
}

std::string attribute(const model::Node& node, const std::string& name) {
  const auto it = node.attributes.find(name);
  return it == node.attributes.end() ? std::string() : it->second;
}

/// "eth0", the device that has the address.
std::string device_of(const model::Node& node, const std::string& address) {
  for (const auto& network : node.networks) {
    if (network.ip == address) return network.device;
  }
  return {};
}

Map devices_of(const model::Node& node, const model::Cluster* cluster, const model::Host* host) {
  Map devices;
  bool primary = true;
  if (cluster != nullptr && host != nullptr) {
    for (const auto& network : cluster->networks) {
      const auto address = host->addresses.find(network.name);
      if (address == host->addresses.end()) continue;
      devices[network.name] =
          net_device(device_of(node, address->second), address->second, network_of(network.cidr), primary);
      primary = false;
    }
  }
  if (!devices.empty()) return devices;
  for (const auto& network : node.networks) {
    devices[network.name] = net_device(network.device, network.ip, network_of(network.cidr), primary);
    primary = false;
  }
  return devices;
}

Map node_fields(const model::Node& node, const model::Cluster* cluster, const model::Host* host) {
  Map out;
  out["Id"] = node.name;
  out["Hostname"] = node.name;
  out["ClusterName"] = node.cluster;
  out["Comment"] = "";
  out["NetDevs"] = Value::map(devices_of(node, cluster, host));
  out["Tags"] = out["Keys"] = Value::map(text_map(node.meta));
  out["TagsDel"] = Value::map({});
  out["Profiles"] = Value::list({Value(node.node_pool)});
  out["PrimaryNetDev"] = cluster != nullptr && !cluster->networks.empty() ? cluster->networks.front().name : "";
  for (const char* name : {"ImageName", "ContainerName", "Container", "Ipxe", "Init", "Root", "AssetKey"})
    out[name] = "";
  out["Discoverable"] = flag({});
  for (const char* name : {"RuntimeOverlay", "SystemOverlay"}) out[name] = Value::list({});
  for (const char* name : {"Disks", "FileSystems", "Resources"}) out[name] = Value::map({});
  out["Kernel"] =
      structure("*node.KernelConf",
                {{"Version", attribute(node, "kernel.version")}, {"Override", ""}, {"Args", Value::texts({})}});
  Map ipmi{{"Tags", Value::map({})}, {"TagsDel", Value::map({})}};
  for (const char* name :
       {"UserName", "Password", "Ipaddr", "Netmask", "Port", "Gateway", "Interface", "Template", "EscapeChar"})
    ipmi[name] = "";
  ipmi["Write"] = flag({});
  out["Ipmi"] = structure("*node.IpmiConf", std::move(ipmi));
  return out;
}

/// As Warewulf writes it: "01-02-2006 15:04:05 MST".
std::string build_time(TimePoint at) {
  const std::string iso = format_time(at);  // 2006-01-02T15:04:05Z
  return fmt::format("{}-{} {} UTC", iso.substr(5, 5), iso.substr(0, 4), iso.substr(11, 8));
}

/// Where Warewulf's packages have their files: templates that write such a path get the one that Warewulf writes.
Value paths() {
  return structure("config.BuildConfig", {{"Bindir", "/usr/bin"},
                                          {"Sysconfdir", "/etc"},
                                          {"Localstatedir", "/var/lib"},
                                          {"Cachedir", "/var/cache"},
                                          {"Ipxesource", "/usr/share/ipxe"},
                                          {"Srvdir", "/srv"},
                                          {"Firewallddir", "/usr/lib/firewalld/services"},
                                          {"Systemddir", "/usr/lib/systemd/system"},
                                          {"Datadir", "/usr/share"},
                                          {"WWOverlaydir", "/var/lib/warewulf/overlays"},
                                          {"WWChrootdir", "/var/lib/warewulf/chroots"},
                                          {"WWProvisiondir", "/var/lib/warewulf/provision"},
                                          {"WWClientdir", "/warewulf"},
                                          {"Wwclientdir", "/warewulf"},
                                          {"NodesConf", "/etc/warewulf/nodes.conf"},
                                          {"OciBlobCachedir", "/var/cache/warewulf"},
                                          {"SiteOverlaydir", "/var/lib/warewulf/overlays"},
                                          {"DistributionOverlaydir", "/usr/share/warewulf/overlays"},
                                          {"OverlayProvisiondir", "/var/lib/warewulf/provision/overlays"}});
}

/// Warewulf's configuration of its services: none of them is here, so each is off, with Warewulf's defaults.
void add_services(Map& out) {
  out["Dhcp"] = structure("config.DHCPConf", {{"Enabled", false},
                                              {"Template", "default"},
                                              {"RangeStart", ""},
                                              {"RangeEnd", ""},
                                              {"Range6Start", ""},
                                              {"Range6End", ""},
                                              {"SystemdName", "dhcpd"}});
  out["Nfs"] =
      structure("config.NFSConf", {{"Enabled", false}, {"SystemdName", "nfsd"}, {"ExportsExtended", Value::list({})}});
  out["Ssh"] = structure("config.SSHConf", {{"KeyTypes", Value::texts({"ed25519", "ecdsa", "rsa"})}});
  out["Tftp"] =
      structure("config.TFTPConf",
                {{"Enabled", false}, {"TftpRoot", ""}, {"SystemdName", "tftp"}, {"IpxeBinaries", Value::map({})}});
  out["Warewulf"] = structure("config.WarewulfConf", {{"Port", 9873},
                                                      {"Secure", true},
                                                      {"UpdateInterval", 60},
                                                      {"AutobuildOverlays", true},
                                                      {"EnableHostOverlay", true},
                                                      {"Syslog", false},
                                                      {"GrubBoot", false},
                                                      {"DataStore", "/var/lib/warewulf"}});
  out["Paths"] = paths();
}

/// "name/…": the file of the mark, its text up to the next.
Rendered take_apart(std::string_view text) {
  Rendered out;
  out.files.emplace_back();
  bool named = false;
  while (!text.empty()) {
    const auto begin = text.find('\0');
    out.files.back().text += text.substr(0, begin);
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    if (text.starts_with(kAbort)) return {};
    const bool is_file = text.starts_with(kFile), is_link = text.starts_with(kLink);
    const auto end = text.find(kEnd);
    if ((!is_file && !is_link) || end == std::string_view::npos)
      throw Error(Code::invalid, "the template makes a text with a NUL byte in it");
    std::string argument(text.substr(kFile.size(), end - kFile.size()));
    text.remove_prefix(end + kEnd.size());
    if (is_link) {
      out.files.back().link = std::move(argument);
      continue;
    }
    if (argument.empty() || argument.find('/') != std::string::npos || argument == "." || argument == "..")
      throw Error(Code::invalid,
                  fmt::format("file \"{}\": the name of a file in the same directory is wanted", argument));
    // What stands before the first `file` is of no file.
    if (!named) out.files.clear();
    named = true;
    out.files.push_back({std::move(argument), {}, {}});
    if (text.starts_with('\n')) text.remove_prefix(1);
  }
  return out;
}

}  // namespace

TemplateContext::TemplateContext(const Inputs& inputs) {
  const model::Cluster* cluster = inputs.cluster.get();
  List all;
  auto sorted = inputs.nodes;
  std::ranges::sort(sorted, {}, [](const auto& node) { return node->name; });
  for (const auto& node : sorted) {
    const auto host = std::ranges::find_if(inputs.hosts, [&](const auto& h) { return h->name == node->host; });
    auto fields = node_fields(*node, cluster, host == inputs.hosts.end() ? nullptr : host->get());
    all.push_back(structure("node.Node", fields));
    nodes_[node->id] = std::move(fields);
  }
  common_["AllNodes"] = Value::list(std::move(all));
  common_["BuildHost"] = inputs.server_name;
  common_["Overlay"] = "underway";
  const auto network =
      cluster != nullptr && !cluster->networks.empty() ? network_of(cluster->networks.front().cidr) : std::nullopt;
  std::string server;
  if (network) {
    // The machine that the hosts' network ends on has its first address (hpc/host).
    in_addr raw{};
    ::inet_pton(AF_INET, network->network.c_str(), &raw);
    raw.s_addr = htonl(ntohl(raw.s_addr) + 1);
    char buffer[INET_ADDRSTRLEN];
    server = ::inet_ntop(AF_INET, &raw, buffer, sizeof buffer);
  }
  common_["Ipaddr"] = server;
  common_["Ipaddr6"] = "";
  common_["Ipv6"] = false;
  common_["Netmask"] = network ? network->netmask : "";
  common_["Network"] = network ? network->network : "";
  common_["NetworkCIDR"] = network ? network->cidr : "";
  common_["IpCIDR"] = network ? fmt::format("{}/{}", server, network->prefix) : "";
  for (const char* name : {"IpCIDR6", "PrefixLen6", "Network6", "NetworkCIDR6"}) common_[name] = "";
  add_services(common_);
}

Value TemplateContext::data_for(const model::FileDeclaration& file, const Target& target) const {
  Map data = common_;
  Map own;
  if (const auto it = nodes_.find(target.node_id); it != nodes_.end()) own = it->second;
  if (!target.capsule.empty()) {
    own["Id"] = target.capsule;
    own["Hostname"] = target.capsule;
  }
  data["ThisNode"] = structure("*node.Node", own);
  for (auto& [name, value] : own) data[name] = value;
  // Not when it is rendered: two renderings of one master are the same bytes.
  const auto at = from_unix_nanos(file.modify_time);
  data["BuildTime"] = build_time(at);
  data["BuildTimeUnix"] = std::to_string(file.modify_time / 1'000'000'000);
  data["BuildSource"] = file.source;
  return structure("overlay.TemplateStruct", std::move(data));
}

Rendered TemplateContext::render(const model::FileDeclaration& file, const std::string& text, const Target& target,
                                 const Include& include) const {
  gotemplate::Inputs inputs;
  inputs.data = data_for(file, target);
  inputs.include = include;
  inputs.limits.output = model::kPieceBytes;
  const auto parsed = gotemplate::parse(file.name, text, functions());
  auto rendering = gotemplate::render(parsed, inputs);
  if (!rendering.text) throw Error(Code::internal, fmt::format("template '{}' made nothing", file.name));
  return take_apart(*rendering.text);
}

}  // namespace underway::files
