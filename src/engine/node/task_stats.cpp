#include "node/task_stats.hpp"

namespace underway::node {

namespace {

boost::json::object cpu_stats(double percent, double ticks, const TaskUsage& usage) {
  return {{"Percent", percent},
          {"TotalTicks", ticks},
          {"SystemMode", 0.0},
          {"UserMode", percent},
          {"ThrottledPeriods", 0},
          {"ThrottledTime", usage.cpu_throttled.count()},
          {"Measured", boost::json::array{"Percent", "Throttled Time"}}};
}

boost::json::object memory_stats(std::uint64_t used, std::uint64_t peak) {
  return {{"RSS", used},         {"Cache", 0},
          {"Swap", 0},           {"Usage", used},
          {"MaxUsage", peak},    {"KernelUsage", 0},
          {"KernelMaxUsage", 0}, {"Measured", boost::json::array{"Usage", "Max Usage"}}};
}

}  // namespace

boost::json::value UsageSamples::usage(const std::string& allocation_id,
                                       const std::map<std::string, std::shared_ptr<RunningTask>>& tasks,
                                       std::int64_t core_mhz, TimePoint now) {
  boost::json::object by_task;
  auto& previous = last_[allocation_id];
  double all_percent = 0;
  TaskUsage all;
  for (const auto& [name, task] : tasks) {
    const TaskUsage used = task->usage();
    const auto known = previous.find(name);
    const bool same_run = known != previous.end() && known->second.cpu_time <= used.cpu_time;
    const TimePoint since = same_run ? known->second.when : from_unix_nanos(task->started_at());
    const Duration spent = same_run ? used.cpu_time - known->second.cpu_time : used.cpu_time;
    const auto span = static_cast<double>((now - since).count());
    const double percent = span > 0 ? 100.0 * static_cast<double>(spent.count()) / span : 0.0;
    previous[name] = {now, used.cpu_time};
    all_percent += percent;
    all.memory_bytes += used.memory_bytes;
    all.memory_peak_bytes += used.memory_peak_bytes;
    all.cpu_throttled += used.cpu_throttled;
    by_task[name] = boost::json::object{
        {"Timestamp", unix_nanos(now)},
        {"Pids", nullptr},  // Nomad's map of each process
        {"Processes", used.pids},
        {"ResourceUsage",
         boost::json::object{{"CpuStats", cpu_stats(percent, percent / 100.0 * static_cast<double>(core_mhz), used)},
                             {"MemoryStats", memory_stats(used.memory_bytes, used.memory_peak_bytes)}}}};
  }
  return boost::json::object{
      {"Timestamp", unix_nanos(now)},
      {"Tasks", std::move(by_task)},
      {"ResourceUsage",
       boost::json::object{
           {"CpuStats", cpu_stats(all_percent, all_percent / 100.0 * static_cast<double>(core_mhz), all)},
           {"MemoryStats", memory_stats(all.memory_bytes, all.memory_peak_bytes)}}}};
}

}  // namespace underway::node
