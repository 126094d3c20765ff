// Virtual machines on their way from node to node: the server is between both, and knows whose they are.
#include "base/json/json.hpp"
#include "server/detail/links.hpp"
#include "server/node/move_decisions.hpp"

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

/// To which a machine of one of ours is being sent while it runs. Errors: denied.
tables::Row<model::Allocation> target_of(const tables::Tables& tables, const std::string& node_id,
                                         const protocol::MachineStream& request) {
  const auto from = tables.find_allocation(request.alloc);
  const auto to = from && from->node_id == node_id ? destination_of(tables, *from) : nullptr;
  if (!to || to->id != request.to || to->arrival->phase != model::ArrivalPhase::coming)
    throw Error(Code::denied, fmt::format("no machine of allocation {} on this node goes to allocation {}",
                                          request.alloc.substr(0, 8), request.to.substr(0, 8)));
  return to;
}

/// Until its writer ends, or one of them breaks off.
async::awaitable<void> pass_along(std::shared_ptr<link::Stream> from, std::shared_ptr<link::Stream> to) {
  std::optional<Error> broken;
  try {
    while (auto chunk = co_await from->read()) co_await to->write(chunk->channel, std::move(chunk->bytes));
    to->end();
  } catch (const Error& error) {
    broken = error;
  }
  if (!broken) co_return;
  from->reset(*broken);
  to->reset(*broken);
}

async::awaitable<void> join_streams(std::shared_ptr<link::Stream> one, std::shared_ptr<link::Stream> other) {
  async::TaskGroup back(co_await asio::this_coro::executor, "machines on their way");
  back.spawn("back", pass_along(other, one));
  co_await pass_along(one, other);
  co_await back.wait();
}

/// What a node reports and what it asks come by ways of their own.
constexpr Duration kUntilReported = std::chrono::seconds(10), kLookForReport = std::chrono::milliseconds(20);

}  // namespace

async::awaitable<void> Server::send_machine(std::string node_id, protocol::FileRequest request,
                                            std::shared_ptr<link::Stream> stream) {
  const auto deadline = async::deadline_in(kUntilReported);
  const auto* tables = co_await writer_.settled();
  auto from = origin_of(*tables, node_id, request.alloc);
  while (tables->find_allocation(request.alloc)->arrival->phase != model::ArrivalPhase::coming) {
    if (std::chrono::steady_clock::now() >= deadline)
      throw Error(Code::conflict,
                  fmt::format("nothing comes to allocation {} while it runs", request.alloc.substr(0, 8)));
    co_await async::sleep_for(kLookForReport);
    tables = co_await writer_.settled();
    from = origin_of(*tables, node_id, request.alloc);
  }
  const protocol::MachineStream ask{.alloc = from->id, .to = request.alloc, .task = request.path};
  boost::json::value header = json::to_value(ask);
  const auto source = co_await open_stream(from->node_id, "machines.send", std::move(header));
  co_await join_streams(source, stream);
}

async::awaitable<void> Server::carry_machine(std::string node_id, protocol::MachineStream request,
                                             std::shared_ptr<link::Stream> stream) {
  const auto* tables = co_await writer_.settled();
  const auto to = target_of(*tables, node_id, request);
  const protocol::MachineStream there{.alloc = to->id, .to = {}, .task = request.task, .disk = request.disk};
  boost::json::value header = json::to_value(there);
  const auto target = co_await open_stream(to->node_id, "machines.take", std::move(header));
  co_await join_streams(target, stream);
}

async::awaitable<boost::json::value> Server::tell_fate(std::string node_id, protocol::MachineStream request) {
  const auto* tables = co_await writer_.settled();
  const auto from = tables->find_allocation(request.alloc);
  if (!from || from->node_id != node_id)
    throw Error(Code::denied, fmt::format("allocation {} is not of this node", request.alloc.substr(0, 8)));
  co_return json::to_value(protocol::MoveVerdict{fate_of(*tables, *from, request.to)});
}

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
