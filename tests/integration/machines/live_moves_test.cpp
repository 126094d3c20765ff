// Virtual machines that go from node to node while they run: a server, two agents with their own directories, and two
// QEMUs that hear of each other by the agents' links alone. In the guest a program that was never told
// (guest_worker.cpp) has an open file, memory whose sum it knows, and a TCP connection.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <iostream>
#include <thread>

#include <boost/json/parse.hpp>

#include "harness/command.hpp"
#include "http/server.hpp"
#include "server/node/move_decisions.hpp"
#include "server/server.hpp"
#include "store/memory_store.hpp"
#include "vm/tests/machines.hpp"

namespace underway {
namespace {

using model::ArrivalPhase;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Row = tables::Row<model::Allocation>;

/// Somebody who does not stop counting.
class Counter {
 public:
  explicit Counter(vm::Client& client)
      : thread_([this, &client](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            const auto begun = std::chrono::steady_clock::now();
            // A translated guest that was stopped while it wrote may wait for its disk for a minute or two.
            const auto told = client.next(std::chrono::minutes{4});
            longest_ = std::max(longest_, std::chrono::steady_clock::now() - begun);
            if (told != last_ + 1) wrong_ = true;
            last_ = told;
            if (told == 0) return;
          }
        }) {}
  /// The last number; 0 when one was not the next.
  std::uint64_t end() {
    thread_.request_stop();
    thread_.join();
    return wrong_ ? 0 : last_;
  }
  auto longest() const { return std::chrono::duration_cast<milliseconds>(longest_).count(); }
  void begin_at(std::uint64_t last) { last_ = last; }

 private:
  std::uint64_t last_ = 1;
  bool wrong_ = false;
  std::chrono::steady_clock::duration longest_{0};
  std::jthread thread_;
};

class LiveMoves : public vm::MachineTest {
 protected:
  struct Agent {
    std::string name;
    pid_t pid = 0;
    std::string node_id = {};
  };

  void SetUp() override {
    MachineTest::SetUp();
    if (IsSkipped()) return;
    image_ = make_image();
    router_.add("GET", "/v1/underway/link", "link", [this](http::Request) { return accept(); });
    listener_ = std::make_unique<http::Server>(loop_.executor(), router_);
    listener_->listen(http::Endpoint{.socket_path = path_ + "/server.sock"});
    start_server();
    for (auto& agent : agents_) start(agent);
    ASSERT_TRUE(until([&] { return server_->linked_nodes() == 2; }));
    for (auto& agent : agents_)
      for (const auto& node : tables().nodes())
        if (node->name == agent.name) agent.node_id = node->id;
    server::RegisterJob request{job(), {}, {}};
    loop_.run_until_done(server_->apply(std::move(request)));
    ASSERT_TRUE(until([&] { return running() != nullptr; })) << told();
    client_.emplace(kAddress);
    EXPECT_EQ(client_->next(), 1U);
    boot_ = client_->ask("boot");
  }
  void TearDown() override {
    if (server_) {
      server::DeregisterJob request{.ns = "default", .id = "web"};
      loop_.run_until_done(server_->apply(std::move(request)));
      EXPECT_TRUE(until([&] { return qemus() == 0; })) << told();
      EXPECT_TRUE(until([&] { return rows([](const auto& row) { return !row.client_terminal(); }).empty(); }));
    }
    for (auto& agent : agents_) kill(agent);
    if (server_) {
      stop_server();
      loop_.run_until_done(listener_->stop(Duration{0}));
    }
    for (const auto& agent : agents_)
      if (auto left = os::Cgroup::find(cgroups_, cgroup_of(agent))) left->remove();
    if (HasFailure() && !path_.empty()) std::cerr << harness::shell("tail -n 60 " + path_ + "/*.log").out;
    MachineTest::TearDown();
  }

  model::Job job() const {
    model::Job job;
    job.id = job.name = "web";
    job.type = model::JobType::service;
    job.datacenters = {"dc1"};
    model::Task task;
    task.name = "machine";
    task.driver = "qemu";
    auto config =
        this->config({{"disk", boost::json::parse(fmt::format(R"([{{"data": [{{"image": "{}"}}]}}])", image_))},
                      {"append", fmt::format("console=ttyS0 panic=-1 quiet address={}/24 data=/dev/vda", kAddress)},
                      {"migrate", how_}});
    task.config = std::move(config);
    task.resources.cpu = 100;
    task.resources.memory_mb = 192;
    model::TaskGroup group;
    group.name = "g";
    group.tasks = {std::move(task)};
    job.groups = {std::move(group)};
    job.canonicalize();
    return job;
  }

  // --- who is there

  void start_server() {
    server::Options options;
    options.root_by_raw_exec = true;
    options.heartbeat_ttl = seconds(2);
    options.heartbeat_grace = seconds(2);
    server_ = std::make_unique<server::Server>(loop_.executor(), store_, server_clock_, ids_, options);
    server_->start();
  }
  void stop_server() {
    loop_.run_until_done(server_->stop());
    loop_.context().restart();
    loop_.context().poll();
    server_.reset();
  }
  async::awaitable<http::Response> accept() {
    if (!server_) throw Error(Code::unavailable, "the server is gone");
    http::Response response;
    response.upgrade = [this](std::shared_ptr<http::WebSocket> socket) {
      return server_->serve_link(std::move(socket), std::nullopt);
    };
    co_return response;
  }
  std::string cgroup_of(const Agent& agent) const { return parent_ + "-" + agent.name; }
  void start(Agent& agent, const std::string& dies_in = {}) {
    const auto program = binary_dir() + "/bin/machine_test_agent", directory = path_ + "/" + agent.name;
    const auto line = fmt::format("exec {} {} unix://{}/server.sock {} {} {} >> {}.log 2>&1", program, directory, path_,
                                  agent.name, cgroup_of(agent), dies_in, directory);
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    agent.pid = child;
  }
  static void kill(Agent& agent) {
    if (agent.pid == 0) return;
    ::kill(agent.pid, SIGKILL);
    ::waitpid(std::exchange(agent.pid, 0), nullptr, 0);
  }
  static bool has_died(Agent& agent) {
    if (agent.pid != 0 && ::waitpid(agent.pid, nullptr, WNOHANG) != agent.pid) return false;
    agent.pid = 0;
    return true;
  }
  Agent& agent_of(const Row& row) { return row->node_name == agents_[0].name ? agents_[0] : agents_[1]; }
  Agent& other_than(const Row& row) { return row->node_name == agents_[0].name ? agents_[1] : agents_[0]; }

  // --- what there is

  const tables::Tables& tables() { return server_->writer().tables(); }
  template <class Which>
  std::vector<Row> rows(Which which) {
    std::vector<Row> out;
    if (!server_) return out;
    for (const auto& row : tables().allocations_of_job("default", "web"))
      if (which(*row)) out.push_back(row);
    return out;
  }
  /// The one that is wanted and runs; null: none, or it is on its way.
  Row running() {
    const auto wanted = rows([](const auto& row) { return !row.terminal(); });
    const bool one = wanted.size() == 1 && wanted[0]->client_status == model::ClientStatus::running &&
                     !wanted[0]->awaits_machines() && !wanted[0]->sleeps();
    return one ? wanted[0] : nullptr;
  }
  Row coming() {
    const auto found = rows([](const auto& row) { return row.arrival && !row.terminal(); });
    return found.empty() ? nullptr : found.back();
  }
  /// Of this test: their files are below its directory.
  int qemus() const {
    return std::atoi(harness::shell("pgrep -c -f -- '^[^ ]*qemu-system.* -pidfile " + path_ + "'").out.c_str());
  }
  std::string told() {
    std::string out;
    for (const auto& row : rows([](const auto&) { return true; })) {
      out += fmt::format("{} on {}: {}, {}", row->id.substr(0, 8), row->node_name, describe::spell(row->desired_status),
                         describe::spell(row->client_status));
      if (row->arrival) out += fmt::format(", {} {}", describe::spell(row->arrival->phase), row->arrival->trouble);
      out += "\n";
      for (const auto& [name, task] : row->task_states)
        for (const auto& event : task.events) out += fmt::format("  {}: {}\n", event.type, event.message);
    }
    return out;
  }
  template <class Condition>
  bool until(Condition condition, Duration limit = seconds(90)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      loop_.context().restart();
      loop_.context().run_one_for(milliseconds(10));
    }
    return true;
  }

  // --- what is done

  void ask_to_move(const Row& row) {
    server::MoveAllocation request{.id = row->id, .to_node = other_than(row).node_id};
    loop_.run_until_done(server_->apply(std::move(request)));
  }
  /// It runs where it went to, or where it was: once, in the middle of what it did.
  Row expect_to_go_on(std::uint64_t count) {
    EXPECT_TRUE(until([&] { return running() != nullptr && qemus() == 1; })) << qemus() << "\n" << told();
    EXPECT_EQ(client_->next(), count + 1) << told();
    EXPECT_EQ(client_->ask("check"), fmt::format("ok {}", count + 1));
    EXPECT_EQ(client_->ask("boot"), boot_) << "it is the machine that it was";
    return running();
  }
  std::string moved_event(const Row& row) {
    for (const auto& event : row->task_states.at("machine").events)
      if (event.type == "Moved") return event.message;
    return {};
  }

  std::string how_ = "live", image_, boot_;
  async::Loop loop_;
  store::MemoryStore store_;
  SystemClock server_clock_;
  SystemIds ids_;
  http::Router router_;
  std::unique_ptr<http::Server> listener_;
  std::unique_ptr<server::Server> server_;
  Agent agents_[2] = {{"m1"}, {"m2"}};
  std::optional<vm::Client> client_;
};

TEST_F(LiveMoves, WhoSpeaksToItWaitsForTheLastOfItAlone) {
  std::uint64_t last = 1;
  for (int way = 0; way < 3; ++way) {
    const auto first = running();
    Counter counter(*client_);
    counter.begin_at(last);
    const auto begun = std::chrono::steady_clock::now();
    ask_to_move(first);
    ASSERT_TRUE(until([&] { return running() && running()->id != first->id; })) << told();
    const auto took = std::chrono::steady_clock::now() - begun;
    const auto second = running();
    EXPECT_TRUE(second->arrival->live) << told();
    EXPECT_NE(second->node_name, first->node_name);
    std::this_thread::sleep_for(milliseconds(300));
    last = counter.end();
    EXPECT_GT(last, 0U) << "a number was lost, or told twice";
    std::cerr << first->node_name << " to " << second->node_name << " in "
              << std::chrono::duration_cast<milliseconds>(took).count() << " ms: " << moved_event(second)
              << "; an answer took " << counter.longest() << " ms at most, " << last << " counted\n";
    expect_to_go_on(last);
    last += 1;
    EXPECT_TRUE(until([&] { return !os::exists(path_ + "/" + first->node_name + "/machines/web"); }))
        << "nothing of it is kept there";
    EXPECT_TRUE(until([&] {
      const auto old = tables().find_allocation(first->id);
      return old->client_status == model::ClientStatus::complete;
    })) << told();
  }
}

/// What it does is in memory and on the disk of exactly one node, whoever dies in the middle of what.
TEST_F(LiveMoves, WhoeverDiesOnTheNodeThatItLeaves) {
  std::uint64_t count = 1;
  for (const auto* step : {"copy", "send", "drain"}) {
    SCOPED_TRACE(step);
    const auto first = running();
    Agent& old = agent_of(first);
    kill(old);
    start(old, step);
    ask_to_move(first);
    ASSERT_TRUE(until([&] { return has_died(old); })) << told();
    // From then on it stands still, until the next agent looks.
    const bool stands = std::string_view(step) == "drain";
    if (!stands) EXPECT_EQ(client_->next(), ++count) << "it runs on, without an agent";
    start(old);
    const auto second = expect_to_go_on(count++);
    ASSERT_TRUE(second) << told();
    std::cerr << "killed in " << step << ": on " << second->node_name << ", "
              << (second->arrival ? second->arrival->trouble : "") << "\n";
  }
}

TEST_F(LiveMoves, WhoeverDiesOnTheNodeThatItComesTo) {
  std::uint64_t count = 1;
  for (const auto* step : {"launch", "join", "run"}) {
    SCOPED_TRACE(step);
    const auto first = running();
    Agent& next = other_than(first);
    kill(next);
    start(next, step);
    ASSERT_TRUE(until([&] { return server_->linked_nodes() == 2; }));
    ask_to_move(first);
    ASSERT_TRUE(until([&] { return has_died(next); })) << told();
    start(next);
    const auto second = expect_to_go_on(count++);
    ASSERT_TRUE(second) << told();
    const bool went = second->id != first->id;
    std::cerr << "killed in " << step << ": " << (went ? "it went" : "it stayed")
              << (went && second->arrival->live ? " while it ran" : "") << "\n";
    // Once it is entered as the other's it is that, and goes on from its memory there.
    if (std::string_view(step) == "run") EXPECT_TRUE(went && second->arrival->live) << told();
  }
}

TEST_F(LiveMoves, WhenBothAgentsDieWhileItStandsStill) {
  const auto first = running();
  ask_to_move(first);
  ASSERT_TRUE(until([&] { return coming() && coming()->arrival->phase == ArrivalPhase::arrived; })) << told();
  for (auto& agent : agents_) kill(agent);
  for (auto& agent : agents_) start(agent);
  const auto second = expect_to_go_on(1);
  ASSERT_TRUE(second);
  EXPECT_NE(second->id, first->id) << "that was decided";
}

TEST_F(LiveMoves, WhenTheServerDies) {
  std::uint64_t count = 1;
  for (const int wait : {0, 200, 500, 900}) {
    SCOPED_TRACE(wait);
    const auto first = running();
    ask_to_move(first);
    ASSERT_TRUE(until([&] { return coming() && coming()->arrival->phase != ArrivalPhase::expected; })) << told();
    until([] { return false; }, milliseconds(wait));
    stop_server();
    std::this_thread::sleep_for(seconds(1));
    start_server();
    const auto second = expect_to_go_on(count++);
    ASSERT_TRUE(second) << told();
    std::cerr << "after " << wait << " ms: " << (second->id == first->id ? "it stayed" : "it went")
              << (second->arrival && second->arrival->live ? " while it ran" : "") << "\n";
  }
}

TEST_F(LiveMoves, WhenAQemuDies) {
  const auto first = running();
  ask_to_move(first);
  ASSERT_TRUE(until([&] { return coming() && coming()->arrival->phase == ArrivalPhase::coming && qemus() == 2; }))
      << told();
  const auto target =
      fmt::format("pkill -KILL -f -- '^[^ ]*qemu-system.* -pidfile {}/{}/'", path_, other_than(first).name);
  ASSERT_EQ(harness::shell(target).exit_code, 0);
  const auto second = expect_to_go_on(1);
  ASSERT_TRUE(second) << told();
  EXPECT_NE(second->id, first->id) << "asleep";
  EXPECT_FALSE(second->arrival->live);
}

}  // namespace
}  // namespace underway
