// Machines that begin as another one was, and are somebody else: nothing that tells one from another is shared.
#include <set>

#include <boost/json/parse.hpp>

#include "base/json/json.hpp"
#include "harness/command.hpp"
#include "vm/clone/clone.hpp"
#include "vm/clone/identity.hpp"
#include "vm/state/lease.hpp"
#include "vm/tests/machines.hpp"

namespace underway::vm {
namespace {

class Clone : public MachineTest {
 protected:
  struct Running {
    driver::TaskSpec spec;
    std::unique_ptr<driver::TaskHandle> task;
  };

  void SetUp() override {
    MachineTest::SetUp();
    if (IsSkipped()) return;
    if (!os::exists(source_dir() + "/build/guest/agent")) GTEST_SKIP() << "needs qemu-guest-agent in build/guest";
    image_ = make_image();
    spec_.config = on_disk();
    start();
    origin_.emplace(kAddress);
    EXPECT_EQ(origin_->next(), 1U);
    // A guest that was booted answers when its agent does.
    machine().agent(seconds{120});
    checkpoint_ = machine().checkpoint(3).id;
    EXPECT_EQ(origin_->next(), 2U);
  }
  void TearDown() override {
    for (auto& clone : clones_) {
      if (!clone.task) continue;
      clone.task->stop(SIGKILL, {});
      ASSERT_TRUE(clone.task->wait(seconds{60}));
      clone.task->destroy();
    }
    clones_.clear();
    MachineTest::TearDown();
  }
  boost::json::object on_disk() const {
    return with_agent({{"disk", boost::json::parse(fmt::format(R"([{{"data": [{{"image": "{}"}}]}}])", image_))},
                       {"append", fmt::format("console=ttyS0 panic=-1 quiet address={}/24 data=/dev/vda", kAddress)}});
  }
  static std::string address(int number) { return fmt::format("10.99.0.{}", number); }
  driver::TaskSpec clone_spec(int number) const {
    auto spec = task_spec(fmt::format("clone{}", number), number);
    auto config = on_disk();
    config["name"] = fmt::format("clone{}", number);
    config["clone"] =
        boost::json::parse(fmt::format(R"([{{"machine": "web", "addresses": {{"lan": "{}/24"}}}}])", address(number)));
    spec.config = config;
    return spec;
  }
  std::string directory(int number) const { return fmt::format("{}/clone{}", machines_, number); }
  void start_clone(int number) {
    auto spec = clone_spec(number);
    auto task = make_driver()->start(spec);
    clones_.push_back({std::move(spec), std::move(task)});
  }
  bool on_the_network(const driver::TaskSpec& spec) const {
    // Its control socket is the driver's at the moment.
    const auto run = json::decode_text<vm::Run>(os::read_file(run_directory(spec) + "/run.json"));
    net::Netlink links(net::Namespace::current());
    const auto tap = links.find_link(run.machine.nics.at(0).tap);
    return tap && tap->master != 0;
  }

  std::string image_, checkpoint_;
  std::optional<Client> origin_;
  std::vector<Running> clones_;
};

TEST_F(Clone, NoTwoShareAnythingThatTellsThemApart) {
  for (const int number : {21, 22}) start_clone(number);
  Client first(address(21)), second(address(22));
  const std::vector<std::pair<std::string, std::string>> kQuestions = {
      {"hostname", "line /proc/sys/kernel/hostname"},
      {"hostname of the next boot", "line /etc/hostname"},
      {"machine id", "line /etc/machine-id"},
      {"hardware address", "line /sys/class/net/eth0/address"},
      {"address", "address"},
      {"key of its sshd", "line /etc/ssh/ssh_host_ed25519_key.pub"},
      {"random numbers", "random"}};
  for (const auto& [name, question] : kQuestions) {
    std::set<std::string> answers;
    for (auto* who : {&*origin_, &first, &second}) {
      const auto answer = who->ask(question);
      // The machine that they are clones of is nobody in particular: it has no keys and no id.
      if (who != &*origin_) EXPECT_THAT(answer, Not(testing::StartsWith("none"))) << name;
      answers.insert(answer);
    }
    EXPECT_EQ(answers.size(), 3U) << name << ": " << testing::PrintToString(answers);
  }
  EXPECT_EQ(first.ask("line /proc/sys/kernel/hostname"), "clone21");
  EXPECT_EQ(first.ask("address"), address(21));
  // Its clock is that of now.
  EXPECT_NEAR(std::stod(first.ask("time")), static_cast<double>(::time(nullptr)), 30);
  std::set<std::string> uuids, generations;
  for (const auto& clone : clones_) {
    const auto spec = Machine::open(run_directory(clone.spec)).spec();
    uuids.insert(spec.uuid);
    generations.insert(spec.generation);
  }
  uuids.insert(machine().spec().uuid);
  generations.insert(machine().spec().generation);
  EXPECT_EQ(uuids.size(), 3U);
  EXPECT_EQ(generations.size(), 3U);
}

TEST_F(Clone, GoesOnAsOfTheCheckpointWithADiskOfItsOwn) {
  start_clone(21);
  Client clone(address(21));
  // The second count was after the checkpoint.
  EXPECT_EQ(clone.next(), 2U);
  EXPECT_EQ(clone.next(), 3U);
  EXPECT_EQ(clone.ask("check"), "ok 3");
  EXPECT_EQ(origin_->next(), 3U);
  EXPECT_EQ(origin_->ask("check"), "ok 3");
  // It is a machine as any other: it sleeps, wakes as itself, and needs nothing of where it comes from.
  end();
  os::remove_tree(state());
  const auto spec = clones_[0].spec;
  Machine::open(run_directory(spec)).suspend();
  ASSERT_TRUE(clones_[0].task->wait(seconds{60}));
  clones_[0].task->destroy();
  clones_[0].task = make_driver()->start(spec);
  EXPECT_EQ(clone.next(), 4U);
  EXPECT_EQ(clone.ask("check"), "ok 4");
  EXPECT_EQ(clone.ask("line /proc/sys/kernel/hostname"), "clone21");
}

TEST_F(Clone, IsOnNoNetworkBeforeItsGuestKnowsWhoItIs) {
  auto spec = clone_spec(21);
  bool told = false;
  auto task = make_driver([&](const std::string& step) {
                if (step == "identify" || step == "attach") {
                  told = true;
                  EXPECT_FALSE(on_the_network(spec)) << step;
                }
              })->start(spec);
  EXPECT_TRUE(told);
  EXPECT_TRUE(on_the_network(spec));
  clones_.push_back({std::move(spec), std::move(task)});
}

TEST_F(Clone, AnAgentThatDiesInAnyStepLeavesOneThatIsSomebodyElseInTheEnd) {
  int number = 30;
  for (const auto* step : {"clone", "launch", "join", "incoming", "run", "forget", "identify", "attach"}) {
    SCOPED_TRACE(step);
    ++number;
    auto spec = clone_spec(number);
    ASSERT_TRUE(die_in(
        step, [&](const MachineOptions& o) { EXPECT_NE(make_driver(o.on_step)->start(spec).release(), nullptr); }));
    auto task = make_driver()->recover(spec);
    if (task->status().phase != driver::TaskStatus::Phase::running) {
      task->destroy();
      task = make_driver()->start(spec);
    }
    Client clone(address(number));
    EXPECT_EQ(clone.next(), 2U);
    EXPECT_EQ(clone.ask("check"), "ok 2");
    EXPECT_EQ(clone.ask("line /proc/sys/kernel/hostname"), fmt::format("clone{}", number));
    EXPECT_FALSE(find_identity(directory(number)));
    task->stop(SIGKILL, {});
    ASSERT_TRUE(task->wait(seconds{60}));
    task->destroy();
  }
}

TEST_F(Clone, OfAnotherKindOfMachineOrOfNoCheckpointIsRefused) {
  auto other = clone_spec(21);
  other.config.as_object()["vcpus"] = 2;
  EXPECT_THAT(failure([&] { make_driver()->start(other); }), HasSubstr("VCPUs is 2 and was 1"));
  auto none = clone_spec(22);
  none.config.as_object()["clone"] = boost::json::parse(R"([{"machine": "web", "checkpoint": "yesterday"}])");
  EXPECT_THAT(failure([&] { make_driver()->start(none); }), HasSubstr("there is no checkpoint 'yesterday' in"));
  EXPECT_EQ(lease_holder(directory(21)) + lease_holder(directory(22)), "");
}

}  // namespace
}  // namespace underway::vm
