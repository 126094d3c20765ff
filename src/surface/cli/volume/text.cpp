#include "cli/volume/text.hpp"

#include <cmath>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "hcl/parse/parser.hpp"
#include "jobspec/decode.hpp"

namespace underway::cli {
namespace {

constexpr const char* kCapacities[] = {"capacity", "capacity_min", "capacity_max"};

/// A capacity is text with a unit, or a number of bytes.
std::int64_t capacity_of(const hcl::Content& content, const char* name, const hcl::Context& context,
                         hcl::Diagnostics& diagnostics) {
  const auto* attribute = content.find(name);
  if (attribute == nullptr) return 0;
  const auto value = attribute->expression.evaluate(context, diagnostics);
  if (!value) return 0;
  std::string text;
  jobspec::decode_value(*value, describe::kType<std::string>, &text, attribute->range,
                        fmt::format("attribute '{}'", name), diagnostics);
  return text.empty() ? 0 : parse_capacity(text);
}

}  // namespace

std::int64_t parse_capacity(const std::string& text) {
  const std::string bare(trim(text));
  const auto read = parse_leading_number<double>(bare);
  const double number = read ? read->value : -1;
  std::string unit = read ? lower(trim(read->rest)) : std::string();
  const auto refuse = [&]() -> Error {
    return Error(Code::invalid, fmt::format("'{}' is no capacity", text)).advise("write it as \"10GiB\" or \"500MB\"");
  };
  if (!(number >= 0)) throw refuse();
  if (unit.ends_with('b')) unit.pop_back();
  const bool binary = unit.ends_with('i');
  if (binary) unit.pop_back();
  static constexpr std::string_view kUnits = "kmgtpe";
  double factor = 1;
  if (!unit.empty()) {
    const auto power = kUnits.find(unit);
    if (unit.size() != 1 || power == std::string_view::npos) throw refuse();
    factor = std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
  } else if (binary) {
    throw refuse();
  }
  if (number * factor > 9e18) throw refuse();
  return static_cast<std::int64_t>(number * factor);
}

std::string capacity_text(std::int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double number = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (number >= 1024 && unit + 1 < std::size(kUnits)) {
    number /= 1024;
    ++unit;
  }
  return number >= 10 || number == std::floor(number) ? fmt::format("{:.0f} {}", number, kUnits[unit])
                                                      : fmt::format("{:.1f} {}", number, kUnits[unit]);
}

model::HostVolume parse_volume(const std::string& text, const std::string& name) {
  hcl::Diagnostics diagnostics;
  hcl::Schema schema{.attributes = {{"type", false}}};
  for (const char* capacity : kCapacities) schema.attributes.push_back({capacity, false});
  const auto [own, rest] = hcl::parse(text, name, diagnostics).partial_content(schema, diagnostics, "the file");
  // ${attr.…} in constraints is the nodes', and stays as it is written.
  hcl::Context context;
  context.unknown_roots(hcl::UnknownRoots::keep);
  std::string type = "host";
  if (const auto* attribute = own.find("type")) {
    if (const auto value = attribute->expression.evaluate(context, diagnostics); value && value->is_string())
      type = value->as_string();
  }
  if (type != "host")
    throw Error(Code::invalid, fmt::format("'{}' describes a volume of type '{}'", name, type))
        .because("only volumes of hosts are kept here: directories that a node makes and lends to tasks")
        .advise("write type = \"host\"");
  model::HostVolume volume;
  volume.ns.clear();
  jobspec::decode(rest, describe::structure_of<model::HostVolume>(), &volume, context, diagnostics);
  volume.capacity = capacity_of(own, "capacity", context, diagnostics);
  volume.capacity_min = capacity_of(own, "capacity_min", context, diagnostics);
  volume.capacity_max = capacity_of(own, "capacity_max", context, diagnostics);
  if (diagnostics.has_errors()) refuse(diagnostics, fmt::format("the volume in '{}'", name));
  return volume;
}

std::string volume_text(const model::HostVolume& volume, bool whole_ids) {
  const auto id = [&](const std::string& text) { return whole_ids ? text : short_id(text); };
  const auto or_none = [](const std::string& text) { return text.empty() ? std::string("<none>") : text; };
  std::string out = key_values({{"ID", id(volume.id)},
                                {"Name", volume.name},
                                {"Namespace", volume.ns},
                                {"Plugin ID", or_none(volume.plugin_id)},
                                {"Node ID", id(volume.node_id)},
                                {"Node Pool", volume.node_pool},
                                {"Capacity", capacity_text(volume.capacity)},
                                {"State", std::string(describe::spell(volume.state))},
                                {"Host Path", or_none(volume.host_path)}});
  out += "\nCapabilities\n";
  Table table({"Access Mode", "Attachment Mode"});
  for (const auto& capability : volume.capabilities) table.add({capability.access_mode, capability.attachment_mode});
  return out + table.text(0);
}

}  // namespace underway::cli
