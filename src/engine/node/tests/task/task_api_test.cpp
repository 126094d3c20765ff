#include "node/task/task_api.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "link/testing/socket_pair.hpp"
#include "tests/runner_fixture.hpp"

namespace underway::node {
namespace {

/// What a task does: connects to the socket in its secrets directory, and talks.
class Client {
 public:
  explicit Client(const std::string& secrets) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const os::Fd directory = os::open_directory(secrets);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    fmt::format("/proc/self/fd/{}/api.sock", directory.get()).copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  bool connected() const { return connected_; }
  void send(const std::string& text) const { os::write_all(fd_, text, "the socket"); }
  /// What has come; nothing when it has ended.
  std::optional<std::string> read() const {
    std::string text(1 << 16, '\0');
    const auto got = ::recv(fd_.get(), text.data(), text.size(), MSG_DONTWAIT);
    if (got == 0) return std::nullopt;
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

 private:
  os::Fd fd_;
  bool connected_ = false;
};

/// A node that runs an allocation on fakes, linked to a server that answers each piece with "you said: …".
class TaskApiTest : public RunnerTest {
 protected:
  TaskApiTest() {
    // Longer than fits into an address.
    options.data_dir = directory.path() + "/" + std::string(100, 'd');
    context.task_api = &api;
  }
  ~TaskApiTest() override {
    drop();
    unlink_server();
    os::remove_tree(options.data_dir);
  }

  awaitable<std::shared_ptr<link::Stream>> open(std::string method, boost::json::value header) {
    if (!link) throw Error(Code::unavailable, "this node is not linked to a server");
    EXPECT_EQ(method, "task.api");
    headers.push_back(header);
    co_return co_await link->open(std::move(method), std::move(header));
  }
  void link_server() {
    const auto [mine, theirs] = link::FakeSocket::pair();
    link::Handlers handlers;
    handlers.stream = [this](std::string, boost::json::value, std::shared_ptr<link::Stream> stream) {
      return serve(std::move(stream));
    };
    link = link::Connection::make(runtime.executor(), mine, link::Side::dialler, {});
    server = link::Connection::make(runtime.executor(), theirs, link::Side::acceptor, std::move(handlers));
    for (const auto& end : {link, server}) asio::co_spawn(runtime.context, run_link(end), asio::detached);
    runtime.settle();
  }
  void unlink_server() {
    if (link) link->abort();
    runtime.settle();
    link.reset();
    server.reset();
  }
  static awaitable<void> run_link(std::shared_ptr<link::Connection> end) {
    try {
      co_await end->run();
    } catch (const Error&) {  // the test cut it
    }
  }
  awaitable<void> serve(std::shared_ptr<link::Stream> stream) {
    if (!refusal.empty()) throw Error(Code::denied, refusal);
    while (auto chunk = co_await stream->read()) co_await stream->write("you said: " + chunk->bytes);
  }

  std::string secrets(const std::string& task = "main") const {
    return AllocationDirectory(options.data_dir, kAllocationId).task(task) + "/secrets";
  }
  std::optional<std::string> ask(const Client& client, const std::string& text) {
    client.send(text);
    runtime.settle();
    return client.read();
  }
  bool has_socket(const std::string& task) const {
    struct stat status{};
    return ::lstat((secrets(task) + "/api.sock").c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
  }

  std::shared_ptr<link::Connection> link, server;
  std::vector<boost::json::value> headers;
  std::string refusal;
  TaskApi api{runtime.executor(), [this](std::string method, boost::json::value header) {
                return open(std::move(method), std::move(header));
              }};
};

TEST_F(TaskApiTest, IsThereBeforeATaskStartsAndOpenToWhoeverGetsThere) {
  std::vector<std::string> without;
  drivers.before_start = [&] {
    if (!has_socket(drivers.order.back())) without.push_back(drivers.order.back());
  };
  run(make_order({make_hook("first", model::LifecycleHook::prestart), make_task("main")}));
  end("first", {});
  EXPECT_EQ(drivers.order, (std::vector<std::string>{"first", "main"}));
  EXPECT_EQ(without, std::vector<std::string>{});
  struct stat status{};
  ASSERT_EQ(::lstat((secrets() + "/api.sock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0666U);
  EXPECT_EQ(os::list_directory(secrets()).size(), 1U) << "nothing else is left there";
}

TEST_F(TaskApiTest, CarriesAConnectionOverTheLinkAndSaysWhoseItIs) {
  link_server();
  run(make_order({make_task("main")}));
  const Client client(secrets());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(ask(client, "one"), "you said: one");
  EXPECT_EQ(ask(client, "two"), "you said: two");
  ASSERT_EQ(headers.size(), 1U);
  EXPECT_EQ(headers[0].at("Alloc").as_string(), kAllocationId);
  EXPECT_EQ(headers[0].at("Task").as_string(), "main");
}

TEST_F(TaskApiTest, AnswersItselfWhenThereIsNoLink) {
  run(make_order({make_task("main")}));
  const Client early(secrets());
  runtime.settle();
  EXPECT_TRUE(ask(early, "GET / HTTP/1.1\r\n\r\n").value_or("").starts_with("HTTP/1.1 503 "))
      << "who sends only now is not hung up on";
  const Client client(secrets());
  const std::string answer = ask(client, "GET / HTTP/1.1\r\n\r\n").value_or("");
  const auto body = answer.find("\r\n\r\n") + 4;
  EXPECT_EQ(answer.substr(body),
            "the Task API of task 'main' cannot be reached: this node is not linked to a server; try again\n");
  EXPECT_NE(answer.find(fmt::format("Content-Length: {}\r\n", answer.size() - body)), std::string::npos) << answer;
  EXPECT_EQ(client.read(), std::nullopt) << "and it ends";

  link_server();
  EXPECT_EQ(ask(Client(secrets()), "again"), "you said: again");
}

TEST_F(TaskApiTest, TellsWhyTheServerRefused) {
  link_server();
  refusal = "the allocation is over";
  run(make_order({make_task("main")}));
  const Client client(secrets());
  const std::string answer = ask(client, "x").value_or("");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  EXPECT_TRUE(answer.ends_with("cannot be reached: the allocation is over\n")) << answer;
}

TEST_F(TaskApiTest, EndsAConnectionWithItsLink) {
  link_server();
  run(make_order({make_task("main")}));
  const Client client(secrets());
  EXPECT_EQ(ask(client, "one"), "you said: one");
  unlink_server();
  EXPECT_EQ(client.read(), std::nullopt) << "no second answer is put behind the first";
}

TEST_F(TaskApiTest, TakesABoundedNumberOfConnectionsOfATask) {
  link_server();
  run(make_order({make_task("main"), make_task("other")}));
  std::vector<std::unique_ptr<Client>> open;
  for (std::size_t i = 0; i < TaskApi::kPerTask; ++i) {
    open.push_back(std::make_unique<Client>(secrets()));
    EXPECT_EQ(ask(*open.back(), "x"), "you said: x") << i;
  }
  const std::string refused = ask(Client(secrets()), "x").value_or("");
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
  EXPECT_NE(refused.find("the limit is 32"), std::string::npos) << refused;
  EXPECT_EQ(ask(Client(secrets("other")), "x"), "you said: x") << "others are not shut out";
  open.pop_back();
  runtime.settle();
  EXPECT_EQ(ask(Client(secrets()), "x"), "you said: x") << "there is room again";
}

TEST_F(TaskApiTest, LeavesRoomOnTheLinkHoweverManyTasksAsk) {
  link_server();
  std::vector<model::Task> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(make_task(fmt::format("t{}", i)));
  run(make_order(std::move(tasks)));
  std::vector<std::unique_ptr<Client>> open;
  std::size_t served = 0;
  for (int i = 0; i < 5; ++i) {
    for (std::size_t n = 0; n < TaskApi::kPerTask; ++n) {
      open.push_back(std::make_unique<Client>(secrets(fmt::format("t{}", i))));
      served += ask(*open.back(), "x") == "you said: x";
    }
  }
  EXPECT_EQ(served, TaskApi::kPerNode);
  EXPECT_LT(TaskApi::kPerNode, link::ConnectionOptions().streams_limit);
}

TEST_F(TaskApiTest, IsThereAgainForAnAgentThatFindsTheTask) {
  link_server();
  run(make_order({make_task("main")}));
  restart_agent();
  EXPECT_EQ(drivers.recovered, std::vector<std::string>{"main"});
  EXPECT_EQ(ask(Client(secrets()), "x"), "you said: x");
}

TEST_F(TaskApiTest, ReplacesWhateverTheTaskPutThereAndFollowsNoLink) {
  link_server();
  run(make_order({make_task("main")}));
  const std::string precious = directory.path() + "/precious", socket = secrets() + "/api.sock";
  os::write_file(precious, "mine", 0600);
  os::remove_tree(socket);
  ASSERT_EQ(::symlink(precious.c_str(), socket.c_str()), 0);
  restart_agent();
  EXPECT_TRUE(has_socket("main"));
  EXPECT_EQ(ask(Client(secrets()), "x"), "you said: x");
  struct stat status{};
  ASSERT_EQ(::stat(precious.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(os::read_file(precious), "mine");
}

TEST_F(TaskApiTest, IsNotMadeElsewhereAndTheTaskRunsOnWithout) {
  run(make_order({make_task("main")}));
  const std::string elsewhere = options.data_dir + "/elsewhere";
  os::make_directories(elsewhere);
  os::remove_tree(secrets());
  ASSERT_EQ(::symlink(elsewhere.c_str(), secrets().c_str()), 0);
  restart_agent();
  EXPECT_TRUE(os::list_directory(elsewhere).empty());
  EXPECT_EQ(state().state, model::TaskRunState::running);
  EXPECT_NE(state().events.back().message.find("There is no Task API for this task"), std::string::npos);
}

TEST_F(TaskApiTest, GoesWithTheAllocation) {
  link_server();
  run(make_order({make_task("main")}, model::JobType::batch));
  const Client client(secrets());
  EXPECT_EQ(ask(client, "x"), "you said: x");
  end("main", {});
  EXPECT_EQ(client.read(), std::nullopt);
  EXPECT_FALSE(Client(secrets()).connected());
  runtime.run(runner->remove_directories());
  EXPECT_FALSE(os::exists(secrets()));
}

}  // namespace
}  // namespace underway::node
