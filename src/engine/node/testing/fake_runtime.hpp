#pragma once
/// @file
/// A Runtime whose clock moves when told to, and drivers whose tasks end when told to: for tests of the runners.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/event.hpp"
#include "base/error.hpp"
#include "node/runtime.hpp"

namespace underway::node {

class FakeProgram final : public Program {
 public:
  awaitable<ProgramResult> wait() override {
    while (!result) co_await changed.wait();
    co_return *result;
  }
  void kill() override { end({.signal = 9}); }
  void end(ProgramResult with) {
    result = std::move(with);
    changed.notify_all();
  }
  std::vector<std::string> argv;
  std::string input;
  std::optional<ProgramResult> result;
  async::Event changed;
};

class FakeRuntime final : public Runtime {
 public:
  async::Executor executor() override { return context.get_executor(); }
  TimePoint now() const override { return clock.now(); }
  double jitter() override { return jitter_value; }
  std::shared_ptr<void> after(Duration span, std::function<void()> callback) override {
    auto token = std::make_shared<int>();
    timers.emplace(clock.now() + span, std::pair{std::weak_ptr<int>(token), std::move(callback)});
    return token;
  }
  void on_pool(std::function<void()> job, std::function<void(std::exception_ptr)> done) override {
    asio::post(context, [job = std::move(job), done = std::move(done)] {
      std::exception_ptr failure;
      try {
        job();
      } catch (...) {
        failure = std::current_exception();
      }
      done(failure);
    });
  }
  std::shared_ptr<Program> start_program(std::vector<std::string> argv, std::string input, Duration) override {
    auto program = std::make_shared<FakeProgram>();
    program->argv = std::move(argv);
    program->input = std::move(input);
    programs.push_back(program);
    return program;
  }

  awaitable<ProbeAnswer> probe(ProbeRequest request) override {
    probes.push_back(request);
    co_return answer;
  }

  /// Lets everything happen that needs no time.
  void settle() {
    do context.restart();
    while (context.poll() > 0);
  }
  /// Moves the clock, stopping at each timer on the way.
  void advance(Duration span) {
    const TimePoint end = clock.now() + span;
    settle();
    while (!timers.empty() && timers.begin()->first <= end) {
      auto next = timers.extract(timers.begin());
      if (next.key() > clock.now()) clock.advance(next.key() - clock.now());
      if (!next.mapped().first.expired()) next.mapped().second();
      settle();
    }
    clock.advance(end - clock.now());
  }
  /// Runs `task` to its end; nothing else moves the clock meanwhile.
  void run(awaitable<void> task) {
    std::exception_ptr failure;
    bool done = false;
    asio::co_spawn(context, std::move(task), [&](std::exception_ptr thrown) {
      failure = thrown;
      done = true;
    });
    settle();
    if (failure) std::rethrow_exception(failure);
    if (!done) throw Error(Code::internal, "the task waits for something that does not happen");
  }

  asio::io_context context{1};
  VirtualClock clock;
  double jitter_value = 0.0;
  std::multimap<TimePoint, std::pair<std::weak_ptr<int>, std::function<void()>>> timers;
  std::vector<std::shared_ptr<FakeProgram>> programs;
  std::vector<ProbeRequest> probes;
  ProbeAnswer answer{.passed = true, .code = 200, .output = "fine"};  ///< to each probe
};

/// A command whose end the test decides.
class FakeSession final : public ExecSession {
 public:
  awaitable<std::optional<Output>> read() override {
    while (output.empty() && !result) co_await changed.wait();
    if (output.empty()) co_return std::nullopt;
    co_return Output{false, std::exchange(output, {})};
  }
  awaitable<void> write(std::string) override { co_return; }
  void end_input() override {}
  void resize(int, int) override {}
  awaitable<TaskEnd> wait() override {
    while (!result) co_await changed.wait();
    co_return *result;
  }
  void kill() override {
    ++kills;
    if (dies_when_killed) end(137);
  }
  void end(int exit_code, std::string text = {}) {
    output += text;
    result = TaskEnd{.exit_code = exit_code};
    changed.notify_all();
  }

  std::vector<std::string> command;
  std::string output;
  int kills = 0;
  bool dies_when_killed = true;
  std::optional<TaskEnd> result;
  async::Event changed;
};

class FakeTask final : public RunningTask {
 public:
  boost::json::value handle() const override { return {{"run", spec.attempt}}; }
  std::int64_t started_at() const override { return 1; }
  awaitable<TaskEnd> wait() override {
    while (!result) co_await changed.wait();
    co_return *result;
  }
  awaitable<void> forget() override {
    forgotten = true;
    co_return;
  }
  void signal(int number) override { signals.push_back(number); }
  void stop(int number, Duration timeout) override {
    stops.emplace_back(number, timeout);
    if (ends_when_stopped) end({.signal = number});
  }
  TaskUsage usage() override { return used; }
  awaitable<std::shared_ptr<ExecSession>> exec(std::vector<std::string> command, bool, int, int) override {
    auto session = std::make_shared<FakeSession>();
    session->command = std::move(command);
    sessions.push_back(session);
    if (on_exec) on_exec(*session);
    co_return session;
  }
  awaitable<void> pause() override { co_await take("pause"); }
  awaitable<void> resume() override { co_await take("resume"); }
  awaitable<void> suspend() override {
    co_await take("suspend");
    if (cannot_sleep) throw Error(Code::exhausted, "the disk is full");
    end({});
  }
  awaitable<protocol::TaskCheckpoint> checkpoint() override {
    co_await take("checkpoint");
    co_return protocol::TaskCheckpoint{{}, "c1", 1 << 20, 5};
  }
  awaitable<std::shared_ptr<ExecSession>> console() override { co_return co_await exec({"console"}, true, 80, 24); }
  std::string kept_in() const override { return keeps_in; }
  awaitable<protocol::LiveMachine> live() override { co_return how_live; }
  awaitable<Doors> departures() override { co_return Doors{}; }
  awaitable<protocol::Departure> depart() override {
    co_await take("depart");
    if (cannot_move) throw Error(Code::conflict, "its memory did not arrive");
    co_return protocol::Departure{.stood_still = std::chrono::milliseconds(3)};
  }
  awaitable<void> stay() override { co_await take("stay"); }
  awaitable<void> leave() override {
    co_await take("leave");
    end({});
  }
  awaitable<os::Fd> entrance(bool) override { co_return os::Fd(); }
  awaitable<void> await_memory() override { co_await take("await memory"); }
  awaitable<void> go_on() override {
    co_await take("go on");
    if (cannot_move) throw Error(Code::unavailable, "its QEMU has ended");
  }
  void end(TaskEnd with) {
    if (result) return;
    result = std::move(with);
    changed.notify_all();
  }

  LaunchSpec spec;
  bool ends_when_stopped = true;
  bool forgotten = false;
  TaskUsage used;
  std::vector<int> signals;
  std::vector<std::pair<int, Duration>> stops;
  std::vector<std::shared_ptr<FakeSession>> sessions;  ///< commands run beside it
  std::function<void(FakeSession&)> on_exec;
  std::optional<TaskEnd> result;
  async::Event changed;
  // What a machine is asked to do.
  bool is_machine = true;
  bool cannot_sleep = false;
  bool cannot_move = false;
  protocol::LiveMachine how_live;
  std::string keeps_in;            ///< a directory
  bool takes_long = false;         ///< while it is set, what was begun does not end
  std::vector<std::string> verbs;  ///< begun

 private:
  awaitable<void> take(const char* verb) {
    if (!is_machine) throw Error(Code::unsupported, "the task is no machine");
    verbs.emplace_back(verb);
    while (takes_long) co_await changed.wait();
  }
};

class FakeDrivers final : public TaskDrivers {
 public:
  std::optional<std::string> missing(const std::string& driver) const override {
    return driver == "fake" ? std::nullopt : std::optional<std::string>("this agent has no driver of that name");
  }
  std::vector<std::string> problems(const std::string&, const boost::json::value&) const override { return {}; }
  std::string default_user(const std::string&) const override { return std::to_string(::geteuid()); }
  TaskPaths paths(const std::string&, const AllocationDirectory& directory, const std::string& task) const override {
    return directory.host_paths(task);
  }
  awaitable<std::shared_ptr<RunningTask>> start(LaunchSpec spec) override {
    order.push_back(spec.task);
    if (before_start) before_start();
    if (!failures.empty()) {
      const Error failure = failures.front();
      failures.pop_front();
      throw failure;
    }
    auto task = std::make_shared<FakeTask>();
    task->spec = spec;
    task->ends_when_stopped = end_when_stopped;
    task->keeps_in = kept_in;
    running[spec.task] = task;
    co_return task;
  }
  awaitable<std::shared_ptr<RunningTask>> recover(LaunchSpec spec, boost::json::value) override {
    recovered.push_back(spec.task);
    const auto it = running.find(spec.task);
    if (it == running.end()) co_return nullptr;
    co_return it->second;
  }
  awaitable<void> discard(LaunchSpec spec) override {
    discarded.push_back(spec.task);
    co_return;
  }

  awaitable<std::vector<protocol::KeptBase>> bases(std::string, std::string) override { co_return on_bases; }
  awaitable<std::string> lacks(std::string, std::vector<protocol::KeptBase> asked) override {
    asked_bases = std::move(asked);
    co_return lacking;
  }
  awaitable<std::string> why_not_live(std::string, protocol::LiveMachine) override { co_return lacking_live; }

  awaitable<std::vector<protocol::TaskCheckpoint>> checkpoints(std::string, std::string) override { co_return kept; }

  awaitable<void> verify_checkpoint(std::string, std::string, std::string id) override {
    if (id == damaged) throw Error(Code::invalid, "a bit of it is wrong");
    co_return;
  }

  std::vector<protocol::TaskCheckpoint> kept;
  std::string damaged;  ///< one of these
  std::vector<protocol::KeptBase> on_bases, asked_bases;
  std::string kept_in;  ///< of machines that are started
  std::string lacking;  ///< why machines cannot be here
  std::string lacking_live = "it is translated";
  bool end_when_stopped = true;
  std::function<void()> before_start;
  std::deque<Error> failures;
  std::map<std::string, std::shared_ptr<FakeTask>> running;
  std::vector<std::string> order, recovered, discarded;
};

}  // namespace underway::node
