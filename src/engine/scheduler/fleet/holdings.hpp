#pragma once
/// @file
/// What tasks hold alone of a node: processor cores and instances of devices. The fleet keeps up which are taken; an
/// ask is answered with those that its tasks would get.

#include <map>

#include "model/allocation.hpp"
#include "model/node/node.hpp"

namespace underway::scheduler {

/// What one allocation holds.
struct Hold {
  std::vector<std::int64_t> cores;
  std::vector<std::string> devices;  ///< "vendor/type/model/instance"
  bool empty() const { return cores.empty() && devices.empty(); }
  bool operator==(const Hold&) const = default;
};

/// Null when it holds nothing, as most do.
std::shared_ptr<const Hold> hold_of(const model::Allocation& allocation);
/// MHz of the cores that its tasks hold, beside what its tasks share.
std::int64_t held_cpu(const model::Allocation& allocation);

/// What is taken on one node. Something may be taken twice: what was believed lost still runs, and its replacement too.
class Holdings {
 public:
  void take(const Hold& hold) { change(hold, 1); }
  void give(const Hold& hold) { change(hold, -1); }
  bool core_taken(std::int64_t id) const { return cores_.contains(id); }
  bool device_taken(const std::string& id) const { return devices_.contains(id); }
  bool empty() const { return cores_.empty() && devices_.empty(); }

 private:
  void change(const Hold& hold, int sign);

  std::map<std::int64_t, int> cores_;
  std::map<std::string, int> devices_;
};

/// Whether tasks of the group hold anything alone.
bool asks_to_hold(const model::TaskGroup& group);
/// Equal for groups that every node answers alike.
std::string hold_key(const model::TaskGroup& group);

/// Whether the node has enough devices of the kinds that the group asks for, whoever holds them.
bool has_devices(const model::Node& node, const model::TaskGroup& group);

/// What each task would hold.
struct Assignment {
  struct OfTask {
    std::string task;
    std::vector<std::int64_t> cores;
    std::int64_t cpu = 0;  ///< MHz of those cores
    std::vector<model::AllocatedDevice> devices;
  };
  std::vector<OfTask> tasks;
  Hold hold;
  std::int64_t cpu = 0;
  std::optional<double> affinity;  ///< of devices: weights that match, of all weights
};

/// Never something that is taken; `lacking`, when not null, is what there is too little of, as
/// AllocMetric::dimension_exhausted has it.
std::optional<Assignment> assign(const model::Node& node, const Holdings& taken, const model::TaskGroup& group,
                                 std::string* lacking = nullptr);

}  // namespace underway::scheduler
