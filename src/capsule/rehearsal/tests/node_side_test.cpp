// The stream "rehearsal.run", over a link in memory and with a real capsule.
#include "rehearsal/node_side.hpp"

#include "base/json/json.hpp"
#include "link/testing/socket_pair.hpp"
#include "os/file.hpp"
#include "tests/capsules.hpp"

namespace underway::rehearsal {
namespace {

using async::awaitable;
using std::chrono::seconds;
using testing::HasSubstr;

class RehearsalOverALink : public run::Capsules {
 protected:
  RehearsalOverALink() : tasks_of_link_(loop_.executor(), "test") {
    auto [server, node] = link::FakeSocket::pair();
    link::Handlers handlers;
    handlers.stream = [this](std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream) {
      return side_->serve(std::move(method), std::move(header), std::move(stream));
    };
    node_ = link::Connection::make(loop_.executor(), node, link::Side::dialler, handlers);
    server_ = link::Connection::make(loop_.executor(), server, link::Side::acceptor, {});
    tasks_of_link_.spawn("node", node_->run());
    tasks_of_link_.spawn("server", server_->run());
  }
  ~RehearsalOverALink() override {
    server_->abort();
    node_->abort();
    loop_.run_until_done(tasks_of_link_.stop());
  }

  void make_side() {
    Options options;
    options.driver = this->options();
    options.place = directory_ + "/rehearsals";
    options.cgroup = group_ + "/rehearsals";
    options.on_step = on_step_;
    side_.emplace(std::move(options));
    self_.name = "sms1";
    const auto no_server = [] { return nullptr; };
    loop_.run_until_done(side_->start({self_, directory_, loop_.executor(), pool_, no_server, clock_, loops_}));
  }

  awaitable<model::Rehearsal> ask(RehearsalRequest request) {
    auto header = json::to_value(request);
    const auto stream = co_await server_->open("rehearsal.run", std::move(header));
    stream->end();
    std::optional<model::Rehearsal> told;
    while (auto chunk = co_await stream->read()) {
      if (chunk->channel == link::Channel::control) told = json::decode<model::Rehearsal>(json::parse(chunk->bytes));
    }
    if (!told) throw Error(Code::internal, "the node told nothing");
    co_return *told;
  }

  awaitable<void> break_off(RehearsalRequest request) {
    auto header = json::to_value(request);
    const auto stream = co_await server_->open("rehearsal.run", std::move(header));
    while (!os::exists(directory_ + "/rehearsals/default/web")) co_await async::sleep_for(std::chrono::milliseconds{5});
    stream->reset(Error(Code::unavailable, "nobody waits"));
    while (os::exists(directory_ + "/rehearsals/default/web")) co_await async::sleep_for(std::chrono::milliseconds{5});
  }

  RehearsalRequest request(const run::TaskSpec& run) {
    RehearsalRequest request{
        .ns = "default", .name = "web", .group = "web", .image = {}, .snapshot = {}, .scripts = {}};
    request.job.id = "web";
    request.job.groups.emplace_back().name = "web";
    auto& task = request.job.groups.back().tasks.emplace_back();
    task.name = run.task;
    task.driver = "capsule";
    task.config = run.config;
    return request;
  }

  async::Loop loop_;
  async::Pool pool_{2};
  SystemClock clock_;
  async::LoopRegistry loops_{clock_};
  model::Node self_;
  std::function<void(const std::string&)> on_step_;
  std::optional<NodeSide> side_;
  std::shared_ptr<link::Connection> node_, server_;
  async::TaskGroup tasks_of_link_;
};

TEST_F(RehearsalOverALink, AnswersWithItsFindings) {
  make_side();
  const auto run = spec("web", config("exec sleep 1000"));
  auto& task = start(run);
  auto wanted = request(run);
  wanted.scripts = {{"raw", "#!/bin/sh\nprintf 'caf\\351\\n'\n"}};
  std::optional<model::Rehearsal> told;
  const auto all = [&]() -> awaitable<void> { told = co_await ask(wanted); };
  loop_.run_until_done(all());
  EXPECT_TRUE(told->passed()) << told->problem();
  EXPECT_EQ(told->findings.size(), 3U);
  EXPECT_EQ(told->findings.back().output, "caf?");
  EXPECT_FALSE(told->snapshot.empty());
  end(task);
  loop_.run_until_done(side_->stop());
}

TEST_F(RehearsalOverALink, HandsOnWhyItCannotBegin) {
  make_side();
  std::string why;
  auto wanted = request(spec("web", config("exec sleep 1000")));
  const auto all = [&]() -> awaitable<void> {
    try {
      co_await ask(wanted);
    } catch (const Error& e) {
      why = e.text();
    }
  };
  loop_.run_until_done(all());
  EXPECT_THAT(why, HasSubstr("has no overlay on this node"));
  loop_.run_until_done(side_->stop());
}

TEST_F(RehearsalOverALink, TellsOfAFailureThatNobodyThoughtOf) {
  on_step_ = [](const std::string&) { throw std::runtime_error("a library's own"); };
  make_side();
  const auto run = spec("web", config("exec sleep 1000"));
  auto& task = start(run);
  auto wanted = request(run);
  std::string why;
  const auto all = [&]() -> awaitable<void> {
    auto asked = ask(wanted);
    try {
      co_await async::within(seconds{20}, "the rehearsal", std::move(asked));
    } catch (const Error& e) {
      why = e.one_line();
    }
  };
  loop_.run_until_done(all());
  EXPECT_EQ(why, "the rehearsal failed unexpectedly: a library's own");
  end(task);
  loop_.run_until_done(side_->stop());
}

TEST_F(RehearsalOverALink, EndsWhenTheServerBreaksItOff) {
  make_side();
  const auto run = spec("web", config("exec sleep 1000"));
  auto& task = start(run);
  auto wanted = request(run);
  wanted.scripts = {{"slow", "#!/bin/sh\nsleep 1000\n"}};
  loop_.run_until_done(break_off(wanted));
  loop_.run_until_done(side_->stop());
  EXPECT_EQ(control(run).status().phase, "running");
  end(task);
}

}  // namespace
}  // namespace underway::rehearsal
