#pragma once
/// @file
/// What a node does for a move (messages.hpp lists it): gets ready, sends and receives the overlay, runs steps. Beside
/// the driver of capsules, with whose records it finds what runs here.

#include <string>
#include <vector>

#include "async/group.hpp"
#include "move/messages.hpp"
#include "node/extension.hpp"
#include "os/ledger.hpp"
#include "overlay/transfer.hpp"

namespace underway::move {

using node::awaitable;

struct NodeOptions {
  std::string capsules;          ///< as the driver has it
  os::Ledger* ledger = nullptr;  ///< outlives the extension; may be null
  /// Sees to it that the image is on this node and may be mounted. Blocks; throws why not.
  std::function<void(const std::string& reference)> bring_image;
  Duration freeze_limit = std::chrono::seconds(20);
};

class NodeSide final : public node::Extension {
 public:
  explicit NodeSide(NodeOptions options) : options_(std::move(options)) {}
  std::string_view prefix() const override { return "move."; }
  awaitable<void> start(node::ExtensionContext context) override;
  awaitable<void> stop() override;
  awaitable<boost::json::value> answer(std::string method, boost::json::value body) override;
  awaitable<void> serve(std::string method, boost::json::value header, std::shared_ptr<link::Stream> stream) override;

 private:
  awaitable<void> carry(overlay::Party& party, link::Stream& stream);
  awaitable<void> stage(const CapsuleRequest& request);
  awaitable<void> run_steps(const StepsRequest& request);
  awaitable<void> send(CopyRequest request, std::shared_ptr<link::Stream> stream);
  awaitable<void> receive(CopyRequest request, std::shared_ptr<link::Stream> stream);

  NodeOptions options_;
  std::optional<node::ExtensionContext> context_;
};

/// What keeps the capsule from running on this host, all of it; empty: nothing. Blocks.
std::vector<std::string> obstacles(const NodeOptions& options, const CapsuleRequest& request);
/// Its copy becomes its overlay; where there is no copy that could be started from, what lies there stays. Blocks.
void install(const NodeOptions& options, const CapsuleRequest& request);

}  // namespace underway::move
