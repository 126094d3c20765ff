#include "host/fence.hpp"

#include "host/reconcile.hpp"

namespace underway::host {

async::awaitable<bool> HostFence::fence(std::string node_id, std::string host) {
  const auto slash = host.find('/');
  if (provider_ == nullptr || slash == std::string::npos) co_return false;
  const std::string cluster = host.substr(0, slash), name = host.substr(slash + 1);
  const auto* tables = co_await server_.read();
  const auto row = tables->find_host(cluster, name);
  // It was taken away since, and forgotten or made again under another node.
  if (!row || row->node_id != node_id) co_return tables->find_node(node_id) == nullptr;
  auto work = [&] { return provider_->destroy(cluster, name); };
  co_await async::on_pool(pool_, work);
  HostLost lost{cluster, name, "it was fenced; it is made again"};
  co_await server_.apply(std::move(lost));
  co_return true;
}

}  // namespace underway::host
