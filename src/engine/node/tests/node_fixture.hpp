#pragma once
/// @file
/// An agent of the node role as a process of its own, with keepers and drivers, and a server that is the test.

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "base/text.hpp"
#include "fake_server.hpp"
#include "harness/places.hpp"

namespace underway::node {

using model::ClientStatus;

inline const std::string kBin = binary_dir() + "/bin";

class NodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    start_agent();
  }
  void TearDown() override {
    if (!agent) return;
    if (server.connection && server.connection->is_open()) {
      protocol::AllocationsMessage nothing;
      nothing.full = true;
      server.send(nothing);
      EXPECT_TRUE(server.until([&] {
        return !os::exists(data() + "/alloc") || os::list_directory(data() + "/alloc").empty();
      })) << "directories are left";
    }
    agent->kill();
    for (const auto& pid : started) EXPECT_FALSE(alive(pid)) << "process " << pid << " is left";
    // Drivers leave the topmost group, which others may share; nothing must be below it.
    const auto system = os::CgroupSystem::probe();
    for (const auto& [controller, mount] : system.v1_mounts()) {
      const std::string group = mount + "/underway-node-test";
      EXPECT_TRUE(!os::exists(group) || ::rmdir(group.c_str()) == 0) << group << " is not empty";
    }
    if (!system.v2_mount().empty()) ::rmdir((system.v2_mount() + "/underway-node-test").c_str());
    // What fails here is not to fail in the next test as well: with this goes whatever is left.
    const auto left = os::Cgroup::find(system, "underway-node-test");
  }

  std::string data() const { return directory.path() + "/data"; }
  void start_agent() {
    const int before = server.registrations;
    os::SpawnSpec spec;
    spec.argv = {kBin + "/node_test_agent", data(), server.address(), kBin + "/underway-keeper",
                 kBin + "/underway-fetch"};
    spec.env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
    spec.err = 2;
    spec.out = 2;
    agent.emplace(os::spawn(spec));
    ASSERT_TRUE(server.until([&] { return server.registrations > before; })) << "the agent does not register";
  }
  std::vector<std::string> rights{"node"};  ///< of the orders to come
  static bool alive(pid_t pid) {
    const auto identity = os::process_identity(pid);
    return identity && os::is_running(*identity);
  }

  static model::Task task(const std::string& driver, std::vector<std::string> command) {
    model::Task out;
    out.name = "main";
    out.driver = driver;
    boost::json::array args;
    for (std::size_t i = 1; i < command.size(); ++i) args.emplace_back(command[i]);
    out.config = boost::json::object{{"command", command[0]}, {"args", args}};
    return out;
  }
  static model::Task shell(const std::string& script, const std::string& driver = "raw_exec") {
    return task(driver, {"/bin/sh", "-c", script});
  }
  /// A task that gives no restart policy is not restarted.
  std::string run(model::Task main, model::JobType type = model::JobType::batch,
                  std::optional<model::DisconnectStrategy> disconnect = {},
                  std::vector<model::AllocatedPort> ports = {}) {
    if (!main.restart) main.restart = model::RestartPolicy{.attempts = 0};
    auto order = make_order({std::move(main)}, type);
    order.job.id = fmt::format("job-{}", ++jobs);
    order.job.groups[0].disconnect = disconnect;
    order.order.allocation.resources.ports = std::move(ports);
    order.order.allocation.job_id = order.job.id;
    order.order.allocation.id = ids.uuid();
    protocol::AllocationsMessage message;
    message.jobs[protocol::job_key(order.job)] = order.job;
    order.order.host_rights = rights;
    message.set = {order.order};
    message.origin = origin;
    server.send(message);
    return order.order.allocation.id;
  }
  std::string path(const std::string& id, const std::string& rest) const {
    return data() + "/alloc/" + id + "/" + rest;
  }
  boost::json::value of(const std::string& id) {
    return boost::json::object{{"id", id}, {"alloc", id}, {"task", "main"}};
  }
  pid_t pid_of(const std::string& id) {
    const std::string file = path(id, "alloc/data/pid");
    if (!server.until([&] { return os::find_file(file).value_or("").ends_with("\n"); })) return -1;
    const pid_t pid = std::stoi(os::read_file(file));
    started.push_back(pid);
    return pid;
  }

  TemporaryDirectory directory{"/tmp"};
  FakeServer server{directory.path()};
  SystemIds ids;
  protocol::Origin origin;  ///< of what run() orders
  std::optional<os::Child> agent;
  std::vector<pid_t> started;
  int jobs = 0;
};

}  // namespace underway::node
