#include "base/error.hpp"
#include "base/log.hpp"
#include "node/detail/node_impl.hpp"
#include "node/fingerprint/topology.hpp"

#include <unistd.h>

extern char** environ;

namespace underway::node {

Node::Node(Options options, std::vector<std::unique_ptr<driver::Driver>> drivers, async::Loop& loop, async::Pool& pool,
           const Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(drivers), loop, pool, clock)) {}
Node::~Node() = default;
async::awaitable<void> Node::start() { return impl_->start(); }
async::awaitable<void> Node::stop() { return impl_->stop(); }
async::awaitable<void> Node::stop_everything() { return impl_->stop_everything(); }
const model::Node& Node::self() const { return impl_->self(); }
NodeStats Node::stats() const { return impl_->stats(); }
async::awaitable<protocol::ClientMetrics> Node::measure() { return impl_->measure(); }
std::vector<model::AllocationUpdate> Node::allocations() const { return impl_->allocations(); }
async::LoopRegistry& Node::loops() { return impl_->loops(); }

namespace {

/// Installed programs lie side by side.
std::string fetch_program(const Options& options) {
  if (!options.fetch_program.empty()) return options.fetch_program;
  char self[PATH_MAX];
  const auto size = ::readlink("/proc/self/exe", self, sizeof self);
  if (size > 0) {
    const std::string_view path(self, static_cast<std::size_t>(size));
    const std::string beside = fmt::format("{}/underway-fetch", path.substr(0, path.rfind('/')));
    if (os::exists(beside)) return beside;
  }
  constexpr const char* kInstalled = "/usr/libexec/underway/underway-fetch";
  return os::exists(kInstalled) ? kInstalled : "underway-fetch";
}

constexpr Duration kLookForLeftovers = std::chrono::seconds{15};

}  // namespace

Node::Impl::Impl(Options options, std::vector<std::unique_ptr<driver::Driver>> drivers, async::Loop& loop,
                 async::Pool& pool, const Clock& clock)
    : options_(std::move(options)),
      loop_(loop),
      pool_(pool),
      clock_(clock),
      runtime_(loop, pool, clock),
      drivers_(std::move(drivers), runtime_,
               [this] {
                 ++leavings_;
                 leaving_.notify_all();
               }),
      server_data_([this] { news_.notify_all(); }),
      work_(loop.executor(), "node"),
      link_work_(loop.executor(), "node link") {
  if (!options_.data_dir.starts_with('/'))
    throw Error(Code::invalid, fmt::format("the data directory '{}' is no absolute path", options_.data_dir));
  options_.fetch_program = fetch_program(options_);
  if (options_.networks.directory.empty()) options_.networks.directory = options_.data_dir + "/network";
}

awaitable<void> Node::Impl::start() {
  // Tasks of other users pass through to their directories; what is ours alone lies below "node".
  os::make_directories(options_.data_dir, 0711);
  os::make_directories(options_.data_dir + "/node", 0700);
  lock_ = os::FileLock::acquire(options_.data_dir + "/node/lock", "underway agent, node role");
  identity_ = open_identity(options_.data_dir, ids_);
  host_environment_ = host_environment(environ);
  co_await blocking(runtime_, [this] {
    metadata_.open(options_.data_dir, options_.meta);
    std::vector<std::int64_t> usable;
    self_ = fingerprint(Machine{}, options_, identity_.id, runtime_.now(), &usable);
    drivers_.use_cores(std::move(usable));
    drivers_.fingerprint(self_);
    if (!options_.nvidia_library.empty())
      nvidia_ = Nvidia::load(options_.nvidia_library, [] { return read_pci_numa_nodes(Machine{}); });
    self_.resources.devices = find_devices();
    if (options_.more_attributes) more_attributes_ = options_.more_attributes();
    for (auto& [name, value] : network::fingerprint(options_.networks)) self_.attributes.insert_or_assign(name, value);
    if (::geteuid() == 0) networks_ = network::make_networks(options_.networks);
    self_.meta = metadata_.now().meta;
    self_.computed_class = model::compute_class(self_);
  });
  co_await open_volumes();
  context_.emplace(RunnerContext{runtime_, drivers_, options_, self_, host_environment_, stats_});
  context_->host_volumes = &lent_;
  open_sources();
  context_->server = &server_data_;
  context_->cluster_data = &template_data_;
  context_->predecessors = this;
  context_->networks = networks_.get();
  context_->boot = boot_;
  task_api_.emplace(loop_.executor(), [this](std::string method, boost::json::value header) {
    return server_data_.open(std::move(method), std::move(header));
  });
  context_->task_api = &*task_api_;
  files_.emplace(options_.data_dir);

  std::vector<std::string> problems;
  std::set<std::string> known;
  std::vector<StoredOrder> held;
  for (auto& stored : files_->read_all(problems)) {
    known.insert(stored.order.order.allocation.id);
    stored.order = as_found(std::move(stored.order), boot_);
    if (!stored.order.order.start) held.push_back(stored.order);
    restore(std::move(stored));
  }
  for (const auto& problem : problems)
    log::warn("node: an allocation's state cannot be read and is left alone: {}", problem);
  // Directories whose state cannot be read may have running tasks: nothing is removed then.
  if (problems.empty()) {
    co_await blocking(runtime_, [&] {
      for (const auto& id : remove_strays(options_.data_dir, known))
        log::info("node: removed the directory of unknown allocation {}", id);
      if (!networks_) return;
      for (const auto& id : networks_->keep_only(known))
        log::info("node: removed the network of unknown allocation {}", id);
    });
  }
  for (const auto& [id, runner] : runners_) co_await runner->reattach();
  for (auto& order : held) {
    // What is found running counts as permitted; what has ended with the machine must not begin by itself.
    const auto it = runners_.find(order.order.allocation.id);
    if (it != runners_.end() && !order.order.allocation.server_terminal()) it->second->obey(std::move(order));
  }
  for (const auto& [id, runner] : runners_) {
    runner->start();
    if (runner->wanted_gone()) destroy(id);
  }
  loops_.start(work_, leftovers_loop());
  if (options_.collect) loops_.start(work_, collection_loop());
  co_await start_extensions();
  if (options_.servers.empty()) co_return;
  open_membership();
  link::DiallerOptions dial;
  dial.servers = options_.servers;
  dial.prepare = [this](std::string server) { return membership_->prepare(std::move(server)); };
  dialler_ = std::make_unique<link::Dialler>(
      loop_.executor(), std::move(dial), [this] { return handlers(); },
      [this](std::shared_ptr<link::Connection> connection) { return session(std::move(connection)); });
  unlinked_since_ = std::chrono::steady_clock::now();
  link_work_.spawn("dialling", dialler_->run());
  if (options_.more_attributes || nvidia_ || !options_.devices.empty()) loops_.start(link_work_, attributes_loop());
  loops_.start(link_work_, link_loss_loop());
}

awaitable<void> Node::Impl::stop() {
  co_await link_work_.stop();
  for (const auto& extension : options_.extensions) co_await extension->stop();
  co_await work_.stop();
  if (sources_) co_await sources_->stop();
  for (const auto& [id, runner] : runners_) co_await runner->let_go();
  runners_.clear();
  lock_.reset();
}

awaitable<void> Node::Impl::stop_everything() {
  // The server is still there, and may send orders meanwhile: what they begin is ended too.
  while (!runners_.empty()) {
    for (const auto& [id, runner] : runners_) destroy(id);
    co_await tasks_changed_.wait();
  }
  co_await drivers_.reap_leftovers(true);
  co_await stop();
}

/// What tasks have left running (kill mode "process") belongs to nobody, but its cgroups are ours to remove. Nothing
/// tells on every machine when one becomes empty, so we look, and only while there are some.
async::LoopPlan Node::Impl::leftovers_loop() {
  return {.area = "node",
          .name = "leftovers of tasks",
          .trouble = "what tasks have left behind is not cleared away",
          .wait = [this] { return wait_for_leavings(); },
          .reconcile = [this] { return reap_leftovers(); },
          .retry = async::RetryPolicy::up_to(kLookForLeftovers)};
}

awaitable<void> Node::Impl::wait_for_leavings() {
  if (leftovers_) co_await async::sleep_for(kLookForLeftovers);
  while (!leftovers_ && leavings_ == leavings_seen_) co_await leaving_.wait();
}

awaitable<void> Node::Impl::reap_leftovers() {
  leavings_seen_ = leavings_;
  leftovers_ = co_await drivers_.reap_leftovers(false);
}

// --- allocations

void Node::Impl::restore(StoredAllocation stored) {
  const std::string id = stored.order.order.allocation.id;
  try {
    add(std::move(stored.order), std::move(stored.state));
  } catch (const Error& error) {
    log::warn("node: cannot restore allocation {}: {}", id, error.one_line());
  }
}

AllocationRunner& Node::Impl::add(StoredOrder order, AllocationState state) {
  const std::string id = order.order.allocation.id;
  origins_[id] = order.origin;
  auto runner = std::make_unique<AllocationRunner>(*context_, *files_, std::move(order), std::move(state),
                                                   [this, id] { reported(id); });
  return *runners_.emplace(id, std::move(runner)).first->second;
}

void Node::Impl::reported(const std::string& id) {
  if (orphans_.contains(id)) unpresented_ = true;  // one that has ended is none any more
  news_.notify_all();
  tasks_changed_.notify_all();
}

std::shared_ptr<const model::Job> Node::Impl::job_of(const protocol::AllocationOrder& order,
                                                     const protocol::AllocationsMessage& message) const {
  const std::string key = protocol::job_key(order.allocation);
  if (const auto sent = message.jobs.find(key); sent != message.jobs.end())
    return std::make_shared<const model::Job>(sent->second);
  for (const auto& [id, runner] : runners_)
    if (protocol::job_key(runner->allocation()) == key) return runner->allocation().job;
  throw Error(Code::invalid,
              fmt::format("the server sent allocation {} without its job '{}'", order.allocation.id, key));
}

void Node::Impl::obey(const protocol::AllocationsMessage& message) {
  std::set<std::string> wanted;
  for (const auto& order : message.set) {
    wanted.insert(order.allocation.id);
    try {
      obey(order, message);
    } catch (const Error& error) {
      log::warn("node: allocation {} is refused: {}", order.allocation.id, error.one_line());
      model::AllocationUpdate notice;
      notice.id = order.allocation.id;
      notice.client_status = model::ClientStatus::failed;
      notice.client_description = error.one_line();
      notices_[notice.id] = std::move(notice);
      news_.notify_all();
    }
  }
  std::vector<std::string> gone = message.remove;
  if (message.full) sort_out_unwanted(wanted, message, gone);
  for (const auto& id : gone) destroy(id);
  collect_garbage();
}

void Node::Impl::obey(const protocol::AllocationOrder& order, const protocol::AllocationsMessage& message) {
  const std::string& id = order.allocation.id;
  const auto known = runners_.find(id);
  if (known == runners_.end()) {
    // Finished long ago, and its directories have been collected.
    if (order.allocation.client_terminal()) return;
    if (order.allocation.server_terminal()) {
      model::AllocationUpdate notice;
      notice.id = id;
      notice.client_status = model::ClientStatus::complete;
      notice.client_description = "Never started on this node";
      notice.task_states = order.allocation.task_states;
      notices_[id] = std::move(notice);
      news_.notify_all();
      return;
    }
  } else if (known->second->wanted_gone()) {
    return;
  }
  StoredOrder stored;
  stored.order = order;
  const auto job = job_of(order, message);
  stored.order.allocation.job = job;
  stored.job = *job;
  stored.boot = boot_;
  stored.origin = message.origin;
  check_names(stored.order.allocation);
  files_->write_order(id, stored);
  if (known != runners_.end()) {
    origins_[id] = message.origin;
    if (orphans_.erase(id) > 0) unpresented_ = true;
    known->second->obey(std::move(stored));
    return;
  }
  AllocationRunner& runner = add(stored, {});
  runner.start();
  if (!order.start) runner.obey(std::move(stored));  // tells for what it waits
}

void Node::Impl::destroy(const std::string& id) {
  notices_.erase(id);
  const auto it = runners_.find(id);
  if (it == runners_.end() || !removing_.insert(id).second) return;
  it->second->destroy();
  work_.spawn("removal of " + id.substr(0, 8), remove_when_dead(id));
}

awaitable<void> Node::Impl::remove_when_dead(std::string id) {
  AllocationRunner& runner = *runners_.at(id);
  co_await runner.wait_until_dead();
  // A directory that something still uses is tried again, ever more slowly, and for good at the next start.
  constexpr async::RetryPolicy kTries{
      .first = std::chrono::milliseconds(500), .most = std::chrono::seconds(8), .attempts = 6};
  auto remove = [&runner] { return runner.remove_directories(); };
  try {
    co_await async::retry(kTries, remove, [](const Error&) { return true; });
  } catch (const Error& error) {
    log::warn("node: the directory of allocation {} cannot be removed: {}; trying again when the agent starts", id,
              error.one_line());
  }
  samples_.forget(id);
  removing_.erase(id);
  runners_.erase(id);
  origins_.erase(id);
  if (orphans_.erase(id) > 0) {
    unpresented_ = true;
    news_.notify_all();
  }
  tasks_changed_.notify_all();
}

void Node::Impl::collect_garbage() {
  std::vector<std::pair<std::int64_t, std::string>> finished;
  for (const auto& [id, runner] : runners_)
    if (runner->dead() && !runner->unreported && !removing_.contains(id) && !has_heir(id))
      finished.emplace_back(runner->finished_at(), id);
  if (static_cast<std::int64_t>(finished.size()) <= options_.gc_max_allocs) return;
  std::ranges::sort(finished);
  finished.resize(finished.size() - static_cast<std::size_t>(options_.gc_max_allocs));
  for (const auto& [when, id] : finished) destroy(id);
}

/// Whether another one still waits for its disk.
bool Node::Impl::has_heir(const std::string& id) const {
  return std::ranges::any_of(runners_, [&](const auto& entry) { return entry.second->awaits_disk_of(id); });
}

AllocationRunner& Node::Impl::get(const std::string& id) const {
  const auto it = runners_.find(id);
  if (it == runners_.end())
    throw Error(Code::not_found, fmt::format("allocation {} is not on node '{}'", id, self_.name))
        .because("it was never here, or its directories have been collected");
  return *it->second;
}

std::vector<model::AllocationUpdate> Node::Impl::allocations() const {
  std::vector<model::AllocationUpdate> all;
  all.reserve(runners_.size());
  for (const auto& [id, runner] : runners_) all.push_back(runner->update());
  return all;
}

NodeStats Node::Impl::stats() const {
  NodeStats stats = stats_;
  for (const auto& [id, runner] : runners_) {
    const auto status = runner->update().client_status;
    if (status == model::ClientStatus::running)
      ++stats.allocations_running;
    else if (status == model::ClientStatus::pending)
      ++stats.allocations_pending;
    else
      ++stats.allocations_terminal;
    for (const auto& [name, task] : runner->tasks())
      if (task->running()) ++stats.tasks_running;
  }
  return stats;
}

}  // namespace underway::node
