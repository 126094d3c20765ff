#pragma once
/// @file
/// A directory of its own for each test, and small jobs.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "node/allocation/allocation_directory.hpp"
#include "node/allocation/allocation_runner.hpp"
#include "node/testing/fake_runtime.hpp"
#include "os/file.hpp"

namespace underway::node {

class TemporaryDirectory {
 public:
  /// In memory by default: replacing a file on ext4 costs a millisecond (auto_da_alloc), and there are many.
  explicit TemporaryDirectory(const std::string& base = "/dev/shm") {
    path_ = base + "/underway-node-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) throw errno_error(errno, "cannot make a directory in " + base);
    ::chmod(path_.c_str(), 0755);
  }
  ~TemporaryDirectory() {
    if (os::exists(path_ + "/alloc")) (void)remove_strays(path_, {});
    os::remove_tree(path_);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline constexpr const char* kAllocationId = "6d3f5a0e-1c6b-4a8e-9f43-0b8d6a5c7e21";

inline model::Task make_task(const std::string& name) {
  model::Task task;
  task.name = name;
  task.driver = "fake";
  return task;
}

inline model::Task make_hook(const std::string& name, model::LifecycleHook hook, bool sidecar = false) {
  model::Task task = make_task(name);
  task.lifecycle = model::Lifecycle{hook, sidecar};
  return task;
}

inline StoredOrder make_order(std::vector<model::Task> tasks, model::JobType type = model::JobType::service) {
  model::Job job;
  job.id = job.name = "web";
  job.type = type;
  job.groups.emplace_back();
  job.groups[0].name = "api";
  job.groups[0].tasks = std::move(tasks);
  job.canonicalize();
  StoredOrder order;
  order.job = job;
  order.order.host_rights = {"node"};
  model::Allocation& allocation = order.order.allocation;
  allocation.id = kAllocationId;
  allocation.name = "web.api[3]";
  allocation.job_id = "web";
  allocation.group = "api";
  allocation.job = std::make_shared<const model::Job>(job);
  return order;
}

inline std::vector<std::string> event_types(const model::TaskState& state) {
  std::vector<std::string> types;
  for (const auto& event : state.events) types.push_back(event.type);
  return types;
}

}  // namespace underway::node
