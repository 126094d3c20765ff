#include "slurm/elastic/node_record.hpp"

#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::slurm {
namespace {

/// What stands behind the first " KEY=" of the line, to the next blank. Values of the system's name have blanks in
/// them, and are asked for by nobody.
std::string_view value_of(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    const bool whole =
        (at == 0 || line[at - 1] == ' ') && at + key.size() < line.size() && line[at + key.size()] == '=';
    if (!whole) continue;
    const auto rest = line.substr(at + key.size() + 1);
    const auto value = rest.substr(0, rest.find(' '));
    return value == "(null)" ? std::string_view{} : value;
  }
  return {};
}

std::int64_t number_in(std::string_view line, std::string_view key) {
  return leading_number_or<std::int64_t>(value_of(line, key), 0);
}

/// "Reason=cannot reach a | b [root@2026-11-26T13:21:55] Comment=(null)": people write it, so it may hold anything.
std::string reason_in(std::string_view behind) {
  const auto end = behind.rfind(" [");
  const auto text =
      end != std::string_view::npos && behind.find('@', end) != std::string_view::npos ? behind.substr(0, end) : behind;
  return std::string(trim(text));
}

void read_state(NodeRecord& node, std::string_view text) {
  const auto words = split(text, '+');
  if (words.empty()) return;
  node.state = upper(words[0]);
  // As 20.11 writes it: "IDLE*", "MIXED#".
  while (!node.state.empty() && node.state.find_last_not_of("*~#!%$@^-") + 1 != node.state.size()) {
    if (node.state.back() == '*') node.flags.insert("NOT_RESPONDING");
    if (node.state.back() == '#') node.flags.insert("POWERING_UP");
    node.state.pop_back();
  }
  // 20.11 says of an idle node of a reservation that alone; later ones say that it is idle, with a flag.
  if (node.state == "RESERVED" || node.state == "MAINT") {
    node.flags.insert(node.state == "MAINT" ? "MAINTENANCE" : node.state);
    node.state = "IDLE";
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto flag = upper(words[i]);
    node.flags.insert(flag == "POWER" ? "POWERED_DOWN" : flag);  // so called by 20.11
  }
}

}  // namespace

bool NodeRecord::empty() const {
  return cpus_given == 0 && !is("COMPLETING") && state != "ALLOCATED" && state != "MIXED";
}

std::vector<std::string> records_command() { return {"scontrol", "-a", "-o", "show", "node"}; }

std::vector<NodeRecord> parse_records(std::string_view text) {
  std::vector<NodeRecord> out;
  for (const auto& row : split(text, '\n')) {
    const auto line = trim(row);
    if (!line.starts_with("NodeName=")) continue;
    const auto cut = line.find(" Reason=");
    const auto facts = line.substr(0, cut);
    NodeRecord node;
    node.name = value_of(facts, "NodeName");
    if (node.name.empty()) continue;
    node.address = value_of(facts, "NodeAddr");
    node.hostname = value_of(facts, "NodeHostName");
    read_state(node, value_of(facts, "State"));
    if (cut != std::string_view::npos) node.reason = reason_in(line.substr(cut + std::string_view(" Reason=").size()));
    node.cpus = number_in(facts, "CPUTot");
    node.cpus_given = number_in(facts, "CPUAlloc");
    node.memory_mb = number_in(facts, "RealMemory");
    node.weight = number_in(facts, "Weight");
    for (auto& feature : split_list(value_of(facts, "AvailableFeatures"))) node.features.insert(std::move(feature));
    node.partitions = split_list(value_of(facts, "Partitions"));
    out.push_back(std::move(node));
  }
  return out;
}

}  // namespace underway::slurm
