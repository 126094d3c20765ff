#include "node/allocation/state_file.hpp"

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/random.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::node {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<TaskRecord>) {
  static const Structure structure =
      Builder<TaskRecord>("task_record", "How far a task is.")
          .wire<&TaskRecord::state>("State", "What the server is told.")
          .wire<&TaskRecord::restart_count>("RestartCount", "Restarts in the present interval.")
          .wire<&TaskRecord::restart_interval_start>("RestartIntervalStart", "When that interval began.")
          .wire<&TaskRecord::attempt>("Attempt", "How often it was handed to the driver.")
          .wire<&TaskRecord::launched>("Launched", "Whether the driver may have started it.")
          .wire<&TaskRecord::boot>("Boot", "The boot in which it was handed to the driver.")
          .wire<&TaskRecord::handle>("Handle", "How the driver finds it again.")
          .wire<&TaskRecord::stopping>("Stopping", "Whether it was told to stop.")
          .wire<&TaskRecord::kept_in>("KeptIn", "Where the machine keeps what it goes on from.")
          .wire<&TaskRecord::restore>("Restore", "The checkpoint that the machine goes back to.")
          .wire<&TaskRecord::sent_to>("SentTo", "The allocation that the machine is sent to while it runs.")
          .wire<&TaskRecord::target>("Target", "Whether it takes in a machine that is sent here.")
          .wire<&TaskRecord::failures>("Failures", "What went wrong with it.")
          .done();
  return structure;
}

const Structure& description(Tag<AllocationState>) {
  static const Structure structure = Builder<AllocationState>("allocation_state", "How far an allocation is.")
                                         .wire<&AllocationState::tasks>("Tasks", "By name.")
                                         .wire<&AllocationState::health>("Health", "What was found of its health.")
                                         .wire<&AllocationState::measure>("HealthMeasure", "And what for.")
                                         .wire<&AllocationState::checks>("Checks", "What the checks said.")
                                         .wire<&AllocationState::destroy>("Destroy", "Whether it is to be removed.")
                                         .wire<&AllocationState::disk_settled>("DiskSettled", "Its predecessor's disk.")
                                         .wire<&AllocationState::arrival>("Arrival", "Machines that come to it.")
                                         .wire<&AllocationState::begins_anew>("BeginsAnew", "Whether all starts again.")
                                         .done();
  return structure;
}

const Structure& description(Tag<StoredOrder>) {
  static const Structure structure = Builder<StoredOrder>("stored_order", "What the server wants.")
                                         .wire<&StoredOrder::order>("Order", "The allocation.")
                                         .wire<&StoredOrder::job>("Job", "The version of the job it belongs to.")
                                         .wire<&StoredOrder::boot>("Boot", "The boot in which it came.")
                                         .wire<&StoredOrder::origin>("Origin", "Whose word it is.")
                                         .done();
  return structure;
}

std::string boot_mark() {
  std::string kernel = os::find_file("/proc/sys/kernel/random/boot_id").value_or("");
  if (!kernel.empty() && kernel.back() == '\n') kernel.pop_back();
  const auto first = os::process_identity(1);
  return fmt::format("{}/{}", kernel, first ? first->start_time : 0);
}

StoredOrder as_found(StoredOrder order, const std::string& boot) {
  if (!order.order.guarded || order.boot == boot) return order;
  order.order.start = false;
  order.order.pause = false;
  order.order.waiting_for = "a server to say so again, as the machine was booted";
  return order;
}

StateFiles::StateFiles(const std::string& data_dir) : root_(data_dir + "/node/allocations") {
  os::make_directories(root_, 0700);
}

void StateFiles::write_order(const std::string& id, const StoredOrder& order) {
  os::make_directories(directory(id), 0700);
  os::write_file(directory(id) + "/order.json", json::encode(order, json::Encoding::compact), 0600, {},
                 os::Durability::cached);
}

void StateFiles::write_state(const std::string& id, const AllocationState& state) {
  os::write_file(directory(id) + "/state.json", json::encode(state, json::Encoding::compact), 0600, {},
                 os::Durability::cached);
}

void StateFiles::remove(const std::string& id) { os::remove_tree(directory(id)); }

std::vector<StoredAllocation> StateFiles::read_all(std::vector<std::string>& problems) const {
  std::vector<StoredAllocation> all;
  for (const auto& entry : os::list_directory(root_)) {
    const std::string path = directory(entry.name);
    try {
      StoredAllocation stored;
      // No order: the agent died while it made or removed the directory; nothing was started under this name.
      const auto order = os::find_file(path + "/order.json");
      if (!order) {
        os::remove_tree(path);
        continue;
      }
      stored.order = json::decode_text<StoredOrder>(*order, "order");
      if (const auto state = os::find_file(path + "/state.json"))
        stored.state = json::decode_text<AllocationState>(*state, "state");
      stored.order.order.allocation.job = std::make_shared<const model::Job>(stored.order.job);
      all.push_back(std::move(stored));
    } catch (const Error& error) {
      problems.push_back(fmt::format("{}: {}", path, error.one_line()));
    }
  }
  return all;
}

}  // namespace underway::node
