// Virtual machines on their way from node to node while they run: what their QEMU says goes over our link.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "link/relay.hpp"
#include "node/detail/node_impl.hpp"

namespace underway::node {
namespace {

std::shared_ptr<link::Socket> socket_of(const async::Executor& executor, os::Fd socket) {
  return link::unix_socket(executor, socket.release());
}

}  // namespace

awaitable<protocol::Departure> Node::Impl::receive_machine(std::string allocation, std::string task) {
  const auto connection = co_await linked();
  boost::json::value header = json::to_value(protocol::FileRequest{.alloc = allocation, .path = task});
  const auto stream = co_await connection->open("machines.send", std::move(header));
  stream->end();
  std::optional<protocol::Departure> told;
  while (auto chunk = co_await stream->read())
    if (chunk->channel == link::Channel::control) told = json::decode_text<protocol::Departure>(chunk->bytes);
  if (!told) throw Error(Code::unavailable, "the machine was not sent whole");
  co_return *told;
}

awaitable<void> Node::Impl::carry(protocol::MachineStream header, os::Fd socket) {
  const auto connection = connection_.lock();
  if (!connection || !connection->is_open()) co_return;  // and so its QEMU knows
  boost::json::value told = json::to_value(header);
  auto stream = co_await connection->open("machines.carry", std::move(told));
  co_await link::relay(std::move(stream), socket_of(loop_.executor(), std::move(socket)));
}

awaitable<protocol::MoveFate> Node::Impl::fate_of(std::string allocation, std::string to) {
  const auto connection = connection_.lock();
  if (!connection || !connection->is_open()) throw Error(Code::unavailable, "no server is linked");
  boost::json::value body = json::to_value(protocol::MachineStream{.alloc = allocation, .to = to, .task = {}});
  const auto answer = co_await connection->call("machines.verdict", std::move(body));
  co_return json::decode<protocol::MoveVerdict>(answer).fate;
}

awaitable<void> Node::Impl::serve_departure(protocol::MachineStream request, std::shared_ptr<link::Stream> stream) {
  const auto departure = co_await get(request.alloc).send_machine(request);
  const auto told = json::to_value(departure);
  co_await stream->write_control(told);
  stream->end();
}

awaitable<void> Node::Impl::serve_entrance(protocol::MachineStream request, std::shared_ptr<link::Stream> stream) {
  os::Fd socket = co_await get(request.alloc).entrance(request.task, request.disk);
  co_await link::relay(std::move(stream), socket_of(loop_.executor(), std::move(socket)));
}

}  // namespace underway::node
