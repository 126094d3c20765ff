#pragma once
/// @file
/// What a capability above the engine answers to nodes: calls and streams whose method begins with its prefix. Only
/// registered nodes are heard; `node_id` is the one that the link proved to be. Thread: the loop's.

#include <functional>
#include <memory>
#include <string>

#include "link/connection.hpp"

namespace underway::server {

struct Extension {
  /// Errors are the answer.
  std::function<async::awaitable<boost::json::value>(std::string node_id, std::string method, boost::json::value body)>
      call;
  /// An error breaks the stream off. Absent: it has none.
  std::function<async::awaitable<void>(std::string node_id, std::string method, boost::json::value header,
                                       std::shared_ptr<link::Stream> stream)>
      stream;
};

}  // namespace underway::server
