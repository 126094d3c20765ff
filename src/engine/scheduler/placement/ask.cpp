#include "scheduler/placement/ask.hpp"

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "scheduler/feasibility/constraint.hpp"

#include <cmath>
#include <numbers>

namespace underway::scheduler {

namespace {

Pin pin_of(const model::Constraint& constraint) {
  const bool equals = constraint.operand == "=" || constraint.operand == "==" || constraint.operand == "is";
  if (!equals || constraint.rtarget.starts_with("${")) return Pin::none;
  if (constraint.ltarget == "${attr.unique.hostname}") return Pin::hostname;
  if (constraint.ltarget == "${node.unique.name}") return Pin::name;
  if (constraint.ltarget == "${node.unique.id}") return Pin::id;
  return Pin::none;
}

void add_constraints(Ask& ask, const std::vector<model::Constraint>& constraints, bool whole_job) {
  for (const auto& constraint : constraints) {
    if (constraint.operand == "distinct_hosts") {
      if (constraint.rtarget != "false") (whole_job ? ask.distinct_hosts_of_job : ask.distinct_hosts_of_group) = true;
    } else if (constraint.operand == "distinct_property") {
      ask.distinct_properties.push_back(
          {&constraint, leading_number_or<std::int64_t>(constraint.rtarget, 1), whole_job});
    } else if (escapes_class(constraint)) {
      ask.node_constraints.push_back(&constraint);
      if (ask.pin == Pin::none) {
        ask.pin = pin_of(constraint);
        ask.pinned_by = &constraint;
      }
    } else {
      ask.class_constraints.push_back(&constraint);
    }
  }
}

void add_affinities(Ask& ask, const std::vector<model::Affinity>& affinities) {
  for (const auto& affinity : affinities) {
    Attraction attraction{{affinity.ltarget, affinity.operand, affinity.rtarget}, static_cast<double>(affinity.weight)};
    (escapes_class(attraction.condition) ? ask.node_affinities : ask.class_affinities).push_back(std::move(attraction));
  }
}

/// Nomad's normScore: each weight as a part of the sum of all amounts.
void normalise_affinities(Ask& ask) {
  double sum = 0;
  for (const auto* list : {&ask.class_affinities, &ask.node_affinities}) {
    for (const auto& entry : *list) sum += std::abs(entry.weight);
  }
  for (auto* list : {&ask.class_affinities, &ask.node_affinities}) {
    for (auto& entry : *list) entry.weight /= sum;
  }
}

/// Of two over one attribute the group's holds.
void add_spreads(Ask& ask, const std::vector<model::Spread>& spreads) {
  for (const auto& spread : spreads) {
    const auto same = [&](const model::Spread* other) { return other->attribute == spread.attribute; };
    if (std::none_of(ask.spreads.begin(), ask.spreads.end(), same)) ask.spreads.push_back(&spread);
  }
}

}  // namespace

Ask::Ask(tables::Row<model::Job> wanted, const model::TaskGroup& of, const std::optional<std::string>& home_node)
    : job(std::move(wanted)), group(&of) {
  const auto total = of.total_resources();
  amount = {total.cpu, total.memory_mb, of.ephemeral_disk.size_mb};
  if (home_node) {
    model::Constraint at;
    at.ltarget = "${node.unique.id}";
    at.rtarget = *home_node;
    at.operand = "=";
    home = std::make_shared<const model::Constraint>(std::move(at));
    node_constraints.push_back(home.get());
    pin = Pin::id;
    pinned_by = home.get();
  }
  add_constraints(*this, job->constraints, true);
  add_constraints(*this, of.constraints, false);
  for (const auto& task : of.tasks) {
    add_constraints(*this, task.constraints, false);
    const auto same = [&](const std::string* driver) { return *driver == task.driver; };
    if (!task.driver.empty() && std::none_of(drivers.begin(), drivers.end(), same)) drivers.push_back(&task.driver);
  }
  add_affinities(*this, job->affinities);
  add_affinities(*this, of.affinities);
  for (const auto& task : of.tasks) add_affinities(*this, task.affinities);
  normalise_affinities(*this);
  add_spreads(*this, of.spreads);
  add_spreads(*this, job->spreads);
  for (const auto& [name, volume] : of.volumes) volumes.push_back(&volume);
  holds = asks_to_hold(of);
  for (const auto& network : of.networks) {
    for (const auto& port : network.reserved_ports) static_ports.push_back(&port);
    for (const auto& port : network.dynamic_ports) dynamic_ports.push_back(&port);
  }
}

std::vector<std::string> Ask::spread_attributes() const {
  std::vector<std::string> out;
  for (const auto* spread : spreads) out.push_back(spread->attribute);
  return out;
}

bool Ask::in_scope(const std::string& pool, const std::string& datacenter) const {
  if (job->node_pool != "all" && job->node_pool != pool) return false;
  return std::any_of(job->datacenters.begin(), job->datacenters.end(),
                     [&](const std::string& pattern) { return glob_match(pattern, datacenter); });
}

std::string Ask::shape_key() const {
  std::string key;
  key.reserve(256);
  const auto add = [&](std::string_view text) {
    key += text;
    key += '\x1f';
  };
  const auto add_number = [&](std::int64_t value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); };
  add_number(amount.cpu);
  add_number(amount.memory_mb);
  add_number(amount.disk_mb);
  add_number(static_cast<std::int64_t>(algorithm));
  add(job->node_pool);
  for (const auto& pattern : job->datacenters) add(pattern);
  for (const auto* list : {&class_constraints, &node_constraints}) {
    key += '\x1e';
    for (const auto* constraint : *list) {
      add(constraint->ltarget);
      add(constraint->operand);
      add(constraint->rtarget);
    }
  }
  for (const auto* list : {&class_affinities, &node_affinities}) {
    key += '\x1e';
    for (const auto& entry : *list) {
      add(entry.condition.ltarget);
      add(entry.condition.operand);
      add(entry.condition.rtarget);
      key.append(reinterpret_cast<const char*>(&entry.weight), sizeof entry.weight);
    }
  }
  key += '\x1e';
  for (const auto* spread : spreads) add(spread->attribute);
  key += '\x1e';
  for (const auto* driver : drivers) add(*driver);
  if (holds) add(hold_key(*group));
  key += '\x1e';
  for (const auto* volume : volumes) {
    add(volume->source);
    add(volume->per_alloc ? "a" : "");
    add(volume->read_only ? "r" : "");
    add(volume->access_mode);
    add(volume->attachment_mode);
    add(job->ns);
    // What it is bound to is the group's own, and each of its allocations'.
    if (volume->sticky) add(job->id + '\x1f' + group->name);
  }
  for (const auto& claim : claims) {
    add(claim.volume_name);
    add(claim.volume_id);
    add_number(claim.index);
  }
  for (const auto* list : {&static_ports, &dynamic_ports}) {
    key += '\x1e';
    for (const auto* port : *list) {
      add_number(port->value);
      add(port->label);
      add(port->host_network);
      add(port->ignore_collision ? "i" : "");
    }
  }
  return key;
}

const std::vector<Slot>& Ask::pinned_slots(const FleetIndex& fleet, std::vector<Slot>& storage) const {
  if (pin == Pin::hostname) return fleet.by_hostname(pinned_by->rtarget);
  if (pin == Pin::name) return fleet.by_name(pinned_by->rtarget);
  storage.clear();
  if (const Slot slot = fleet.find(pinned_by->rtarget); slot != kNoSlot && fleet.node(slot).node)
    storage.push_back(slot);
  return storage;
}

Worth worth_on(const FleetIndex& fleet, Slot slot, const Ask& ask) {
  Worth worth{ask.amount, {}};
  if (!ask.holds) return worth;
  if (const auto assigned = assign_on(fleet, slot, ask)) {
    worth.amount.cpu += assigned->cpu;
    worth.devices = assigned->affinity;
  }
  return worth;
}

std::optional<Assignment> assign_on(const FleetIndex& fleet, Slot slot, const Ask& ask, std::string* lacking) {
  static const Holdings kNothing;
  const NodeSlot& entry = fleet.node(slot);
  return assign(*entry.node, entry.holdings ? *entry.holdings : kNothing, *ask.group, lacking);
}

const model::Port* colliding_port(FleetIndex& fleet, Slot slot, const Ask& ask) {
  for (const auto* port : ask.static_ports) {
    if (port->ignore_collision) continue;
    const auto address = fleet.address_of_network(slot, port->host_network);
    if (!address || fleet.port_taken(slot, *address, port->value)) return port;
  }
  return nullptr;
}

namespace {

bool has_dynamic_ports(FleetIndex& fleet, Slot slot, const Ask& ask) {
  const model::Node& node = *fleet.node(slot).node;
  for (const auto* port : ask.dynamic_ports) {
    const auto address = fleet.address_of_network(slot, port->host_network);
    if (!address) return false;
    const auto in_range = [&](std::int64_t number) {
      return number >= node.resources.min_dynamic_port && number <= node.resources.max_dynamic_port;
    };
    // Never too optimistic: the ask's other ports all count against this address, and reserved ones may count twice.
    std::int64_t free = node.resources.max_dynamic_port - node.resources.min_dynamic_port + 1;
    free -= static_cast<std::int64_t>(
        fleet.node(slot).addresses[*address].second.count(static_cast<std::uint16_t>(node.resources.min_dynamic_port),
                                                          static_cast<std::uint16_t>(node.resources.max_dynamic_port)));
    free -= std::count_if(node.reserved.ports.begin(), node.reserved.ports.end(), in_range);
    free -= std::count_if(ask.static_ports.begin(), ask.static_ports.end(),
                          [&](const model::Port* other) { return in_range(other->value); });
    if (free < static_cast<std::int64_t>(ask.dynamic_ports.size())) return false;
  }
  return true;
}

}  // namespace

bool fits(FleetIndex& fleet, Slot slot, const Ask& ask) {
  const Room& room = fleet.room(slot);
  if (room.cpu < ask.amount.cpu || room.memory_mb < ask.amount.memory_mb || room.disk_mb < ask.amount.disk_mb)
    return false;
  if (ask.holds) {
    const auto assigned = assign_on(fleet, slot, ask);
    if (!assigned || room.cpu < ask.amount.cpu + assigned->cpu) return false;
  }
  if (!ask.has_ports()) return true;
  return colliding_port(fleet, slot, ask) == nullptr && has_dynamic_ports(fleet, slot, ask);
}

std::optional<std::string> exhausted_dimension(FleetIndex& fleet, Slot slot, const Ask& ask) {
  // Order and words: Nomad's BinPackIterator (network first) and ComparableResources.Superset.
  if (const auto* port = colliding_port(fleet, slot, ask))
    return fmt::format("network: reserved port collision {}={}", port->label, port->value);
  if (!has_dynamic_ports(fleet, slot, ask)) return "network: dynamic port selection failed";
  const Room& room = fleet.room(slot);
  if (room.cpu < ask.amount.cpu) return "cpu";
  if (room.memory_mb < ask.amount.memory_mb) return "memory";
  if (room.disk_mb < ask.amount.disk_mb) return "disk";
  if (ask.holds) {
    std::string lacking;
    const auto assigned = assign_on(fleet, slot, ask, &lacking);
    if (!assigned) return lacking;
    if (room.cpu < ask.amount.cpu + assigned->cpu) return "cpu";
  }
  return std::nullopt;
}

std::optional<PortAssignment> assign_ports(FleetIndex& fleet, Slot slot, const Ask& ask, std::uint64_t seed) {
  PortAssignment out;
  const auto given = [&](std::uint16_t address, std::int64_t number) {
    return std::any_of(out.uses.begin(), out.uses.end(),
                       [&](const PortUse& use) { return use.address == address && use.port == number; });
  };
  const auto give = [&](const model::Port& port, std::uint16_t address, std::int64_t number) {
    out.uses.push_back({address, static_cast<std::uint16_t>(number)});
    out.ports.push_back(
        {port.label, number, port.to == -1 ? number : port.to, fleet.node(slot).addresses[address].first});
  };
  for (const auto* port : ask.static_ports) {
    const auto address = fleet.address_of_network(slot, port->host_network);
    if (!address) return std::nullopt;
    give(*port, *address, port->value);
  }
  const model::Node& node = *fleet.node(slot).node;
  const std::int64_t range = node.resources.max_dynamic_port - node.resources.min_dynamic_port + 1;
  for (const auto* port : ask.dynamic_ports) {
    const auto address = fleet.address_of_network(slot, port->host_network);
    if (!address || range <= 0) return std::nullopt;
    const std::int64_t start = static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(range));
    std::int64_t step = 0;
    const auto number = [&] { return node.resources.min_dynamic_port + (start + step) % range; };
    while (step < range && (fleet.port_taken(slot, *address, number()) || given(*address, number()))) ++step;
    if (step == range) return std::nullopt;
    give(*port, *address, number());
  }
  return out;
}

double fit_score(const Room& room, const Amount& amount, model::SchedulerAlgorithm algorithm) {
  const double free_cpu = static_cast<double>(room.cpu - amount.cpu) * room.per_cpu;
  const double free_memory = static_cast<double>(room.memory_mb - amount.memory_mb) * room.per_memory;
  const double total = std::exp(free_cpu * std::numbers::ln10) + std::exp(free_memory * std::numbers::ln10);
  const double score = algorithm == model::SchedulerAlgorithm::binpack ? 20.0 - total : total - 2.0;
  return std::clamp(score, 0.0, 18.0) / 18.0;
}

double attraction(const std::vector<Attraction>& affinities, const model::Node& node) {
  double sum = 0;
  for (const auto& affinity : affinities) {
    if (holds(affinity.condition, node)) sum += affinity.weight;
  }
  return sum;
}

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 1469598103934665603ull;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return mix(hash);
}

}  // namespace underway::scheduler
