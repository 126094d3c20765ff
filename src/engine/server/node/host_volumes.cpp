#include "server/node/host_volumes.hpp"

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "protocol/volume_messages.hpp"
#include "server/server.hpp"

namespace underway::server {
namespace {

/// A plugin has a minute, and another call of the same volume may come before it.
constexpr Duration kPatience = std::chrono::seconds(150);
constexpr Duration kLookAgain = std::chrono::seconds(1);

/// Whether the node has answered, and will answer the same again.
bool is_answer(const Error& error) { return error.code() != Code::unavailable && error.code() != Code::timeout; }

protocol::VolumeOrder order_of(const model::HostVolume& volume) {
  protocol::VolumeOrder order;
  order.id = volume.id;
  order.name = volume.name;
  order.ns = volume.ns;
  order.plugin = volume.plugin_id;
  order.node_pool = volume.node_pool;
  order.capacity_min = volume.capacity_min;
  order.capacity_max = volume.capacity_max;
  order.parameters = volume.parameters;
  order.path = volume.host_path;
  return order;
}

/// Before the id of a volume stands nothing; this stands before the name of a volume that has none yet.
constexpr std::string_view kDeciding = "deciding ";

/// Whether somebody is about to ask a node for a volume that is being written down.
bool somebody_decides(const std::set<std::string>& busy) {
  const auto it = busy.lower_bound(std::string(kDeciding));
  return it != busy.end() && it->starts_with(kDeciding);
}

bool is_unfinished(const model::HostVolume& volume) {
  return volume.deleting || volume.state == model::HostVolumeState::pending;
}

/// While a call of the volume is under way.
class Busy {
 public:
  Busy(std::set<std::string>& all, const std::string& id) : all_(all), id_(id) {
    if (!all_.insert(id_).second) {
      throw Error(Code::conflict, fmt::format("volume '{}' is being made, changed or deleted", id_))
          .advise("try again in a moment");
    }
  }
  ~Busy() { all_.erase(id_); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::set<std::string>& all_;
  std::string id_;
};

}  // namespace

async::awaitable<HostVolumes::Answer> HostVolumes::put(PutHostVolume request) {
  if (busy_.contains(request.volume.id)) const Busy refused(busy_, request.volume.id);
  // Whoever carries on what is pending hears of it at the same time as we do.
  std::optional<Busy> deciding(std::in_place, busy_, std::string(kDeciding) + SystemIds().uuid());
  const auto volume = co_await server_.apply(std::move(request));
  Answer answer;
  const Busy busy(busy_, volume.id);
  deciding.reset();
  try {
    co_await make(volume);
  } catch (const Error& error) {
    if (is_answer(error)) throw;
    answer.warning = error.one_line();
  }
  const auto row = tables::find_record<model::HostVolume>(*co_await server_.read(), volume.id);
  answer.volume = row.value_or(volume);
  co_return answer;
}

async::awaitable<void> HostVolumes::make(model::HostVolume volume) {
  std::optional<Error> refused;
  protocol::VolumeMade made;
  try {
    const auto body = json::to_value(order_of(volume));
    const char* method = volume.plugin_id.empty() ? "volume.register" : "volume.create";
    made = json::decode<protocol::VolumeMade>(co_await server_.call_node(volume.node_id, method, body, kPatience));
  } catch (const Error& error) {
    if (!is_answer(error)) throw;
    refused = error;
  }
  if (!refused) {
    HostVolumeReady ready{volume.id, made.path, made.bytes};
    co_await server_.apply(std::move(ready));
    co_return;
  }
  HostVolumeFailed failed{volume.id};
  co_await server_.apply(std::move(failed));
  throw std::move(
      refused->while_doing(fmt::format("making volume '{}' on node {}", volume.name, volume.node_id.substr(0, 8))));
}

async::awaitable<void> HostVolumes::remove(std::string id, bool force) {
  const Busy busy(busy_, id);
  DeleteHostVolume wanted{id};
  const auto volume = co_await server_.apply(std::move(wanted));
  std::optional<Error> failure;
  try {
    co_await erase(volume);
  } catch (const Error& error) {
    failure = error;
  }
  if (!failure) co_return;
  if (!force) {
    if (!is_answer(*failure)) failure->advise("it is deleted when the node is back; -force forgets it now");
    throw std::move(*failure);
  }
  HostVolumeGone gone{id};
  co_await server_.apply(std::move(gone));
}

async::awaitable<void> HostVolumes::erase(model::HostVolume volume) {
  std::optional<Error> refused;
  try {
    const auto body = json::to_value(order_of(volume));
    co_await server_.call_node(volume.node_id, "volume.delete", body, kPatience);
  } catch (const Error& error) {
    // A node that is forgotten is not asked any more.
    if (error.code() != Code::not_found || server_.writer().tables().find_node(volume.node_id)) refused = error;
  }
  if (refused && !is_answer(*refused)) throw std::move(*refused);
  if (!refused) {
    HostVolumeGone gone{volume.id};
    co_await server_.apply(std::move(gone));
    co_return;
  }
  HostVolumeStays stays{volume.id};
  co_await server_.apply(std::move(stays));
  throw std::move(
      refused->while_doing(fmt::format("deleting volume '{}' on node {}", volume.name, volume.node_id.substr(0, 8))));
}

async::LoopPlan HostVolumes::loop() {
  FollowerOptions options;
  options.scopes = [](const Tables&) { return std::vector{tables::records_scope()}; };
  options.again = [](const Tables& tables) -> std::optional<Duration> {
    const auto all = tables::records<model::HostVolume>(tables);
    return std::any_of(all.begin(), all.end(), is_unfinished) ? std::optional(kLookAgain) : std::nullopt;
  };
  const auto follower = std::make_shared<Follower>(server_.follow(std::move(options)));
  return {.area = "server",
          .name = "volumes of hosts",
          .trouble = "a volume is not made or deleted",
          .wait = [follower] { return follower->wait_for_news(); },
          .reconcile = [this] { return carry_on(); },
          .patience = 2 * kPatience};
}

/// One that fails keeps no other from being made.
async::awaitable<void> HostVolumes::carry_on() {
  std::vector<std::string> failures;
  for (auto& volume : tables::records<model::HostVolume>(*co_await server_.read())) {
    if (!is_unfinished(volume)) continue;
    if (busy_.contains(volume.id) || somebody_decides(busy_) || !server_.linked(volume.node_id)) continue;
    const Busy busy(busy_, volume.id);
    const std::string name = volume.name;
    try {
      if (volume.deleting)
        co_await erase(std::move(volume));
      else
        co_await make(std::move(volume));
    } catch (const Error& error) {
      failures.push_back(fmt::format("volume '{}': {}", name, error.one_line()));
    }
  }
  if (!failures.empty()) throw Error(Code::unavailable, join(failures, "; "));
}

}  // namespace underway::server
