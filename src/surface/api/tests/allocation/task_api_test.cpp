#include "api/allocation/task_api.hpp"

#include <gtest/gtest.h>

#include "node/task/task_api.hpp"
#include "server/access/identities.hpp"
#include "tests/access.hpp"

namespace underway::api::testing {
namespace {

using server::testing::run_until;

/// A task of job "web" that runs on a linked node, and what it does with its Task API.
class TaskApiTest : public AccessTest {
 protected:
  explicit TaskApiTest(AccessOptions access = {.acl = true}, std::size_t connections = 100)
      : AccessTest(std::move(access)), tasks(world.loop.executor(), "test") {
    http::ServerOptions options;
    options.connection_limit = connections;
    served.emplace(world.loop.executor(), world.router, world.api, std::move(options));
    world.server.add_extension(std::string(protocol::kTaskApiStream), served->extension());
    world.peer = {.address = "unix", .uid = 0};
    node = &world.link(1);
    EXPECT_EQ(world.run(make_job("web")).status, 200);
    run_until(world.loop, [&] {
      const auto all = world.tables().allocations();
      return !all.empty() && all.front()->client_status == model::ClientStatus::running;
    });
    allocation = world.allocation_of("web");
    EXPECT_EQ(world.put("/v1/var/nomad/jobs/web", R"({"Items":{"password":"sesame"}})").status, 200);
  }
  ~TaskApiTest() override {
    world.loop.run_until_done(served->stop(Duration{0}));
    world.loop.run_until_done(tasks.stop());
  }

  void make_boss() { make_token("boss", ""); }
  /// The token of the task's own identity.
  std::string identity() {
    model::Allocation row = *world.tables().find_allocation(allocation);
    model::Job job = *row.job;
    job.groups[0].tasks[0].identities = {model::Identity{}};
    job.canonicalize();
    row.job = std::make_shared<const model::Job>(job);
    SystemIds random;
    return server::issue_identity(world.server.keyring(), row, "t", "default", "", {world.clock.now(), random}).token;
  }
  static std::string request(const std::string& method, const std::string& target, const std::string& token) {
    return method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n" +
           (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") + "\r\n";
  }
  std::shared_ptr<link::Stream> open(boost::json::object header) {
    return world.loop.run_until_done(node->connection->open("task.api", std::move(header)));
  }
  std::shared_ptr<link::Stream> open() { return open({{"Alloc", allocation}, {"Task", "t"}}); }
  void write(const std::shared_ptr<link::Stream>& stream, std::string bytes) {
    world.loop.run_until_done(stream->write(std::move(bytes)));
  }
  static awaitable<std::string> read_to(std::shared_ptr<link::Stream> stream, std::string mark) {
    std::string all;
    while (mark.empty() || all.find(mark) == std::string::npos) {
      auto chunk = co_await stream->read();
      if (!chunk) break;
      all += chunk->bytes;
    }
    co_return all;
  }
  std::string read(const std::shared_ptr<link::Stream>& stream, const std::string& mark = {}) {
    return world.loop.run_until_done(async::within(std::chrono::seconds(20), "an answer", read_to(stream, mark)));
  }
  /// The answer to one request on a connection of its own.
  std::string ask(const std::string& method, const std::string& target, const std::string& token) {
    const auto stream = open();
    std::string text = request(method, target, token);
    text.insert(text.size() - 2, "Connection: close\r\n");
    write(stream, text);
    return read(stream);
  }
  static std::string status_of(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }
  std::string status(const std::string& method, const std::string& target, const std::string& token) {
    return status_of(ask(method, target, token));
  }
  Code refusal(const std::string& alloc, const std::string& task) {
    try {
      read(open({{"Alloc", alloc}, {"Task", task}}));
    } catch (const Error& error) {
      return error.code();
    }
    return Code::internal;
  }

  async::TaskGroup tasks;
  std::optional<TaskApi> served;
  FakeNode* node = nullptr;
  std::string allocation;
};

class TaskApiWithoutAcl : public TaskApiTest {
 protected:
  TaskApiWithoutAcl() : TaskApiTest({.acl = false}) {}
};
class TaskApiThatIsFull : public TaskApiTest {
 protected:
  TaskApiThatIsFull() : TaskApiTest({.acl = true}, 1) {}
};

TEST_F(TaskApiTest, ServesATaskByItsIdentity) {
  const std::string answer = ask("GET", "/v1/var/nomad/jobs/web", identity());
  EXPECT_EQ(status_of(answer), "HTTP/1.1 200 OK");
  EXPECT_NE(answer.find("sesame"), std::string::npos) << answer;
  EXPECT_EQ(status("GET", "/v1/var/nomad/jobs/other", identity()), "HTTP/1.1 403 Forbidden");
  EXPECT_EQ(status("GET", "/v1/acl/tokens", identity()), "HTTP/1.1 403 Forbidden") << "nobody is root here";
}

TEST_F(TaskApiTest, ServesAnAclTokenAndManyRequestsOnOneConnection) {
  make_boss();
  const auto stream = open();
  write(stream, request("GET", "/v1/acl/tokens", "boss"));
  EXPECT_TRUE(read(stream, "]").starts_with("HTTP/1.1 200 "));
  write(stream, request("GET", "/v1/acl/tokens", "somebody"));
  EXPECT_TRUE(read(stream, "not found").starts_with("HTTP/1.1 403 ")) << "each request shows its own";
}

TEST_F(TaskApiTest, RefusesWhoShowsNoTokenAlsoWhatIsOpenElsewhere) {
  for (const auto& route : world.routes) {
    if (route.right.kind != Right::Kind::open) continue;
    const std::string method = split(route.methods, '|').front();
    EXPECT_EQ(status(method, route.pattern, ""), "HTTP/1.1 401 Unauthorized") << route.pattern;
  }
  EXPECT_EQ(status("GET", "/nowhere", ""), "HTTP/1.1 401 Unauthorized");
  EXPECT_EQ(status("GET", "/v1/jobs", ""), "HTTP/1.1 401 Unauthorized");
  EXPECT_EQ(status("GET", "/v1/status/leader", identity()), "HTTP/1.1 200 OK");
}

TEST_F(TaskApiTest, RefusesWhoShowsNoTokenAlsoWhereAnonymousMayRead) {
  put(tables::PutAclPolicy{{"anonymous", "", "node { policy = \"read\" }", {}, 0, 0}});
  EXPECT_EQ(status("GET", "/v1/nodes", ""), "HTTP/1.1 401 Unauthorized");
}

TEST_F(TaskApiTest, RefusesTokensThatAreNone) {
  std::string forged = identity();
  forged.back() = forged.back() == 'A' ? 'Q' : 'A';
  for (const std::string& token : {std::string("somebody"), forged, std::string("eyJ.eyJ.x"), std::string("eyJ..")})
    EXPECT_EQ(status("GET", "/v1/status/leader", token), "HTTP/1.1 403 Forbidden") << token;
}

TEST_F(TaskApiWithoutAcl, AsksForATokenAllTheSame) {
  EXPECT_EQ(status("GET", "/v1/jobs", ""), "HTTP/1.1 401 Unauthorized");
  EXPECT_EQ(status("GET", "/v1/jobs", "somebody"), "HTTP/1.1 403 Forbidden");
  EXPECT_EQ(status("GET", "/v1/jobs", identity()), "HTTP/1.1 200 OK");
  EXPECT_EQ(status("GET", "/v1/var/nomad/jobs/web", identity()), "HTTP/1.1 200 OK");
}

TEST_F(TaskApiTest, IsForTasksThatRunOnTheNodeAlone) {
  EXPECT_EQ(refusal(uuid(77), "t"), Code::denied) << "an allocation that nobody knows";
  EXPECT_EQ(refusal(allocation, "other"), Code::denied) << "a task that it does not have";
  EXPECT_EQ(refusal("", ""), Code::denied);
  FakeNode* const first = node;
  node = &world.link(2);
  EXPECT_EQ(refusal(allocation, "t"), Code::denied) << "the allocation of another node";
  node = first;
  model::AllocationUpdate over;
  over.id = allocation;
  over.client_status = model::ClientStatus::complete;
  world.update(node->id(), over);
  EXPECT_EQ(refusal(allocation, "t"), Code::denied) << "one that is over";
}

TEST_F(TaskApiTest, StreamsUntilTheTaskHangsUp) {
  make_boss();
  const auto stream = open();
  write(stream, request("GET", "/v1/event/stream?topic=Job", "boss"));
  EXPECT_TRUE(read(stream, "\r\n\r\n").starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(world.run(make_job("other")).status, 200);
  EXPECT_NE(read(stream, "JobRegistered").find("\"Key\":\"other\""), std::string::npos);
  EXPECT_EQ(served->connections(), 1U);
  stream->end();
  run_until(world.loop, [&] { return served->connections() == 0; });
}

TEST_F(TaskApiTest, EndsAConnectionWithTheLink) {
  const auto stream = open();
  write(stream, request("GET", "/v1/status/leader", identity()));
  EXPECT_NE(read(stream, "\r\n\r\n"), "");
  EXPECT_EQ(served->connections(), 1U);
  node->cut();
  run_until(world.loop, [&] { return served->connections() == 0; });
}

TEST_F(TaskApiThatIsFull, SaysSo) {
  const auto first = open();
  write(first, request("GET", "/v1/status/leader", identity()));
  EXPECT_NE(read(first, "\r\n\r\n"), "");
  EXPECT_EQ(status_of(read(open())), "HTTP/1.1 503 Service Unavailable");
}

}  // namespace
}  // namespace underway::api::testing
