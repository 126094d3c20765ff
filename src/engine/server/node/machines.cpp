// Virtual machines on their way from node to node: the server is between both, and knows whose they are.
#include "base/json/json.hpp"
#include "server/detail/links.hpp"

namespace underway::server {
namespace {

/// Where the machines are that come to an allocation of `node_id`. Errors: denied; not_found (they are not to be had
/// any more, now or later).
tables::Row<model::Allocation> origin_of(const tables::Tables& tables, const std::string& node_id,
                                         const std::string& allocation) {
  const auto comes = tables.find_allocation(allocation);
  if (!comes || comes->node_id != node_id || comes->terminal() || !comes->awaits_machines())
    throw Error(Code::denied,
                fmt::format("no machines are to come to allocation {} on this node", allocation.substr(0, 8)));
  const auto from = tables.find_allocation(comes->arrival->from);
  Error gone(Code::not_found, fmt::format("the machines of allocation {} are gone", comes->arrival->from.substr(0, 8)));
  if (!from || from->ns != comes->ns || from->job_id != comes->job_id)
    throw gone.because("that allocation is not known any more");
  const auto node = tables.find_node(from->node_id);
  if (!node || node->status == model::NodeStatus::down)
    throw gone.because(fmt::format("node '{}' is down", from->node_name));
  return from;
}

}  // namespace

async::awaitable<boost::json::value> Server::describe_machines(std::string node_id, std::string allocation) {
  const auto* tables = co_await writer_.settled();
  const auto from = origin_of(*tables, node_id, allocation);
  boost::json::value body = json::to_value(protocol::TaskRequest{.id = from->id});
  co_return co_await call_node(from->node_id, "machines.describe", std::move(body), std::nullopt);
}

async::awaitable<void> Server::serve_machines(std::string node_id, protocol::FileRequest request,
                                              std::shared_ptr<link::Stream> stream) {
  const auto* tables = co_await writer_.settled();
  const auto from = origin_of(*tables, node_id, request.alloc);
  request.alloc = from->id;
  boost::json::value header = json::to_value(request);
  const auto source = co_await open_stream(from->node_id, "machines.read", std::move(header));
  source->end();
  while (auto chunk = co_await source->read()) co_await stream->write(chunk->channel, std::move(chunk->bytes));
  stream->end();
}

}  // namespace underway::server
