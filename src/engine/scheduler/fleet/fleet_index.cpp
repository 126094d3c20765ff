#include "scheduler/fleet/fleet_index.hpp"

#include "scheduler/placement/shape_index.hpp"

namespace underway::scheduler {

std::size_t PortSet::count(std::uint16_t first, std::uint16_t last) const {
  std::size_t distinct = 0;
  auto it = std::lower_bound(ports_.begin(), ports_.end(), first);
  for (int previous = -1; it != ports_.end() && *it <= last; ++it) {
    if (*it != previous) ++distinct;
    previous = *it;
  }
  return distinct;
}

FleetIndex::FleetIndex() = default;
FleetIndex::~FleetIndex() = default;

void FleetIndex::reset() {
  const std::uint64_t membership = membership_ + 1, generation = class_generation_ + 1, next = log_end();
  *this = FleetIndex();
  // Whoever still holds a shape index must see that everything changed.
  membership_ = membership;
  class_generation_ = generation;
  log_begin_ = next;
}

Slot FleetIndex::find(const std::string& node_id) const {
  const auto it = by_id_.find(node_id);
  return it == by_id_.end() ? kNoSlot : it->second;
}

namespace {

const std::vector<Slot>& lookup(const std::unordered_map<std::string, std::vector<Slot>>& index,
                                const std::string& key) {
  static const std::vector<Slot> none;
  const auto it = index.find(key);
  return it == index.end() ? none : it->second;
}

std::string hostname_of(const model::Node& node) {
  const auto it = node.attributes.find("unique.hostname");
  return it == node.attributes.end() ? std::string() : it->second;
}

void forget(std::unordered_map<std::string, std::vector<Slot>>& index, const std::string& key, Slot slot) {
  const auto it = index.find(key);
  if (it == index.end()) return;
  std::erase(it->second, slot);
  if (it->second.empty()) index.erase(it);
}

}  // namespace

const std::vector<Slot>& FleetIndex::by_hostname(const std::string& hostname) const {
  return lookup(by_hostname_, hostname);
}
const std::vector<Slot>& FleetIndex::by_name(const std::string& name) const { return lookup(by_name_, name); }

Slot FleetIndex::slot_for(const std::string& node_id) {
  const auto [it, fresh] = by_id_.try_emplace(node_id, kNoSlot);
  if (!fresh) return it->second;
  Slot slot;
  if (unused_.empty()) {
    slot = static_cast<Slot>(slots_.size());
    slots_.emplace_back();
    rooms_.emplace_back();
  } else {
    slot = unused_.back();
    unused_.pop_back();
    const std::uint32_t row_version = slots_[slot].row_version + 1;
    slots_[slot] = NodeSlot{};
    slots_[slot].row_version = row_version;
    rooms_[slot] = Room{};
  }
  slots_[slot].id = node_id;
  it->second = slot;
  return slot;
}

void FleetIndex::release_if_unused(Slot slot) {
  if (slots_[slot].node || slots_[slot].allocations > 0) return;
  by_id_.erase(slots_[slot].id);
  unused_.push_back(slot);
}

/// Adds the slot to the indexes that its present row asks for.
void FleetIndex::enter(Slot slot) {
  const model::Node& node = *slots_[slot].node;
  const std::string hostname = hostname_of(node);
  if (!hostname.empty()) by_hostname_[hostname].push_back(slot);
  by_name_[node.name].push_back(slot);
  if (node.ready()) ++ready_[node.node_pool][node.datacenter];
}

void FleetIndex::leave(Slot slot) {
  const model::Node& node = *slots_[slot].node;
  forget(by_hostname_, hostname_of(node), slot);
  forget(by_name_, node.name, slot);
  if (!node.ready()) return;
  auto& pool = ready_[node.node_pool];
  if (--pool[node.datacenter] == 0) pool.erase(node.datacenter);
  if (pool.empty()) ready_.erase(node.node_pool);
}

void FleetIndex::set_capacity(Slot slot) {
  NodeSlot& entry = slots_[slot];
  Room& room = rooms_[slot];
  const Amount now = entry.node ? capacity_of(*entry.node) : Amount{};
  room.cpu += now.cpu - entry.capacity.cpu;
  room.memory_mb += now.memory_mb - entry.capacity.memory_mb;
  room.disk_mb += now.disk_mb - entry.capacity.disk_mb;
  room.per_cpu = now.cpu > 0 ? 1.0 / static_cast<double>(now.cpu) : 0;
  room.per_memory = now.memory_mb > 0 ? 1.0 / static_cast<double>(now.memory_mb) : 0;
  entry.capacity = now;
}

std::uint32_t FleetIndex::intern_class(const std::string& computed_class) {
  if (class_ids_.size() > 1024 + 4 * node_count_) {
    // Fingerprints that change all the time would otherwise let the table grow for ever.
    class_ids_.clear();
    ++class_generation_;
    for (auto& entry : slots_) {
      if (entry.node)
        entry.class_id = class_ids_.try_emplace(entry.node->computed_class, class_ids_.size()).first->second;
    }
  }
  return class_ids_.try_emplace(computed_class, static_cast<std::uint32_t>(class_ids_.size())).first->second;
}

void FleetIndex::set_node(const tables::Row<model::Node>& before, const tables::Row<model::Node>& after) {
  const std::string& id = after ? after->id : before->id;
  if (!after && !by_id_.contains(id)) return;
  const Slot slot = slot_for(id);
  NodeSlot& entry = slots_[slot];
  const auto by_id = [&](Slot a, const std::string& wanted) { return slots_[a].id < wanted; };
  const auto place = std::lower_bound(ordered_.begin(), ordered_.end(), id, by_id);
  if (entry.node) leave(slot);
  if (after && !entry.node) {
    ordered_.insert(place, slot);
    ++membership_;
    ++node_count_;
  } else if (!after && entry.node) {
    ordered_.erase(place);
    ++membership_;
    --node_count_;
  }
  entry.node = after;
  ++entry.row_version;
  set_capacity(slot);
  if (after) {
    // A row made by hand may lack its class; it must not share one with other such rows.
    entry.class_id = intern_class(after->computed_class.empty() ? model::compute_class(*after) : after->computed_class);
    enter(slot);
  }
  log_change(slot);
  release_if_unused(slot);
}

namespace {

bool same_hold(const model::Allocation& before, const model::Allocation& after) {
  const auto held = hold_of(before), holds = hold_of(after);
  return held && holds ? *held == *holds : !held && !holds;
}

}  // namespace

void FleetIndex::set_allocation(const model::Allocation* before, const model::Allocation* after) {
  const bool held = before != nullptr && !before->terminal(), holds = after != nullptr && !after->terminal();
  const auto priority_of = [](const model::Allocation& allocation) {
    return allocation.job ? allocation.job->priority : model::Job{}.priority;
  };
  if (held != holds || (held && before->job != after->job)) {
    if (held) {
      const auto it = priorities_.find(priority_of(*before));
      if (--it->second == 0) priorities_.erase(it);
    }
    if (holds) ++priorities_[priority_of(*after)];
  }
  if (held != holds && !quota_uses_.empty()) {
    const model::Allocation& holder = held ? *before : *after;
    if (const auto it = quota_uses_.find(holder.ns); it != quota_uses_.end())
      it->second.add(use_of(holder), held ? -1 : 1);
  }
  // Most changes are reports from the node that move nothing.
  const auto same_port = [](const model::AllocatedPort& a, const model::AllocatedPort& b) {
    return a.value == b.value && a.host_ip == b.host_ip;
  };
  if (held && holds && before->node_id == after->node_id && amount_of(*before) == amount_of(*after) &&
      std::equal(before->resources.ports.begin(), before->resources.ports.end(), after->resources.ports.begin(),
                 after->resources.ports.end(), same_port) &&
      same_hold(*before, *after))
    return;
  const auto move = [&](const model::Allocation& allocation, int sign) {
    const Slot slot = slot_for(allocation.node_id);
    account(slot, amount_of(allocation), ports_of(slot, allocation), hold_of(allocation).get(), sign);
    release_if_unused(slot);
  };
  if (held) move(*before, -1);
  if (holds) move(*after, 1);
}

const QuotaUse& FleetIndex::quota_use(const std::string& ns, const std::function<QuotaUse(const std::string&)>& count) {
  const auto it = quota_uses_.find(ns);
  return it != quota_uses_.end() ? it->second : quota_uses_.emplace(ns, count(ns)).first->second;
}

std::uint16_t FleetIndex::intern_address(Slot slot, const std::string& ip) {
  auto& addresses = slots_[slot].addresses;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i].first == ip) return static_cast<std::uint16_t>(i);
  }
  addresses.emplace_back(ip, PortSet{});
  return static_cast<std::uint16_t>(addresses.size() - 1);
}

std::optional<std::uint16_t> FleetIndex::address_of_network(Slot slot, const std::string& host_network) {
  const model::Node& node = *slots_[slot].node;
  for (const auto& network : node.networks) {
    if (network.name == host_network) return intern_address(slot, network.ip);
  }
  if (host_network != "default" && !host_network.empty()) return std::nullopt;
  // A node that tells of no "default" network offers its first one.
  if (!node.networks.empty()) return intern_address(slot, node.networks.front().ip);
  const auto ip = node.attributes.find("unique.network.ip-address");
  return intern_address(slot, ip == node.attributes.end() ? std::string() : ip->second);
}

bool FleetIndex::port_taken(Slot slot, std::uint16_t address, std::int64_t port) const {
  const NodeSlot& entry = slots_[slot];
  if (entry.addresses[address].second.contains(static_cast<std::uint16_t>(port))) return true;
  const auto& reserved = entry.node->reserved.ports;
  return std::find(reserved.begin(), reserved.end(), port) != reserved.end();
}

std::vector<PortUse> FleetIndex::ports_of(Slot slot, const model::Allocation& allocation) {
  std::vector<PortUse> ports;
  ports.reserve(allocation.resources.ports.size());
  for (const auto& port : allocation.resources.ports) {
    if (port.value <= 0 || port.value > 65535) continue;
    ports.push_back({intern_address(slot, port.host_ip), static_cast<std::uint16_t>(port.value)});
  }
  return ports;
}

void FleetIndex::account(Slot slot, const Amount& amount, std::span<const PortUse> ports, const Hold* hold, int sign) {
  NodeSlot& entry = slots_[slot];
  Room& room = rooms_[slot];
  room.cpu -= sign * amount.cpu;
  room.memory_mb -= sign * amount.memory_mb;
  room.disk_mb -= sign * amount.disk_mb;
  entry.allocations += static_cast<std::uint32_t>(sign);
  for (const auto& use : ports) {
    PortSet& set = entry.addresses[use.address].second;
    sign > 0 ? set.add(use.port) : set.remove(use.port);
  }
  if (hold != nullptr) {
    if (!entry.holdings) entry.holdings = std::make_unique<Holdings>();
    sign > 0 ? entry.holdings->take(*hold) : entry.holdings->give(*hold);
  }
  log_change(slot);
}

void FleetIndex::change(Slot slot, const Amount& amount, std::span<const PortUse> ports, HoldRow hold, int sign) {
  journal_.push_back({slot, sign, amount, static_cast<std::uint32_t>(journal_ports_.size()),
                      static_cast<std::uint32_t>(ports.size()), hold});
  journal_ports_.insert(journal_ports_.end(), ports.begin(), ports.end());
  account(slot, amount, ports, hold.get(), sign);
}

void FleetIndex::take(const model::Allocation& allocation) {
  const Slot slot = slot_for(allocation.node_id);
  change(slot, amount_of(allocation), ports_of(slot, allocation), hold_of(allocation), 1);
}

void FleetIndex::give(const model::Allocation& allocation) {
  const Slot slot = slot_for(allocation.node_id);
  change(slot, amount_of(allocation), ports_of(slot, allocation), hold_of(allocation), -1);
}

void FleetIndex::rollback(std::size_t mark) {
  while (journal_.size() > mark) {
    const JournalEntry entry = journal_.back();
    account(entry.slot, entry.amount, std::span(journal_ports_).subspan(entry.first_port, entry.port_count),
            entry.hold.get(), -entry.sign);
    journal_ports_.resize(entry.first_port);
    journal_.pop_back();
  }
}

void FleetIndex::log_change(Slot slot) {
  if (log_.size() > 4096 + 4 * slots_.size()) {
    log_begin_ += log_.size();
    log_.clear();
  }
  slots_[slot].last_change = log_end();
  log_.push_back(slot);
}

std::vector<std::uint32_t> FleetIndex::take_counts() {
  std::vector<std::uint32_t> counts;
  if (!spare_counts_.empty()) {
    counts = std::move(spare_counts_.back());
    spare_counts_.pop_back();
  }
  counts.resize(slots_.size());
  return counts;
}

std::shared_ptr<ShapeIndex> FleetIndex::find_shape(const std::string& key) {
  const auto it = shapes_.find(key);
  if (it == shapes_.end()) return nullptr;
  it->second.used = ++shape_clock_;
  return it->second.shape;
}

void FleetIndex::keep_shape(const std::string& key, std::shared_ptr<ShapeIndex> shape) {
  // About 30 bytes per node and shape; a cluster's jobs have few shapes at a time.
  constexpr std::size_t kMostShapes = 16;
  if (shapes_.size() >= kMostShapes) {
    const auto older = [](const auto& a, const auto& b) { return a.second.used < b.second.used; };
    shapes_.erase(std::min_element(shapes_.begin(), shapes_.end(), older));
  }
  shapes_[key] = {std::move(shape), ++shape_clock_};
}

}  // namespace underway::scheduler
