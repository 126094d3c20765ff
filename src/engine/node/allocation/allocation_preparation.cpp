// What all tasks of an allocation need before the first of them starts.
#include "base/log.hpp"
#include "model/service_instance.hpp"
#include "network/resolver.hpp"
#include "node/allocation/allocation_runner.hpp"
#include "node/allocation/disk.hpp"
#include "node/task/task_event.hpp"

namespace underway::node {

bool AllocationRunner::wants_disk() const {
  const model::EphemeralDisk& disk = group_of(*allocation_).ephemeral_disk;
  return !state_.disk_settled && (disk.sticky || disk.migrate) && !allocation_->previous_allocation.empty() &&
         context_.predecessors != nullptr && !dead();
}

void AllocationRunner::tell_all(const model::TaskEvent& event) {
  for (const auto& [name, runner] : runners_)
    if (!runner->dead()) runner->tell(event);
}

awaitable<void> AllocationRunner::prepare() {
  preparing_ = true;
  if (awaits_machines()) co_await take_machines();
  if (wants_disk()) co_await settle_disk();
  if (!dead()) co_await join_network();
  preparing_ = false;
  task_event_.notify_all();
  if (dead()) co_return;
  prepared_ = true;
  measure_health();
  review();
}

awaitable<void> AllocationRunner::settle_disk() {
  const auto parts = disk_parts(group_of(*allocation_));
  const std::string before = allocation_->previous_allocation.substr(0, 8);
  std::optional<Error> failed;
  try {
    co_await blocking(context_.runtime, [this] { directory_.build(); });
    co_await bring_disk(parts);
  } catch (const Error& error) {
    failed = error;
  }
  if (dead()) co_return;
  if (failed) {
    tell_all(
        event::make(protocol::event::kTaskSetup, fmt::format("The disk of allocation {} cannot be had, this one begins "
                                                             "empty: {}",
                                                             before, failed->one_line())));
    log::warn("node: the disk of allocation {} does not reach its successor {}: {}", before, id().substr(0, 8),
              failed->one_line());
  }
  state_.disk_settled = true;
  write_state();
}

awaitable<void> AllocationRunner::bring_disk(const std::vector<std::string>& parts) {
  const std::string root = directory_.root(), previous = allocation_->previous_allocation;
  const bool migrate = group_of(*allocation_).ephemeral_disk.migrate;
  struct Waiting {
    AwaitsDisk& what;
    ~Waiting() { what = AwaitsDisk::no; }
  } waiting{awaits_disk_};
  bool there = false;  // the agent died before it was in place
  co_await blocking(context_.runtime, [&] { there = has_arrived(root); });
  if (!there) {
    tell_all(event::make(protocol::event::kWaiting,
                         fmt::format("Waiting for the disk of allocation {}", previous.substr(0, 8))));
    awaits_disk_ = AwaitsDisk::of_this_node;
    const auto local = co_await context_.predecessors->wait_for_directory(previous);
    if (local) {
      const std::string from = *local;
      co_await blocking(context_.runtime, [&] { take_over(from, root, parts); });
    } else if (migrate) {
      awaits_disk_ = AwaitsDisk::of_another;
      std::string to;
      co_await blocking(context_.runtime, [&] { to = open_arrival(root); });
      co_await context_.predecessors->fetch_disk(id(), to);
      co_await blocking(context_.runtime, [&] { close_arrival(root); });
    } else {
      throw Error(Code::not_found, "it is not on this node, and `migrate` is not set");
    }
  }
  co_await blocking(context_.runtime, [&] { settle_arrival(root, parts); });
}

// --- the network

const model::NetworkResource* AllocationRunner::own_network() const {
  const auto& networks = group_of(*allocation_).networks;
  return networks.empty() || networks.front().mode == "host" ? nullptr : &networks.front();
}

bool AllocationRunner::wants_names() const {
  const auto& networks = group_of(*allocation_).networks;
  return !networks.empty() && networks.front().dns.has_value();
}

std::shared_ptr<const model::Allocation> AllocationRunner::with_network(model::Allocation allocation) const {
  if (network_) allocation.network_status = network_->status;
  return std::make_shared<const model::Allocation>(std::move(allocation));
}

awaitable<void> AllocationRunner::find_network() {
  std::optional<network::Attachment> found;
  if (own_network() != nullptr && context_.networks != nullptr)
    co_await blocking(context_.runtime, [&] { found = context_.networks->find(id()); });
  if (found)
    adopt_network(*std::move(found));
  else if (wants_names())
    give_names();
}

void AllocationRunner::adopt_network(network::Attachment attachment) {
  network_ = std::move(attachment);
  allocation_ = with_network(*allocation_);
  for (const auto& [name, runner] : runners_) runner->update(allocation_);
  give_names();
  if (started_) plan_checks();
  unreported = true;
}

namespace {

std::string short_name(const model::Allocation& allocation) { return allocation.id.substr(0, 8); }

/// Of the host, or what its own resolver asks when that is out of reach.
std::string resolver_of_host(bool other_namespace) {
  constexpr const char* kBehindSystemd = "/run/systemd/resolve/resolv.conf";
  std::string text = os::find_file("/etc/resolv.conf").value_or("");
  if (!other_namespace || !network::is_local_resolver(text)) return text;
  return os::find_file(kBehindSystemd).value_or(text);
}

}  // namespace

/// Tells the tasks; the files themselves are written by join_network().
void AllocationRunner::give_names() {
  TaskNetwork names;
  const std::string directory = directory_.root() + "/.network";
  names.resolver_file = directory + "/resolv.conf";
  if (const model::NetworkResource* own = own_network()) {
    if (network_) names.namespace_path = network_->namespace_path;
    names.hosts_file = directory + "/hosts";
    names.hostname = model::interpolate(own->hostname, *allocation_, nullptr, &context_.node);
  }
  for (const auto& [name, runner] : runners_) runner->set_network(names);
}

awaitable<void> AllocationRunner::join_network() {
  // An order may bring another version of the job while this waits.
  const std::shared_ptr<const model::Allocation> keep = allocation_;
  const model::NetworkResource* own = own_network();
  if (own == nullptr && !wants_names()) co_return;
  std::optional<Error> failed;
  try {
    if (own != nullptr && !network_) {
      if (context_.networks == nullptr)
        throw Error(Code::unsupported, fmt::format("node '{}' makes no networks for allocations", context_.node.name))
            .because("its agent does not run as root");
      network::Request request{id(), own->mode, allocation_->resources.ports, {}};
      if (own->cni) request.cni_args = own->cni->args;
      network::Attachment made;
      co_await blocking(context_.runtime, [&] { made = context_.networks->attach(request); });
      adopt_network(std::move(made));
      // They were in one that is gone: somebody took it away while no agent was there.
      for (const auto& [task, runner] : runners_)
        if (runner->process()) runner->restart("The network of its group was made anew");
    }
    const auto& network = group_of(*keep).networks.front();
    const auto dns = network.dns ? network.dns : network_ ? network_->status.dns : std::nullopt;
    const std::string name = network.hostname.empty()
                                 ? short_name(*allocation_)
                                 : model::interpolate(network.hostname, *allocation_, nullptr, &context_.node);
    co_await blocking(context_.runtime, [&, isolated = own != nullptr] {
      directory_.build();
      const std::string directory = directory_.root() + "/.network";
      os::make_directories(directory, 0755);
      const auto put = [&](const char* file, const std::string& text) {
        os::write_file(directory + "/" + file, text, 0644, {}, os::Durability::cached);
      };
      put("resolv.conf", network::resolver_file(dns, resolver_of_host(isolated)));
      if (isolated) put("hosts", network::hosts_file(network_->status.address, name));
    });
    if (own == nullptr) give_names();
  } catch (const Error& error) {
    failed = error;
  }
  if (!failed) co_return;
  for (const auto& [task, runner] : runners_)
    if (!runner->dead() && !runner->running()) runner->fail(event::failure(protocol::event::kSetupFailure, *failed));
}

awaitable<void> AllocationRunner::leave_network() {
  while (preparing_) co_await task_event_.wait();
  if (context_.networks == nullptr) co_return;
  std::optional<Error> failed;
  try {
    co_await blocking(context_.runtime, [this] { context_.networks->detach(id()); });
  } catch (const Error& error) {
    failed = error;
  }
  if (failed) log::warn("node: {}", failed->one_line());
}

}  // namespace underway::node
