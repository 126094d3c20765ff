#pragma once
/// @file
/// A desk with three nodes that can run capsules and a job that is one. For tests.

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "ownership/move_decisions.hpp"
#include "server/node/orders.hpp"
#include "server/testing/desk.hpp"

namespace underway::ownership::testing {

using model::ClientStatus;
using server::testing::report;
using server::testing::uuid;

/// `protect`: what the block of that name says.
inline model::Job capsule_job(const std::string& id = "svc", boost::json::object protect = {}) {
  model::Job job = server::testing::make_job(id);
  job.groups[0].tasks[0].driver = "capsule";
  boost::json::object config{{"image", "svc.capsule"}};
  if (!protect.empty()) config["protect"] = boost::json::array{std::move(protect)};
  job.groups[0].tasks[0].config = std::move(config);
  return job;
}

class CapsuleDesk : public ::testing::Test {
 protected:
  CapsuleDesk() {
    desk.scheduling.home = [this](const auto& t, const auto& job, const auto& group) {
      return guard.home(t, job, group);
    };
    for (int i = 1; i <= 3; ++i) {
      model::Node node = server::testing::make_node(i);
      node.attributes["driver.capsule"] = "1";
      node.drivers["capsule"] = {true, true, "", {}};
      desk.join(node);
    }
  }
  /// As the controller does it: until nothing follows from it.
  void reconcile() {
    for (model::Revision before = -1; before != desk.store.revision();) {
      before = desk.store.revision();
      desk.run([this](const auto& t, const auto& c) { return decide(t, ReconcileCapsules{limits}, c); });
    }
  }
  model::Capsule capsule(const std::string& name = "svc") const { return get_capsule(desk.tables, "default", name); }
  /// Registers the job, and has its node report that it runs.
  int run(boost::json::object protect = {}) {
    desk.register_job(capsule_job("svc", std::move(protect)));
    reconcile();
    run_at_home();
    return owner();
  }
  void run_at_home() {
    desk.update(capsule().owner, {report(capsule().allocation, ClientStatus::running, true)});
    reconcile();
  }
  int owner() const { return std::stoi(capsule().owner.substr(0, 8)); }
  static int another_than(int node) { return node == 1 ? 2 : 1; }
  bool may_start(const model::Allocation& row) { return server::gate_of(desk.tables, dependents, row).start; }
  std::string begin_move(int node, bool without_overlay = false) {
    return desk.run([&](const auto& t, const auto& c) {
      return decide(t, BeginMove{{"default", "svc", uuid(node), without_overlay}, limits}, c);
    });
  }
  /// The phase's action came to this.
  void done(Outcome outcome = {}) {
    const auto row = capsule();
    desk.run([&](const auto& t, const auto& c) {
      return decide(t, EndMoveStep{"default/svc", row.move->id, row.move->phase, outcome, limits}, c);
    });
  }
  Todo todo() const { return todo_of(desk.tables, capsule(), limits, desk.clock.now()); }
  void silence(int node) {
    desk.down({uuid(node)});
    reconcile();
  }
  void wait(Duration time) {
    desk.clock.advance(time);
    reconcile();
  }
  template <class Do>
  static Error refusal(Do what) {
    try {
      what();
    } catch (const Error& error) {
      return error;
    }
    return Error(Code::internal, "it was not refused");
  }

  CapsuleGuard guard;
  server::testing::Desk desk;
  server::Dependents dependents{&guard};
  Limits limits;
};

}  // namespace underway::ownership::testing
