#pragma once
/// @file
/// Serves "rehearsal.run" on a node. Two capsules at most are rehearsed at once, others wait; a rehearsal ends early
/// when the stream is broken off, the link ends, or the agent stops.

#include <atomic>
#include <set>

#include "async/event.hpp"
#include "async/group.hpp"
#include "node/extension.hpp"
#include "rehearsal/rehearsal.hpp"

namespace underway::rehearsal {

using node::awaitable;

class NodeSide final : public node::Extension {
 public:
  /// `options` without `self` and `cancelled`.
  explicit NodeSide(Options options) : options_(std::move(options)) {}
  std::string_view prefix() const override { return "rehearsal."; }
  /// Sweeps what an earlier agent has left; a failure is logged.
  awaitable<void> start(node::ExtensionContext context) override;
  awaitable<void> stop() override;
  awaitable<boost::json::value> answer(std::string method, boost::json::value body) override;
  awaitable<void> serve(std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream) override;

 private:
  struct Job;
  awaitable<void> carry_out(std::shared_ptr<Job> job);
  awaitable<void> watch(std::shared_ptr<Job> job, std::shared_ptr<link::Stream> stream);

  Options options_;
  std::optional<node::ExtensionContext> context_;
  std::set<std::shared_ptr<Job>> jobs_;
  std::optional<async::TaskGroup> tasks_;
  async::Pool pool_{2};
};

}  // namespace underway::rehearsal
