#pragma once
/// @file
/// What a node does for a move (messages.hpp lists it): gets ready, sends and receives the overlay, runs steps. Beside
/// the driver of capsules, with whose records it finds what runs here.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/event.hpp"
#include "async/group.hpp"
#include "node/extension.hpp"
#include "os/ledger.hpp"
#include "overlay/transfer/transfer.hpp"
#include "ownership/messages.hpp"
#include "run/running.hpp"

namespace underway::ownership {

using node::awaitable;

struct NodeOptions {
  std::string capsules;          ///< as the driver has it
  std::string trash;             ///< os::Trash, on the same file system; empty: nothing is put aside
  os::Ledger* ledger = nullptr;  ///< outlives the extension; may be null
  const Clock* clock = nullptr;  ///< outlives it, and is there
  /// Sees to it that the image is on this node and may be mounted; throws why not. Ends when it is cancelled: who asks
  /// waits on the link over which the image comes.
  std::function<awaitable<std::string>(std::string reference)> bring_image;  ///< returns its digest
  Duration freeze_limit = std::chrono::seconds(20);
  Duration turn_patience = std::chrono::seconds(10);  ///< with a snapshot that is just taken
  /// Whether an overlay that is copied has changed, where nobody hears it.
  Duration look_every = std::chrono::milliseconds(100);
  Duration tell_every = std::chrono::seconds(1);    ///< that it has not
  Duration gather = std::chrono::milliseconds(10);  ///< from the first that is heard to the copy
};

namespace detail {
class ChangeListeners;
}

class NodeSide final : public node::Extension {
 public:
  explicit NodeSide(NodeOptions options);
  ~NodeSide() override;
  std::string_view prefix() const override { return "move."; }
  awaitable<void> start(node::ExtensionContext context) override;
  awaitable<void> stop() override;
  awaitable<boost::json::value> answer(std::string method, boost::json::value body) override;
  awaitable<void> serve(std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream) override;

 private:
  awaitable<void> carry(overlay::Party& party, link::Stream& stream, Duration& cost, bool& failed_here);
  awaitable<void> stage(const CapsuleRequest& request);
  awaitable<void> bring_image(const CapsuleRequest& request, std::vector<std::string>& missing);
  awaitable<void> run_steps(StepsRequest request);
  struct Steps;
  awaitable<void> do_steps(StepsRequest request, std::shared_ptr<Steps> steps);
  awaitable<LookReply> look(LookRequest request);
  awaitable<SaveReply> save(SaveRequest request);
  awaitable<SaveReply> restore(RestoreRequest request);
  struct OverlayWork;
  struct OverlayQueue;
  awaitable<SaveReply> on_overlay(std::string capsule, std::string what, std::function<SaveReply()> work);
  awaitable<void> do_on_overlay(std::shared_ptr<OverlayWork> work);
  awaitable<void> send(CopyRequest request, std::shared_ptr<link::Stream> stream);
  awaitable<void> watch(WatchRequest request, std::shared_ptr<link::Stream> stream);
  awaitable<void> receive(CopyRequest request, std::shared_ptr<link::Stream> stream);

  NodeOptions options_;
  std::optional<node::ExtensionContext> context_;
  std::optional<async::TaskGroup> tasks_;
  std::unique_ptr<detail::ChangeListeners> change_listeners_;
  std::map<std::string, std::shared_ptr<Steps>> steps_;            ///< that run, by allocation, task and moment
  std::map<std::string, std::shared_ptr<OverlayQueue>> overlays_;  ///< by capsule
};

/// What keeps the capsule from running on this host besides its image, all of it; empty: nothing. Blocks.
std::vector<std::string> obstacles(const NodeOptions& options, const CapsuleRequest& request);
/// Holds all processes of a run up (true), and lets them go on. When the agent is killed while they are held, the next
/// agent lets them go on when it starts.
std::function<void(bool)> writers_of(const NodeOptions& options, const run::Run& run);
/// Its copy becomes its overlay; where there is no copy that could be started from, what lies there stays, or comes
/// back if it was put aside. Blocks.
void install(const NodeOptions& options, const CapsuleRequest& request);

}  // namespace underway::ownership
