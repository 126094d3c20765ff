#include "node/task/task_stats.hpp"

namespace underway::node {

namespace {

boost::json::object cpu_stats(const TaskSample& sample, std::int64_t core_mhz) {
  return {
      {"Percent", sample.percent},
      {"TotalTicks", sample.percent / 100.0 * static_cast<double>(core_mhz)},
      {"SystemMode", sample.system},
      {"UserMode", sample.user},
      {"ThrottledPeriods", sample.used.cpu_throttled_periods},
      {"ThrottledTime", sample.used.cpu_throttled.count()},
      {"Measured", boost::json::array{"Percent", "System Mode", "User Mode", "Throttled Periods", "Throttled Time"}}};
}

boost::json::object memory_stats(const TaskUsage& used) {
  return {{"RSS", used.memory_anonymous_bytes},
          {"Cache", used.memory_file_bytes},
          {"Swap", used.memory_swap_bytes},
          {"Usage", used.memory_bytes},
          {"MaxUsage", used.memory_peak_bytes},
          {"KernelUsage", used.memory_kernel_bytes},
          {"KernelMaxUsage", 0},  // no kernel counts it any more
          {"Measured", boost::json::array{"RSS", "Cache", "Swap", "Usage", "Max Usage", "Kernel Usage"}}};
}

void add(TaskSample& sum, const TaskSample& sampled) {
  sum.percent += sampled.percent;
  sum.user += sampled.user;
  sum.system += sampled.system;
  TaskUsage& all = sum.used;
  all.memory_bytes += sampled.used.memory_bytes;
  all.memory_peak_bytes += sampled.used.memory_peak_bytes;
  all.memory_anonymous_bytes += sampled.used.memory_anonymous_bytes;
  all.memory_file_bytes += sampled.used.memory_file_bytes;
  all.memory_kernel_bytes += sampled.used.memory_kernel_bytes;
  all.memory_swap_bytes += sampled.used.memory_swap_bytes;
  all.cpu_throttled += sampled.used.cpu_throttled;
  all.cpu_throttled_periods += sampled.used.cpu_throttled_periods;
}

}  // namespace

TaskSample UsageSamples::sample(const std::string& allocation_id, const std::string& name, RunningTask& running,
                                TimePoint now) {
  TaskSample out{.used = running.usage()};
  auto& previous = last_[allocation_id];
  const auto known = previous.find(name);
  const bool same_run = known != previous.end() && known->second.cpu_time <= out.used.cpu_time;
  const Last before = same_run ? known->second : Last{.when = from_unix_nanos(running.started_at())};
  const auto span = static_cast<double>((now - before.when).count());
  const auto share = [span](Duration spent) {
    return span > 0 && spent > Duration{0} ? 100.0 * static_cast<double>(spent.count()) / span : 0.0;
  };
  out.percent = share(out.used.cpu_time - before.cpu_time);
  out.user = share(out.used.cpu_user - before.cpu_user);
  out.system = share(out.used.cpu_system - before.cpu_system);
  previous[name] = {now, out.used.cpu_time, out.used.cpu_user, out.used.cpu_system};
  return out;
}

boost::json::value UsageSamples::usage(const std::string& allocation_id,
                                       const std::map<std::string, std::shared_ptr<RunningTask>>& tasks,
                                       std::int64_t core_mhz, TimePoint now) {
  boost::json::object by_task;
  TaskSample all;
  for (const auto& [name, task] : tasks) {
    const TaskSample sampled = sample(allocation_id, name, *task, now);
    add(all, sampled);
    by_task[name] =
        boost::json::object{{"Timestamp", unix_nanos(now)},
                            {"Pids", nullptr},  // Nomad's map of each process
                            {"Processes", sampled.used.pids},
                            {"ResourceUsage", boost::json::object{{"CpuStats", cpu_stats(sampled, core_mhz)},
                                                                  {"MemoryStats", memory_stats(sampled.used)},
                                                                  {"DeviceStats", nullptr}}}};
  }
  return boost::json::object{{"Timestamp", unix_nanos(now)},
                             {"Tasks", std::move(by_task)},
                             {"ResourceUsage", boost::json::object{{"CpuStats", cpu_stats(all, core_mhz)},
                                                                   {"MemoryStats", memory_stats(all.used)},
                                                                   {"DeviceStats", nullptr}}}};
}

}  // namespace underway::node
