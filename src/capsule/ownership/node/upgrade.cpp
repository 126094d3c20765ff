// What a node does for an upgrade: it looks whether the image could run here, and saves and restores the overlay while
// nothing runs on it.
#include "base/text.hpp"
#include "link/connection.hpp"
#include "overlay/snapshot_store.hpp"
#include "ownership/capsules.hpp"
#include "ownership/node/node_side.hpp"
#include "run/control.hpp"
#include "run/running.hpp"

namespace underway::ownership {
namespace {

/// Brings what writes in a capsule to a state that it can start from, and lets it go on.
void quiesce(const run::Run& run, bool on) {
  const auto moment = on ? image::Moment::quiesce : image::Moment::unquiesce;
  const auto result = run::Control::connect(run.keeper_dir).run_step(moment);
  if (result.succeeded()) return;
  throw Error(Code::internal, fmt::format("the step {} ended with {}", describe::spell(moment), result.result))
      .because(result.output.empty() ? "it said nothing" : std::string(trim(result.output)));
}

/// Of a capsule that stands, nobody has to be brought to rest.
overlay::SnapshotStore snapshot_store_of(const NodeOptions& options, const std::string& ns, const std::string& name,
                                         bool may_run = false) {
  const auto run = run::find_run(options.capsules, ns, name);
  overlay::SnapshotStoreOptions how;
  how.running = run && run->running();
  if (how.running && !may_run)
    throw Error(Code::conflict, fmt::format("capsule '{}' runs, and its overlay is to be worked on", name));
  if (how.running) {
    how.overlay.stop_writers = writers_of(options, *run);
    how.quiesce = [run = *run](bool on) { quiesce(run, on); };
  }
  how.capsule = how.overlay.owner = ns + "/" + name;
  how.image = run ? run->digest : "";
  how.overlay.ledger = options.ledger;
  return {run::capsule_directory(options.capsules, ns, name), std::move(how), *options.clock};
}

}  // namespace

/// One at a time at the overlay of a capsule. It goes on when the link breaks: who asks for the same again hears of it,
/// who asks for something else waits for its end.
struct NodeSide::OverlayWork {
  std::string what;
  std::function<SaveReply()> work;
  bool over = false;
  std::optional<SaveReply> reply;
  std::optional<Error> failure;
  async::Event changed;
};
struct NodeSide::OverlayQueue {
  std::shared_ptr<OverlayWork> current;
  std::uint64_t asked = 0;
};

awaitable<SaveReply> NodeSide::on_overlay(std::string capsule, std::string what, std::function<SaveReply()> work) {
  auto& slot = overlays_[capsule];
  if (!slot) slot = std::make_shared<OverlayQueue>();
  const auto queue = slot;
  const auto number = ++queue->asked;
  while (queue->current && !queue->current->over && queue->current->what != what) {
    const auto other = queue->current;
    co_await other->changed.wait();
  }
  // A server that asks again has given up what it asked for before.
  if (queue->asked != number)
    throw Error(Code::conflict, fmt::format("something else is to be done to the overlay of '{}' by now", capsule));
  if (!queue->current || queue->current->over) {
    queue->current = std::make_shared<OverlayWork>();
    queue->current->what = std::move(what);
    queue->current->work = std::move(work);
    tasks_->spawn("the overlay of " + capsule, do_on_overlay(queue->current));
  }
  const auto mine = queue->current;
  while (!mine->over) co_await mine->changed.wait();
  if (mine->failure) throw Error(*mine->failure);
  co_return *mine->reply;
}

awaitable<void> NodeSide::do_on_overlay(std::shared_ptr<OverlayWork> work) {
  try {
    work->reply = co_await async::on_pool(context_->pool, work->work);
  } catch (const Error& error) {
    work->failure = error;
  } catch (const std::exception& error) {
    // Whoever waits for it, or for its turn, has to hear of its end, whatever it was.
    work->failure = Error(Code::internal, "what was done to the overlay failed unexpectedly").because(error.what());
  }
  work->over = true;
  work->changed.notify_all();
}

awaitable<LookReply> NodeSide::look(LookRequest request) {
  auto see = [&] { return obstacles(options_, request.capsule); };
  auto found = co_await async::on_pool(context_->pool, see);
  LookReply reply;
  try {
    if (options_.bring_image)
      reply.to = co_await options_.bring_image(image_of(request.capsule.job, request.capsule.group));
  } catch (const Error& error) {
    found.push_back(error.one_line());
  }
  if (!found.empty()) {
    throw Error(Code::invalid,
                fmt::format("{} cannot run capsule '{}' with that image", context_->self.name, request.capsule.name))
        .because(found);
  }
  const auto run = run::find_run(options_.capsules, request.capsule.ns, request.capsule.name);
  if (run) reply.running = run->digest;
  try {
    if (options_.bring_image) reply.from = co_await options_.bring_image(request.from);
  } catch (const Error&) {
    // It means nothing any more, or came with its task: what ran is known by its digest.
  }
  co_return reply;
}

awaitable<SaveReply> NodeSide::save(SaveRequest request) {
  constexpr std::size_t kKeptOfMoves = 3;
  const bool moves = !request.move.empty();
  const std::string reason = moves ? fmt::format("{} {}", overlay::kBeforeMove, request.move.substr(0, 8))
                                   : fmt::format("{} {}", overlay::kBeforeUpgrade, request.upgrade.substr(0, 8));
  auto work = [options = options_, request, reason, moves] {
    auto snapshot_store = snapshot_store_of(options, request.ns, request.name, moves);
    for (const auto& snapshot : snapshot_store.list()) {
      if (snapshot.reason == reason) return SaveReply{snapshot.id, snapshot.at, snapshot.image};
    }
    const auto taken = snapshot_store.take(reason);
    if (moves) snapshot_store.keep_last(overlay::kBeforeMove, kKeptOfMoves);
    return SaveReply{taken.id, taken.at, taken.image};
  };
  co_return co_await on_overlay(request.ns + "/" + request.name, reason, std::move(work));
}

awaitable<SaveReply> NodeSide::restore(RestoreRequest request) {
  auto work = [options = options_, request] {
    if (!request.snapshot.empty()) snapshot_store_of(options, request.ns, request.name).go_back(request.snapshot);
    SaveReply reply;
    reply.snapshot = request.snapshot;
    if (const auto run = run::find_run(options.capsules, request.ns, request.name)) reply.running = run->digest;
    return reply;
  };
  co_return co_await on_overlay(request.ns + "/" + request.name, "restore " + request.snapshot, std::move(work));
}

}  // namespace underway::ownership
