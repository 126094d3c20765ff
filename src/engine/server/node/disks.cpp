// Disks that follow their allocation to another node: the server is between both, and knows who is whose successor.
#include "base/json/json.hpp"
#include "server/detail/links.hpp"

namespace underway::server {

async::awaitable<void> Server::serve_disk(std::string node_id, std::string allocation,
                                          std::shared_ptr<link::Stream> stream) {
  const auto successor = tables_.find_allocation(allocation);
  if (!successor || successor->node_id != node_id || successor->terminal())
    throw Error(Code::denied, fmt::format("allocation {} is not to run on this node", allocation.substr(0, 8)));
  const auto* group = successor->job ? successor->job->find_group(successor->group) : nullptr;
  if (group == nullptr || !group->ephemeral_disk.migrate)
    throw Error(Code::denied, "only a disk with `migrate = true` follows to another node");
  const auto previous = tables_.find_allocation(successor->previous_allocation);
  if (!previous || previous->ns != successor->ns || previous->job_id != successor->job_id)
    throw Error(Code::not_found, "its predecessor is not known any more");
  boost::json::value header = json::to_value(protocol::FileRequest{.alloc = previous->id, .path = "/"});
  const auto from = co_await open_stream(previous->node_id, "disk.read", std::move(header));
  from->end();
  while (auto chunk = co_await from->read()) co_await stream->write(chunk->channel, std::move(chunk->bytes));
  stream->end();
}

}  // namespace underway::server
