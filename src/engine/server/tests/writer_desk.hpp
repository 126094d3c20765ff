#pragma once
/// @file
/// A writer over a store that commits only when the test says so.

#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"
#include "server/writer.hpp"

namespace underway::server::testing {

using async::awaitable;

class WriterTest : public ::testing::Test {
 protected:
  WriterTest() : tasks(loop.executor(), "test") {
    tables.follow(&fleet);
    writer = std::make_unique<Writer>(loop.executor(), store, tables, fleet, clock, ids, true);
  }
  ~WriterTest() override {
    tasks.cancel();
    while (store.step()) {
    }
    poll();
    writer.reset();
  }

  void poll() {
    loop.context().restart();
    loop.context().poll();
  }
  /// Lets everything happen that can.
  void settle() {
    do {
      poll();
    } while (store.step());
    poll();
  }

  struct Outcome {
    bool done = false;
    std::string failure;
    Registered registered;
  };
  static awaitable<void> register_into(Writer& writer, model::Job job, Outcome& outcome) {
    auto decide = [job](const Tables& t, const Context& c) { return decide_register(t, {job, {}, {}}, c); };
    try {
      outcome.registered = co_await writer.submit(std::move(decide));
    } catch (const Error& error) {
      outcome.failure = error.one_line();
    }
    outcome.done = true;
  }
  void begin(model::Job job, Outcome& outcome) {
    tasks.spawn("register", register_into(*writer, std::move(job), outcome));
  }
  void put(Change change) {
    auto decide = [change](const Tables&, const Context&) {
      Decision<Nothing> decision;
      decision.changes.push_back(change);
      return decision;
    };
    auto run = [](Writer& w, decltype(decide) d) -> awaitable<void> { co_await w.submit(std::move(d)); };
    tasks.spawn("put", run(*writer, std::move(decide)));
    settle();
  }
  void put_node(int number) {
    model::Node node = make_node(number);
    node.status = model::NodeStatus::ready;
    node.computed_class = model::compute_class(node);
    put(tables::PutNode{node});
  }

  async::Loop loop;
  store::MemoryStore store{store::MemoryStore::Mode::stepped};
  Tables tables;
  scheduler::Fleet fleet;
  VirtualClock clock;
  SeededIds ids{3};
  std::unique_ptr<Writer> writer;
  async::TaskGroup tasks;
};

}  // namespace underway::server::testing
