// `disconnect { stop_on_client_after }`: a node that hears of no server stops those allocations by itself, by a clock
// that nobody can set. The server waits at least as long before it starts a replacement, so that never two of them run.
#include "base/error.hpp"
#include "base/log.hpp"
#include "node/detail/node_impl.hpp"

namespace underway::node {

async::LoopPlan Node::Impl::link_loss_loop() {
  return {.area = "node",
          .name = "loss of the link",
          .trouble = "allocations that shall not outlive the link go on",
          .wait = [this] { return wait_for_link_loss(); },
          .reconcile = [this] { return stop_overdue(); }};
}

/// At first it looks at once.
awaitable<void> Node::Impl::wait_for_link_loss() {
  if (stop_next_) co_await link_changed_.wait_until(*stop_next_);
}

awaitable<void> Node::Impl::stop_overdue() {
  auto next = async::kNever;
  const auto now = std::chrono::steady_clock::now();
  for (const auto& [id, runner] : runners_) {
    if (!unlinked_since_) break;
    const auto& allocation = runner->allocation();
    const auto patience = model::disconnect_policy(allocation).stop_on_client_after;
    if (!patience || runner->dead() || allocation.server_terminal()) continue;
    if (*patience <= now - *unlinked_since_)
      stop_without_order(*runner, *patience);
    else
      next = std::min(next, *unlinked_since_ + *patience);
  }
  stop_next_ = next;
  co_return;
}

/// As if it had been ordered to: an agent that starts meanwhile finds it so.
void Node::Impl::stop_without_order(AllocationRunner& runner, Duration silence) {
  StoredOrder stored;
  stored.order.allocation = runner.allocation();
  stored.job = *runner.allocation().job;
  stored.boot = boot_;
  stored.origin = origins_[runner.id()];
  stored.order.allocation.desired_status = model::DesiredStatus::stop;
  stored.order.allocation.desired_description = fmt::format("no server was heard of for {}", human_duration(silence));
  log::warn("node: allocation {} is stopped: {}", runner.id(), stored.order.allocation.desired_description);
  files_->write_order(runner.id(), stored);
  runner.obey(std::move(stored));
}

}  // namespace underway::node
