// Dynamic host volumes: what the server asks, and what it is told of them.
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "node/detail/node_impl.hpp"

namespace underway::node {

awaitable<void> Node::Impl::open_volumes() {
  HostVolumeOptions options;
  options.data_dir = options_.data_dir;
  options.plugin_directory = options_.host_volume_plugin_dir;
  options.directory = options_.host_volumes_dir;
  options.node_id = identity_.id;
  options.boot = boot_;
  for (const auto& [name, volume] : self_.volumes) options.taken.insert(name);
  volumes_.emplace(std::move(options));
  std::vector<model::NodeVolume> restored;
  co_await blocking(runtime_, [&] {
    restored = volumes_->restore();
    for (const auto& [name, version] : volumes_->plugins())
      self_.attributes[fmt::format("plugins.host_volume.{}.version", name)] = version;
    self_.computed_class = model::compute_class(self_);
  });
  for (auto& volume : restored) lent_[volume.name] = std::move(volume);
}

/// One call of a volume at a time, and of a name.
awaitable<boost::json::value> Node::Impl::answer_for_volumes(std::string method, boost::json::value body) {
  const auto order = json::decode<protocol::VolumeOrder>(body);
  while (volumes_busy_.contains(order.id) || volumes_busy_.contains(order.name)) co_await volume_done_.wait();
  struct Busy {
    Impl& node;
    std::string id, name;
    ~Busy() {
      node.volumes_busy_.erase(id);
      node.volumes_busy_.erase(name);
      node.volume_done_.notify_all();
    }
  } const busy{*this, order.id, order.name};
  volumes_busy_.insert(order.id);
  volumes_busy_.insert(order.name);
  if (method == "volume.delete") {
    const auto lent = lent_.find(order.name);
    const bool was_lent = lent != lent_.end() && lent->second.id == order.id;
    const model::NodeVolume before = was_lent ? lent->second : model::NodeVolume{};
    if (was_lent) lent_.erase(lent);
    std::exception_ptr failure;
    try {
      co_await blocking(runtime_, [&] { volumes_->remove(order.id); });
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure && was_lent) lent_[order.name] = before;
    if (failure) std::rethrow_exception(failure);
    log::info("node: volume '{}' ({}) is deleted", order.name, order.id);
    co_return boost::json::object{};
  }
  if (method != "volume.create" && method != "volume.register")
    throw Error(Code::unsupported, fmt::format("this node does not know '{}'", method));
  protocol::VolumeMade made;
  co_await blocking(runtime_, [&] { made = volumes_->make(order); });
  lent_[order.name] = {order.name, made.path, false, order.id};
  log::info("node: volume '{}' ({}) is at '{}'", order.name, order.id, made.path);
  co_return json::to_value(made);
}

}  // namespace underway::node
