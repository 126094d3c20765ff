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
    RegisterJob wanted{std::move(job), {}, {}};
    try {
      outcome.registered = co_await writer.apply(std::move(wanted));
    } catch (const Error& error) {
      outcome.failure = error.one_line();
    }
    outcome.done = true;
  }
  void begin(model::Job job, Outcome& outcome) {
    tasks.spawn("register", register_into(*writer, std::move(job), outcome));
  }
  template <Request R>
  static awaitable<void> hand_in(Writer& writer, R request) {
    co_await writer.apply(std::move(request));
  }
  /// To be decided about when the test lets things happen.
  template <Request R>
  void ask(R request) {
    tasks.spawn("ask", hand_in(*writer, std::move(request)));
  }
  void put(Change change) {
    ask(PutChanges{{std::move(change)}});
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
