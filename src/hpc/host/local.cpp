#include "host/local.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <shared_mutex>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "host/console.hpp"
#include "host/detail/cluster_setup.hpp"
#include "host/detail/groups.hpp"
#include "host/detail/launcher.hpp"
#include "host/detail/machine.hpp"
#include "host/detail/record.hpp"
#include "host/etc_files.hpp"
#include "os/file.hpp"

namespace underway::host {
namespace {

constexpr auto kDeathPatience = std::chrono::seconds{10};

std::optional<HostInfo> find_record(const Layout& layout, const std::string& cluster, const std::string& name) {
  const auto text = os::find_file(layout.record(cluster, name));
  return text ? decode_record(*text) : std::nullopt;
}

std::string find_init_program() {
  std::error_code absent;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", absent).parent_path() / "underway-init";
  const std::string installed = "/usr/libexec/underway/underway-init";
  for (const auto& candidate : {beside.string(), installed}) {
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw Error(Code::not_found, "cannot find the program 'underway-init'")
      .because(fmt::format("neither '{}' nor '{}' can be run", beside.string(), installed))
      .advise("install the package underway-control, or build the target underway-init");
}

[[noreturn]] void refuse(std::string what, const std::vector<std::string>& reasons) {
  throw Error(Code::invalid, std::move(what)).because(reasons);
}

}  // namespace

class LocalProvider::Impl {
 public:
  Impl(LocalOptions options, os::Ledger& ledger, const Clock& clock)
      : options_(std::move(options)),
        layout_{std::filesystem::weakly_canonical(options_.state_dir).string()},
        ledger_(ledger),
        clock_(clock) {
    if (options_.init_program.empty()) options_.init_program = find_init_program();
    register_undo(ledger_);
  }

  /// Control groups are the machine's, not the state directory's: two clusters of one name would kill each other's
  /// hosts.
  void refuse_another_owner(const std::string& cluster) {
    const auto open = ledger_.unsettled();
    const bool ours = std::any_of(open.begin(), open.end(), [&](const auto& entry) {
      return entry.item.owner == cluster_owner(cluster) || entry.item.owner.starts_with(host_owner(cluster, ""));
    });
    if (ours) return;
    for (const auto& hierarchy : find_hierarchies()) {
      const auto group = hierarchy.mount + "/underway/" + cluster;
      if (!os::exists(group)) continue;
      throw Error(Code::conflict, fmt::format("a cluster named '{}' is already up on this machine", cluster))
          .because(fmt::format("{} exists, and was not made from {}", group, options_.state_dir))
          .advise("take that one down first, or give this one another name");
    }
  }

  void prepare(const ClusterSpec& cluster) {
    if (const auto found = problems(cluster); !found.empty()) {
      refuse(fmt::format("cluster '{}' cannot be prepared", cluster.name), found);
    }
    refuse_another_owner(cluster.name);
    const std::scoped_lock one_at_a_time(setup_);
    prepare_cluster(layout_, cluster, ledger_, [this](const std::string& what) { step(what); });
    {
      const std::scoped_lock lock(mutex_);
      clusters_.insert_or_assign(cluster.name, cluster);
    }
    refresh_hosts_file(cluster.name);
  }

  HostInfo create(const HostSpec& host) {
    const auto cluster = check(host);
    const auto lock = lock_host(host.cluster, host.name);
    try {
      remove_host(host.cluster, host.name);
      return build(cluster, host);
    } catch (Error& e) {
      e.while_doing(fmt::format("creating host '{}' of cluster '{}'", host.name, host.cluster));
      try {
        remove_host(host.cluster, host.name);
      } catch (const Error& second) {
        e.because(fmt::format("and what was made of it stays: {}", second.one_line()));
      }
      throw;
    }
  }

  bool destroy(const std::string& cluster, const std::string& name) {
    const auto lock = lock_host(cluster, name);
    return remove_host(cluster, name);
  }

  std::vector<HostInfo> adopt() {
    for (const auto& [cluster, name] : known_hosts()) {
      const auto lock = lock_host(cluster, name);
      if (!find_record(layout_, cluster, name)) remove_host(cluster, name);
    }
    return read_hosts(layout_.state_dir);
  }

  void announce(const std::string& cluster, const HostAddresses& hosts) {
    {
      const std::scoped_lock lock(mutex_);
      announced_[cluster] = hosts;
    }
    refresh_hosts_file(cluster);
  }

  bool remove_cluster(const std::string& cluster) {
    auto [existed, failures] = try_remove_cluster(cluster);
    if (!failures.empty()) throw std::move(failures.front());
    return existed;
  }

  std::vector<Error> clean() {
    std::set<std::string> clusters;
    for (const auto& open : ledger_.unsettled()) {
      const auto parts = split(open.item.owner, '/');
      if (parts.size() >= 2 && (parts[0] == "cluster" || parts[0] == "host")) clusters.insert(parts[1]);
    }
    if (os::exists(layout_.clusters())) {
      for (const auto& entry : os::list_directory(layout_.clusters())) clusters.insert(entry.name);
    }
    std::vector<Error> failures;
    for (const auto& cluster : clusters) {
      auto [existed, problems] = try_remove_cluster(cluster);
      failures.insert(failures.end(), problems.begin(), problems.end());
    }
    ::rmdir(layout_.clusters().c_str());  // fails when something stayed, which was reported above
    return failures;
  }

  const Layout& layout() const { return layout_; }

 private:
  void step(const std::string& what) const {
    if (options_.on_step) options_.on_step(what);
  }

  /// The prepared cluster of a host that can be made in it.
  ClusterSpec check(const HostSpec& host) {
    if (const auto found = problems(host); !found.empty())
      refuse(fmt::format("host '{}' cannot be created", host.name), found);
    const std::scoped_lock lock(mutex_);
    const auto cluster = clusters_.find(host.cluster);
    if (cluster == clusters_.end()) {
      throw Error(Code::not_found, fmt::format("cluster '{}' is not prepared on this machine", host.cluster));
    }
    for (const auto& [name, address] : host.addresses) {
      const auto& networks = cluster->second.networks;
      const auto network =
          std::find_if(networks.begin(), networks.end(), [&](const auto& n) { return n.name == name; });
      if (network == networks.end()) {
        throw Error(Code::not_found, fmt::format("cluster '{}' has no network '{}'", host.cluster, name));
      }
      if (!network->cidr.contains(address.ip)) {
        refuse(
            fmt::format("host '{}' cannot be created", host.name),
            {fmt::format("{} lies outside network '{}' ({})", to_string(address.ip), name, to_string(network->cidr))});
      }
    }
    return cluster->second;
  }

  HostInfo build(const ClusterSpec& cluster, const HostSpec& host) {
    const auto label = fmt::format("host {}: ", host.name);
    const auto owner = host_owner(host.cluster, host.name);
    const HostGroups groups(find_hierarchies(), group_path(host.cluster, host.name));
    step(label + "recording");
    auto items = links_of(layout_, host);
    items.insert(items.begin(), {.kind = "host-groups", .object = group_path(host.cluster, host.name), .owner = owner});
    ledger_.record(items);
    step(label + "groups");
    groups.create();
    if (host.enforce_limits) {
      groups.limit(host.cpus > 0 ? std::optional(host.cpus) : std::nullopt,
                   host.memory_mb > 0 ? std::optional(host.memory_mb) : std::nullopt);
    }
    step(label + "root");
    const auto input = describe_boot(layout_, cluster, host, groups, options_.visible);
    step(label + "starting");
    auto launch = Launch::start(options_.init_program, plan_boot(input), layout_.console(host.cluster, host.name));
    ledger_.record({.kind = "process", .object = os::to_object(launch.init()), .owner = owner});
    step(label + "links");
    try {
      plug_in(layout_, cluster, host, launch.init().pid);
    } catch (const Error&) {
      launch.wait_booted();  // a boot that failed took the namespaces along, and says why
      throw;
    }
    launch.wait_booted();
    HostInfo info{.cluster = host.cluster,
                  .name = host.name,
                  .pool = host.pool,
                  .addresses = host.addresses,
                  .status = model::HostStatus::running,
                  .init = launch.init(),
                  .created_at = unix_nanos(clock_.now()),
                  .console = layout_.console(host.cluster, host.name)};
    step(label + "record");
    os::write_file(layout_.record(host.cluster, host.name), encode_record(info), 0600, {}, os::Durability::cached);
    refresh_hosts_file(host.cluster);
    step(label + "go");
    launch.go();
    return info;
  }

  /// The links first: a network namespace dies some time after its last process, and until then its name is taken.
  void unplug_and_kill(const std::string& cluster, const std::string& name) {
    const auto owner = host_owner(cluster, name);
    ledger_.undo([&](const os::LedgerItem& item) { return item.owner == owner && item.kind == "link"; });
    for (const auto& init : processes_of(cluster, name)) {
      if (const auto process = os::Pidfd::find(init)) process->signal(SIGKILL);
    }
  }

  std::vector<os::ProcessIdentity> processes_of(const std::string& cluster, const std::string& name) {
    std::vector<os::ProcessIdentity> found;
    if (const auto record = find_record(layout_, cluster, name)) found.push_back(record->init);
    for (const auto& open : ledger_.unsettled(host_owner(cluster, name))) {
      if (open.item.kind != "process") continue;
      if (const auto identity = os::parse_process_object(open.item.object)) found.push_back(*identity);
    }
    return found;
  }

  /// False when there was nothing of it.
  bool remove_host(const std::string& cluster, const std::string& name) {
    const auto owner = host_owner(cluster, name);
    const auto root = layout_.roots(cluster, name);
    const auto record = layout_.record(cluster, name);
    if (ledger_.unsettled(owner).empty() && !os::exists(record) && !os::exists(root)) return false;
    step(fmt::format("host {}: removing", name));
    unplug_and_kill(cluster, name);
    for (const auto& init : processes_of(cluster, name)) {
      const auto process = os::Pidfd::find(init);
      if (process && !process->wait_gone(kDeathPatience)) {
        throw Error(Code::timeout, fmt::format("host '{}' does not die", name))
            .because(fmt::format("its first process {} is still there {} s after SIGKILL", init.pid,
                                 kDeathPatience.count()));
      }
    }
    auto failures = ledger_.undo([&](const os::LedgerItem& item) { return item.owner == owner; });
    if (!failures.empty()) throw std::move(failures.front());
    os::remove_tree(root);
    // Of a host that never came up nobody misses a disk.
    if (os::exists(record))
      layout_.trash().put(layout_.disks(cluster, name), fmt::format("host-{}-{}", cluster, name), clock_.now());
    else
      os::remove_tree(layout_.disks(cluster, name));
    ::unlink(layout_.console(cluster, name).c_str());
    if (::unlink(record.c_str()) == 0) refresh_hosts_file(cluster);
    return true;
  }

  /// All that anything is known of: records and ledger.
  std::set<std::pair<std::string, std::string>> known_hosts() {
    std::set<std::pair<std::string, std::string>> hosts;
    for (const auto& host : read_hosts(layout_.state_dir)) hosts.emplace(host.cluster, host.name);
    for (const auto& open : ledger_.unsettled()) {
      const auto parts = split(open.item.owner, '/');
      if (parts.size() == 3 && parts[0] == "host") hosts.emplace(parts[1], parts[2]);
    }
    return hosts;
  }

  std::pair<bool, std::vector<Error>> try_remove_cluster(const std::string& cluster) {
    const auto all = known_hosts();
    bool existed = os::exists(layout_.cluster(cluster)) || !ledger_.unsettled(cluster_owner(cluster)).empty();
    {
      const std::scoped_lock lock(mutex_);
      clusters_.erase(cluster);  // from here on no host can be created, and no hosts file is written
      announced_.erase(cluster);
    }
    // The switch goes first: one namespace's death takes all links with it, far faster than one by one.
    auto failures = ledger_.undo([owner = cluster_owner(cluster)](const os::LedgerItem& item) {
      return item.owner == owner && item.kind == "netns";
    });
    std::vector<std::string> names;
    for (const auto& [of, name] : all) {
      if (of == cluster) names.push_back(name);
    }
    existed = existed || !names.empty();
    for (const auto& name : names) unplug_and_kill(cluster, name);  // all at once: they die side by side
    remove_side_by_side(cluster, names, failures);
    const std::scoped_lock one_at_a_time(setup_);
    auto rest = tear_down_cluster(layout_, cluster, ledger_, [this](const std::string& what) { step(what); });
    failures.insert(failures.end(), rest.begin(), rest.end());
    return {existed, std::move(failures)};
  }

  void remove_side_by_side(const std::string& cluster, const std::vector<std::string>& names,
                           std::vector<Error>& failures) {
    constexpr std::size_t kWorkers = 8;  // removal waits for the kernel more than it computes
    std::atomic<std::size_t> next = 0;
    std::mutex failing;
    const auto work = [&] {
      for (auto at = next++; at < names.size(); at = next++) {
        try {
          const auto lock = lock_host(cluster, names[at]);
          remove_host(cluster, names[at]);
        } catch (const Error& e) {
          const std::scoped_lock guard(failing);
          failures.push_back(e);
        }
      }
    };
    std::vector<std::jthread> workers;
    for (std::size_t n = 0; n < std::min(kWorkers, names.size()); ++n) workers.emplace_back(work);
  }

  void refresh_hosts_file(const std::string& cluster) {
    const std::scoped_lock lock(mutex_);
    const auto prepared = clusters_.find(cluster);
    if (prepared == clusters_.end()) return;  // going, or not ours yet: prepare writes it
    HostAddresses hosts = announced_[cluster];
    for (const auto& host : read_hosts(layout_.state_dir)) {
      if (host.cluster == cluster) hosts.insert_or_assign(host.name, host.addresses);
    }
    std::vector<std::string> networks;
    for (const auto& network : prepared->second.networks) networks.push_back(network.name);
    write_hosts_file(layout_.hosts_file(cluster), render_hosts_file(networks, hosts));
  }

  std::unique_lock<std::mutex> lock_host(const std::string& cluster, const std::string& name) {
    std::mutex* host = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      host = &host_locks_[host_owner(cluster, name)];  // a map's elements stay where they are
    }
    return std::unique_lock(*host);
  }

  LocalOptions options_;
  Layout layout_;
  os::Ledger& ledger_;
  const Clock& clock_;
  std::mutex setup_;
  std::mutex mutex_;  ///< of the members below, and of the hosts file
  std::map<std::string, ClusterSpec> clusters_;
  std::map<std::string, HostAddresses> announced_;
  std::map<std::string, std::mutex> host_locks_;
};

LocalProvider::LocalProvider(LocalOptions options, os::Ledger& ledger, const Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(options), ledger, clock)) {}
LocalProvider::~LocalProvider() = default;

void LocalProvider::prepare(const ClusterSpec& cluster) { impl_->prepare(cluster); }
HostInfo LocalProvider::create(const HostSpec& host) { return impl_->create(host); }
bool LocalProvider::destroy(const std::string& cluster, const std::string& name) {
  return impl_->destroy(cluster, name);
}
std::vector<HostInfo> LocalProvider::list() { return read_hosts(impl_->layout().state_dir); }
std::string LocalProvider::last_words(const std::string& cluster, const std::string& name) {
  return last_words_in(impl_->layout().console(cluster, name));
}
std::vector<HostInfo> LocalProvider::adopt() { return impl_->adopt(); }
void LocalProvider::announce(const std::string& cluster, const HostAddresses& hosts) {
  impl_->announce(cluster, hosts);
}
bool LocalProvider::remove_cluster(const std::string& cluster) { return impl_->remove_cluster(cluster); }
std::vector<Error> LocalProvider::clean() { return impl_->clean(); }

std::vector<HostInfo> read_hosts(const std::string& state_dir) {
  const Layout layout{state_dir};
  std::vector<HostInfo> hosts;
  if (!os::exists(layout.clusters())) return hosts;
  for (const auto& cluster : os::list_directory(layout.clusters())) {
    if (!os::exists(layout.records(cluster.name))) continue;
    for (const auto& file : os::list_directory(layout.records(cluster.name))) {
      if (!file.name.ends_with(".json")) continue;
      const auto text = os::find_file(layout.records(cluster.name) + "/" + file.name);
      auto host = text ? decode_record(*text) : std::nullopt;
      if (!host) continue;
      const bool running = os::is_running(host->init);
      host->status = running ? model::HostStatus::running : model::HostStatus::failed;
      if (!running) host->description = fmt::format("its first process ({}) is gone", host->init.pid);
      hosts.push_back(std::move(*host));
    }
  }
  return hosts;
}

}  // namespace underway::host
