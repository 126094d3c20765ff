#pragma once
/// @file
/// What a capability above the engine adds to a node: it answers the server's calls and streams whose method begins
/// with its prefix ("capsule."), and asks the server itself (server::Extension answers). Plugged in when the agent
/// starts; the node knows nothing of what it does. Thread: the loop's.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "async/control_loop.hpp"
#include "link/connection.hpp"
#include "model/node/node.hpp"

namespace underway::node {

using async::awaitable;

/// What an extension gets to work with. All outlives it.
struct ExtensionContext {
  const model::Node& self;  ///< as fingerprinted
  std::string data_dir;     ///< of the node role; an extension uses a directory of its own in it
  async::Executor executor;
  async::Pool& pool;  ///< for what may block
  /// The link as it stands now; null while there is none. What was begun on it fails when it ends.
  std::function<std::shared_ptr<link::Connection>()> server;
  const Clock& clock;
  async::LoopRegistry& loops;  ///< for what it does without being asked
};

class Extension {
 public:
  virtual ~Extension() = default;
  /// Of the methods that it answers, with the dot at the end: "capsule.".
  virtual std::string_view prefix() const = 0;
  /// Once, when what earlier agents left was found again, and before the node dials. Its coroutines are its own to
  /// stop.
  virtual awaitable<void> start(ExtensionContext context) = 0;
  /// Ends what it started. What runs on the machine goes on running.
  virtual awaitable<void> stop() = 0;
  /// A server has the node registered; a link ended. Must not block.
  virtual void linked() {}
  virtual void unlinked() {}
  /// Errors are the answer. Throws unsupported for what it does not know.
  virtual awaitable<boost::json::value> answer(std::string method, boost::json::value body) = 0;
  /// An error breaks the stream off.
  virtual awaitable<void> serve(std::string method, boost::json::value header,
                                std::shared_ptr<link::Stream> stream) = 0;
};

}  // namespace underway::node
