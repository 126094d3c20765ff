#include "network/cni.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::network::cni {
namespace {

using underway::json::text_at;

constexpr Duration kWithin = std::chrono::minutes{1};
constexpr std::size_t kLongestAnswer = 1U << 20;
/// The oldest form of a result that has all we read.
constexpr std::string_view kDefaultVersion = "0.4.0";

/// One plugin alone is a list of one.
boost::json::object as_list(boost::json::object configuration) {
  if (configuration.contains("plugins")) return configuration;
  boost::json::object list{{"cniVersion", configuration["cniVersion"]}, {"name", configuration["name"]}};
  list["plugins"] = boost::json::array{std::move(configuration)};
  return list;
}

template <class See>
void each_configuration(const std::string& directory, See see) {
  if (!os::exists(directory)) return;
  std::vector<std::string> names;
  for (const auto& entry : os::list_directory(directory)) {
    for (const char* ending : {".conflist", ".conf", ".json"})
      if (entry.name.ends_with(ending)) names.push_back(entry.name);
  }
  std::ranges::sort(names);
  for (const auto& name : names) {
    const std::string path = directory + "/" + name;
    try {
      const auto value = underway::json::parse(os::read_file(path));
      if (!value.is_object()) throw Error(Code::invalid, "it is no object");
      if (see(as_list(value.get_object()))) return;
    } catch (const Error& error) {
      log::warn("network: CNI configuration '{}' cannot be read: {}", path, error.one_line());
    }
  }
}

std::string find_program(const std::string& type, const std::string& path) {
  if (type.empty() || type.find('/') != std::string::npos || type.starts_with('.'))
    throw Error(Code::invalid, fmt::format("'{}' is no name of a CNI plugin", type));
  for (const auto& directory : split(path, ':')) {
    const std::string program = fmt::format("{}/{}", directory, type);
    if (!directory.empty() && ::access(program.c_str(), X_OK) == 0) return program;
  }
  throw Error(Code::not_found, fmt::format("there is no CNI plugin '{}'", type))
      .because(fmt::format("looked for it in {}", path))
      .advise("install it (Debian: containernetworking-plugins), or set cni_path in the client's configuration");
}

std::string arguments(const Container& container) {
  // Plugins that do not know an argument shall not fail over it.
  std::string text = "IgnoreUnknown=true";
  for (const auto& [name, value] : container.args) text += fmt::format(";{}={}", name, value);
  return text;
}

boost::json::array port_mappings(const Container& container) {
  boost::json::array out;
  for (const auto& port : container.ports) {
    for (const char* protocol : {"tcp", "udp"}) {
      boost::json::object mapping{
          {"hostPort", port.value}, {"containerPort", port.to > 0 ? port.to : port.value}, {"protocol", protocol}};
      if (!port.host_ip.empty()) mapping["hostIP"] = port.host_ip;
      out.push_back(std::move(mapping));
    }
  }
  return out;
}

/// The plugin's own part, with what the specification adds to it (section 4, "Deriving request configuration").
boost::json::object request_of(const boost::json::object& list, const boost::json::object& plugin,
                               const Container& container, const boost::json::value& previous) {
  boost::json::object out = plugin;
  const auto version = text_at(list, "cniVersion");
  out["cniVersion"] = version.empty() ? std::string(kDefaultVersion) : version;
  out["name"] = list.at("name");
  if (!previous.is_null()) out["prevResult"] = previous;
  boost::json::object runtime;
  if (const auto* capabilities = plugin.if_contains("capabilities");
      capabilities != nullptr && capabilities->is_object()) {
    const auto* wanted = capabilities->get_object().if_contains("portMappings");
    if (wanted != nullptr && wanted->is_bool() && wanted->get_bool())
      runtime["portMappings"] = port_mappings(container);
  }
  out.erase("capabilities");
  if (!runtime.empty()) out["runtimeConfig"] = std::move(runtime);
  return out;
}

/// What a plugin says of its failure: JSON on standard output (section 5, "Error"), or what it wrote elsewhere.
std::string complaint(const os::Output& output) {
  boost::system::error_code problem;
  const auto value = boost::json::parse(output.out, problem);
  if (!problem && value.is_object()) {
    std::string said = text_at(value.get_object(), "msg");
    const auto details = text_at(value.get_object(), "details");
    if (!details.empty()) said += ": " + details;
    if (!said.empty()) return said;
  }
  const std::string said(trim(output.err.empty() ? output.out : output.err));
  return said.empty() ? fmt::format("exit code {}", output.status.code) : said.substr(0, 2000);
}

boost::json::value call(const char* command, const boost::json::object& list, const boost::json::object& plugin,
                        const Container& container, const boost::json::value& previous, const std::string& path) {
  const std::string type = text_at(plugin, "type");
  const std::string request = boost::json::serialize(request_of(list, plugin, container, previous));
  const os::Fd input = os::sealed_memory("cni", request);
  ::lseek(input.get(), 0, SEEK_SET);
  os::SpawnSpec spec;
  spec.argv = {find_program(type, path)};
  spec.in = input.get();
  spec.env = {fmt::format("CNI_COMMAND={}", command),  "CNI_CONTAINERID=" + container.id,
              "CNI_NETNS=" + container.namespace_path, "CNI_IFNAME=" + container.interface,
              "CNI_ARGS=" + arguments(container),      "CNI_PATH=" + path,
              "PATH=" + std::string(os::kDefaultPath)};
  const auto output = os::run_program(std::move(spec), kWithin, kLongestAnswer);
  if (output.status.code != 0 || output.status.signal != 0)
    throw Error(Code::unavailable, fmt::format("CNI plugin '{}' refused {}", type, command)).because(complaint(output));
  if (trim(output.out).empty()) return nullptr;
  boost::system::error_code problem;
  auto result = boost::json::parse(output.out, problem);
  if (problem) throw Error(Code::invalid, fmt::format("CNI plugin '{}' answered with invalid JSON", type));
  return result;
}

const boost::json::array& plugins_of(const boost::json::object& list) {
  const auto* plugins = list.if_contains("plugins");
  if (plugins == nullptr || !plugins->is_array() || plugins->get_array().empty() ||
      !std::ranges::all_of(plugins->get_array(), [](const boost::json::value& plugin) { return plugin.is_object(); }))
    throw Error(Code::invalid, fmt::format("CNI configuration '{}' lists no plugins", text_at(list, "name")));
  return plugins->get_array();
}

}  // namespace

boost::json::object get_configuration(const std::string& directory, const std::string& name) {
  std::optional<boost::json::object> found;
  each_configuration(directory, [&](boost::json::object list) {
    if (text_at(list, "name") != name) return false;
    found = std::move(list);
    return true;
  });
  if (found) {
    static_cast<void>(plugins_of(*found));
    return *found;
  }
  const auto names = list_configurations(directory);
  throw Error(Code::not_found, fmt::format("there is no CNI network '{}'", name))
      .because(names.empty() ? fmt::format("'{}' holds none", directory)
                             : fmt::format("'{}' holds {}", directory, join(names, ", ")))
      .advise("see cni_config_dir in the client's configuration");
}

std::vector<std::string> list_configurations(const std::string& directory) {
  std::vector<std::string> names;
  each_configuration(directory, [&](const boost::json::object& list) {
    const auto name = text_at(list, "name");
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
    return false;
  });
  return names;
}

boost::json::value add(const boost::json::object& configuration, const Container& container, const std::string& path) {
  boost::json::value result;
  try {
    for (const auto& plugin : plugins_of(configuration))
      result = call("ADD", configuration, plugin.get_object(), container, result, path);
  } catch (Error& failed) {
    try {
      remove(configuration, container, result, path);
    } catch (const Error& second) {
      failed.because(fmt::format("and what was made of it may stay: {}", second.one_line()));
    }
    throw;
  }
  return result;
}

void remove(const boost::json::object& configuration, const Container& container, const boost::json::value& result,
            const std::string& path) {
  std::optional<Error> failed;
  const auto& plugins = plugins_of(configuration);
  for (auto plugin = plugins.rbegin(); plugin != plugins.rend(); ++plugin) {
    try {
      static_cast<void>(call("DEL", configuration, plugin->get_object(), container, result, path));
    } catch (const Error& error) {
      if (!failed) failed = error;
    }
  }
  if (failed) throw *failed;
}

namespace {

std::vector<std::string> texts_of(const boost::json::object& object, std::string_view key) {
  std::vector<std::string> out;
  const auto* list = object.if_contains(key);
  if (list == nullptr || !list->is_array()) return out;
  for (const auto& plugin : list->get_array())
    if (plugin.is_string()) out.emplace_back(plugin.get_string());
  return out;
}

/// Whether the address is the container's: its interface lies in a sandbox, or nothing is said of it.
bool is_inside(const boost::json::object& address, const boost::json::object& result) {
  const auto* index = address.if_contains("interface");
  const auto* interfaces = result.if_contains("interfaces");
  if (index == nullptr || !index->is_number() || interfaces == nullptr || !interfaces->is_array()) return true;
  const auto at = static_cast<std::size_t>(index->to_number<std::int64_t>());
  if (at >= interfaces->get_array().size() || !interfaces->get_array()[at].is_object()) return true;
  return !text_at(interfaces->get_array()[at].get_object(), "sandbox").empty();
}

}  // namespace

model::AllocNetworkStatus status_of(const boost::json::value& value, const std::string& interface) {
  model::AllocNetworkStatus status;
  status.interface_name = interface;
  if (!value.is_object()) throw Error(Code::invalid, "the CNI plugins answered nothing");
  const auto& result = value.get_object();
  if (const auto* ips = result.if_contains("ips"); ips != nullptr && ips->is_array()) {
    for (const auto& ip : ips->get_array()) {
      if (!ip.is_object() || !is_inside(ip.get_object(), result)) continue;
      const auto spelled = text_at(ip.get_object(), "address");
      const auto address = spelled.substr(0, spelled.find('/'));
      auto& slot = address.find(':') == std::string::npos ? status.address : status.address_ipv6;
      if (slot.empty()) slot = address;
    }
  }
  if (status.address.empty() && status.address_ipv6.empty())
    throw Error(Code::invalid, "the CNI plugins gave no address");
  if (const auto* dns = result.if_contains("dns"); dns != nullptr && dns->is_object()) {
    model::Dns known{texts_of(dns->get_object(), "nameservers"), texts_of(dns->get_object(), "search"),
                     texts_of(dns->get_object(), "options")};
    if (!known.servers.empty() || !known.searches.empty() || !known.options.empty()) status.dns = std::move(known);
  }
  return status;
}

}  // namespace underway::network::cni
