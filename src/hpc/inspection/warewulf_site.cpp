// Warewulf 4's configuration: YAML that administrators and programs write. It is read by the function of HCL, which
// bounds what nesting and aliases can cost.
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "hcl/context.hpp"
#include "hcl/parse/parser.hpp"
#include "inspection/site.hpp"

namespace underway::inspection {
namespace {

constexpr std::size_t kMaxNodes = 100'000;
/// A node takes about 20 values; yamldecode counts 100 steps for each.
constexpr hcl::Limits kLimits{.steps = 500'000'000, .bytes = 512ull << 20, .string_bytes = 32ull << 20};

std::optional<hcl::Value> load(std::string_view text, const char* name, std::vector<std::string>& gaps) {
  if (!is_utf8(text)) {
    gaps.push_back(fmt::format("{} is no UTF-8", name));
    return std::nullopt;
  }
  hcl::Diagnostics diagnostics;
  try {
    hcl::Context context(kLimits);
    context.functions(hcl::pure_functions()).set("text", hcl::Value(text));
    auto value = hcl::parse_expression("yamldecode(text)", name, diagnostics).evaluate(context, diagnostics);
    if (value) return value;
  } catch (const Error& e) {
    gaps.push_back(fmt::format("{}: {}", name, e.one_line()));
    return std::nullopt;
  }
  const auto& all = diagnostics.all();
  gaps.push_back(
      fmt::format("{} cannot be read: {}", name, all.empty() ? "no YAML" : all[0].summary + " " + all[0].detail));
  return std::nullopt;
}

std::string text_of(const hcl::Value* map, std::string_view key) {
  const auto* value = map == nullptr ? nullptr : map->find(key);
  if (value == nullptr) return {};
  if (value->is_string()) return value->as_string();
  return value->is_number() ? hcl::describe(*value) : std::string{};
}

void add_node(const std::string& name, const hcl::Value& node, WarewulfSite& site) {
  if (site.nodes.size() >= kMaxNodes) return;
  WarewulfNode out;
  out.name = name;
  if (const auto* profiles = node.find("profiles"); profiles != nullptr && profiles->is_sequence())
    for (const auto& profile : profiles->items())
      if (profile.is_string()) out.profiles.push_back(profile.as_string());
  if (const auto* devices = node.find("network devices"); devices != nullptr && devices->is_mapping())
    for (const auto& [device, settings] : devices->members())
      if (auto address = text_of(&settings, "ipaddr"); !address.empty()) out.addresses.push_back(std::move(address));
  site.nodes.push_back(std::move(out));
}

}  // namespace

void parse_warewulf_nodes(std::string_view text, WarewulfSite& site, std::vector<std::string>& gaps) {
  const auto document = load(text, "nodes.conf", gaps);
  if (!document) return;
  const auto* nodes = document->find("nodes");
  if (nodes == nullptr || !nodes->is_mapping()) {
    gaps.emplace_back("nodes.conf has no nodes");
    return;
  }
  for (const auto& [name, node] : nodes->members()) add_node(name, node, site);
}

void parse_warewulf_conf(std::string_view text, WarewulfSite& site, std::vector<std::string>& gaps) {
  const auto document = load(text, "warewulf.conf", gaps);
  if (!document) return;
  site.address = text_of(&*document, "ipaddr");
  site.netmask = text_of(&*document, "netmask");
  site.network = text_of(&*document, "network");
  if (const auto port = leading_number_or<std::uint16_t>(text_of(document->find("warewulf"), "port"), 0); port != 0)
    site.port = port;
  site.dhcp_start = text_of(document->find("dhcp"), "range start");
  site.dhcp_end = text_of(document->find("dhcp"), "range end");
}

}  // namespace underway::inspection
